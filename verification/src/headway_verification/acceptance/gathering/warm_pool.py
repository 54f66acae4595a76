"""A warm pool beside the queue: a training job leaves it, UpdateTrainingJob releases it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from headway_verification.acceptance.errors import NotAsked
from headway_verification.acceptance.evidence import WarmPool
from headway_verification.acceptance.gathering import requests
from headway_verification.acceptance.gathering.asking import answer_to
from headway_verification.acceptance.gathering.quotas import WARM as WARM_QUOTA
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import WARM, Temporary
from headway_verification.acceptance.waiting import until

RELEASE_S = 300.0
"""How long the release is waited for, s: shorter than the period, after which the pool goes by itself."""

_JOB_S, _EVERY_S = 900.0, 1.0


def warm_pool(target: Target, temporary: Temporary, quotas: Mapping[str, float]) -> WarmPool:
    """Leave a warm pool and release it.

    The queue sees it as a training job that did not come through it, and its configuration may stop it.

    Raises:
        NotAsked: the quota of warm pools is 0, or not shown.
    """
    name = f"{target.instance_type}{WARM_QUOTA}"
    if not quotas.get(name):
        raise NotAsked(f"The quota {name} is {quotas.get(name, 'not shown')}; it has to be 1 or more.")
    client = target.client("sagemaker")
    request = requests.keeps_warm(target, temporary, what=WARM)
    client.create_training_job(**request)
    job = request["TrainingJobName"]

    def status() -> str:
        found = client.describe_training_job(TrainingJobName=job)
        if found["TrainingJobStatus"] in {"InProgress", "Stopping"}:
            return ""
        return str((found.get("WarmPoolStatus") or {}).get("Status") or "no warm pool")

    before = until(status, timeout_s=_JOB_S, every_s=_EVERY_S) or "not ended"
    began = time.monotonic()
    release = answer_to(
        lambda: client.update_training_job(TrainingJobName=job, ResourceConfig={"KeepAlivePeriodInSeconds": 0})
    )
    limit_s = RELEASE_S if release.is_accepted else 0.0
    until(lambda: status() == "Terminated", timeout_s=limit_s, every_s=_EVERY_S)
    return WarmPool(before=before, release=release, after=status(), took_s=time.monotonic() - began)
