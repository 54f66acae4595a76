"""The account's instance quotas and their use.

An instance type has two separate quotas: `ml.p5.48xlarge for training job usage`, and for managed spot training
`ml.p5.48xlarge for spot training job usage`. Source: AWS General Reference, "Amazon SageMaker endpoints and quotas".
Those of all types together are in `account_limits`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import requested_instances, service_facts
from headway_sandbox.sagemaker.capacity import account_limits
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.requested_instances import Choice
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
        jobs: All jobs that may count: those that have not ended, and with `Faults.quota_lag_s` also ended ones.
        faults: The quotas and their lag.
        warm: The instances of warm pools, which count like those of jobs without managed spot training (guide).
        now: The time, s.

    Raises:
        AwsError: ResourceLimitExceeded.
    """
    spot = bool(request.get("EnableManagedSpotTraining"))
    in_use = used(jobs, faults, spot=spot, warm=warm, now=now)
    for choice in requested_instances.choices(request):
        for kind in choice.instances:
            if kind in faults.unavailable_types:
                raise service_facts.type_not_available(kind)
        # Guide: of InstancePreferences each one has to fit, "even when the types ahead of it would have succeeded".
        error = exceeded(choice, in_use, faults, spot=spot) or account_limits.exceeded(
            request, choice, in_use, _counting(jobs, faults, now=now), faults
        )
        if error is not None:
            raise error


def used(
    jobs: Iterable[TrainingJob], faults: Faults, *, spot: bool, warm: Mapping[str, int], now: float
) -> Counter[str]:
    """Return the instances per type that count against the quotas of one kind of jobs.

    Args:
        jobs: All jobs that may count.
        faults: The lag of the quotas, and what a job counts for before one of its preferences is selected.
        spot: Whether they are the quotas of managed spot training.
        warm: The instances of warm pools, which count like those of jobs without managed spot training (guide).
        now: The time, s.
    """
    total: Counter[str] = Counter() if spot else Counter(warm)
    for job in _counting(jobs, faults, now=now):
        if job.spot == spot:
            for choice in _counted(job, faults):
                total.update(_charged(choice, faults))
    return total


def _counting(jobs: Iterable[TrainingJob], faults: Faults, *, now: float) -> list[TrainingJob]:
    # A job is last modified when it ends. If it has left a warm pool, its instances count for that.
    return [job for job in jobs if not job.ended or (job.warm_pool is None and now < job.modified + faults.quota_lag_s)]


def exceeded(choice: Choice, in_use: Mapping[str, int], faults: Faults, *, spot: bool) -> AwsError | None:
    """Return the error for instances beyond a quota; None if there is room.

    Args:
        choice: The instances.
        in_use: The instances per type that count already.
        faults: The quotas.
        spot: Whether they are the quotas of managed spot training.
    """
    sizes, word = (faults.spot_quotas, "spot training") if spot else (faults.quotas, "training")
    for kind, count in _charged(choice, faults).items():
        size, counted = sizes.get(kind), in_use.get(kind, 0)
        if size is not None and counted + count > size:
            limit = f"{kind} for {word} job usage"
            return service_facts.quota_exceeded(limit=limit, size=size, in_use=counted, wanted=count)
    return None


def _charged(choice: Choice, faults: Faults) -> Mapping[str, int]:
    # AWS does not document whether instances of a training plan count against the quota.
    return {} if choice.plan and not faults.plan_counts_to_quota else choice.instances


def _counted(job: TrainingJob, faults: Faults) -> tuple[Choice, ...]:
    if job.choice is not None:
        return (job.choice,)
    # AWS does not document what a job counts for before the selection.
    return job.choices if faults.preferences_count == "all" and not job.ended else ()
