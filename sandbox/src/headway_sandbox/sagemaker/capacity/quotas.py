"""The account's instance quotas and their use.

An instance type has two separate quotas: `ml.p5.48xlarge for training job usage`, and for managed spot training
`ml.p5.48xlarge for spot training job usage`. Source: AWS General Reference, "Amazon SageMaker endpoints and quotas".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.training_job import TrainingJob


def check(
    request: Mapping[str, Any],
    jobs: Iterable[TrainingJob],
    faults: Faults,
    *,
    warm: Mapping[str, int],
    now: float,
) -> None:
    """Refuse a CreateTrainingJob request that exceeds a quota.

    Args:
        request: The request.
        jobs: All jobs that may count: those that have not ended, and with `Faults.quota_lag_s` also ended ones.
        faults: The quotas and their lag.
        warm: The instances of warm pools, which count like those of jobs without managed spot training (guide).
        now: The time, s.

    Raises:
        AwsError: ResourceLimitExceeded.
    """
    spot = bool(request.get("EnableManagedSpotTraining"))
    sizes, word = (faults.spot_quotas, "spot training") if spot else (faults.quotas, "training")
    used: Counter[str] = Counter() if spot else Counter(warm)
    for job in jobs:
        # A job is last modified when it ends. If it has left a warm pool, its instances count for that.
        trails = job.warm_pool is None and now < job.modified + faults.quota_lag_s
        if job.spot == spot and (not job.ended or trails):
            used.update(job.instances)
    for kind, wanted in service_facts.instances(request).items():
        size = sizes.get(kind)
        if size is not None and used[kind] + wanted > size:
            limit = f"{kind} for {word} job usage"
            raise service_facts.quota_exceeded(limit=limit, size=size, in_use=used[kind], wanted=wanted)
