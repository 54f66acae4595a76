"""The account's warm pools: which end leaves one, which job takes one, and UpdateTrainingJob.

Source: SageMaker guide, "Train Using SageMaker AI Managed Warm Pools" and "Use SageMaker AI Managed Warm Pools".

AWS does not document, so `Faults` selects: whether a request over the quota of warm pools is refused, or runs and keeps
none; which of several matching pools a job takes, or that it takes none; when a pool is shown, and when it is gone;
whether the pool of a stopped or failed job can be changed.

Not documented either, and here always so: a changed period begins with the change; a pool whose period is over cannot
be changed, but to end it again is accepted; a job with a training plan or instance preferences leaves no pool.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import requested_instances, service_facts
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_sandbox.sagemaker.warm_pool import AVAILABLE, WarmPool

_HARMLESS = "AlgorithmError"
"""Begin of the FailureReason of a failure that leaves a pool (guide: one that may harm the cluster does not)."""


class WarmPools:
    """The pools that have instances, by the name of the job that left them.

    Args:
        rng: Selects one of several matching pools.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._pools: dict[str, tuple[TrainingJob, WarmPool]] = {}

    def add(self, job: TrainingJob) -> None:
        """Add the pool of a job, if it has one."""
        if job.warm_pool is not None and not job.warm_pool.moved:
            self._pools[job.name] = job, job.warm_pool

    def keep(self, job: TrainingJob, faults: Faults, *, instances_since: float, now: float) -> None:
        """Keep the instances of a job that ends now, if it leaves a pool.

        Args:
            job: The job, with the status of its end.
            faults: The quota and the times.
            instances_since: Since when it has its instances.
            now: The time, s.
        """
        period_s = keep_alive_s(job.request)
        is_harmless = job.status != service_facts.FAILED or (job.failure_reason or "").startswith(_HARMLESS)
        if not period_s or not is_harmless or not _matching(job.request):
            return
        if _exceeded(job.instances, self._kept(now), faults) is not None:
            return
        since = instances_since if job.cluster_since is None else job.cluster_since
        pool = WarmPool(
            instances=dict(job.instances), cluster_since=since, kept_from=now, shown_from=now + faults.warm_pool_lag_s
        )
        pool.keep(period_s, since=now, release_s=faults.warm_pool_release_s)
        job.warm_pool = pool
        self.add(job)

    def choose(self, request: Mapping[str, Any], faults: Faults, *, now: float) -> TrainingJob | None:
        """Return the job whose pool a new job takes; None if it takes none.

        Args:
            request: The CreateTrainingJob request of the new job.
            faults: How to choose.
            now: The time, s.
        """
        gone = [name for name, (_job, pool) in self._pools.items() if now >= pool.terminates + faults.quota_lag_s]
        for name in gone:
            if self._pools[name][1].taken_at is None:
                del self._pools[name]
        wanted = _matching(request)
        if wanted is None or faults.warm_pool_choice == "none":
            return None
        found = [job for job, pool in self._current() if pool.is_free(now) and _matching(job.request) == wanted]
        if len(found) > 1 and faults.warm_pool_choice == "any":
            return self._rng.choice(found)
        return min(found, key=lambda job: (job.modified, job.name), default=None)

    def assign(self, left: TrainingJob, job: TrainingJob, *, now: float) -> None:
        """Give a pool to a new job. Its instances are the job's after its provisioning.

        Args:
            left: The job that left the pool.
            job: The new job.
            now: The time, s.
        """
        _left, pool = self._pools[left.name]
        pool.taken_at, pool.reused_by = now, job.name
        job.reuses, job.cluster_since = left.name, pool.cluster_since

    def hand_over(self, job: TrainingJob) -> str | None:
        """Move the instances of the pool that a job takes to it; return the name of the pool's job, if there is one."""
        left, pool = self._pools.get(job.reuses, (None, None))
        if left is None or pool is None or pool.reused_by != job.name:
            return None
        pool.moved = True
        del self._pools[left.name]
        return left.name

    def counted(self, now: float, *, lag_s: float = 0.0) -> Counter[str]:
        """Return the instances per type that count against the quota of training jobs.

        Args:
            now: The time, s.
            lag_s: How long the instances of a terminated pool count.
        """
        return _sum(pool for _job, pool in self._current() if pool.counts(now, lag_s=lag_s))

    def held(self, now: float) -> Counter[str]:
        """Return the instances per type that no other job can get."""
        return _sum(pool for _job, pool in self._current() if pool.holds(now))

    def check_quota(self, request: Mapping[str, Any], jobs: Iterable[TrainingJob], faults: Faults, now: float) -> None:
        """Refuse a request that exceeds a quota of warm pools, if such a request is refused.

        Args:
            request: A CreateTrainingJob request.
            jobs: The jobs that have not ended.
            faults: The quotas.
            now: The time, s.

        Raises:
            AwsError: ResourceLimitExceeded.
        """
        if faults.warm_pool_over_quota != "refused" or not keep_alive_s(request) or not _matching(request):
            return
        used = self._kept(now)
        for job in jobs:
            if keep_alive_s(job.request):
                used.update(job.instances)
        error = _exceeded(requested_instances.choices(request)[0].instances, used, faults)
        if error is not None:
            raise error

    def update(self, job: TrainingJob, period_s: float, faults: Faults, *, now: float) -> None:
        """Change the keep-alive period of a pool; 0 ends it.

        Args:
            job: The job that left it.
            period_s: The new period.
            faults: The quota and the time of the release.
            now: The time, s.

        Raises:
            AwsError: The job has no pool that can be changed, or the quota has become smaller than the pools.
        """
        _check_period(period_s, faults)
        pool = job.warm_pool
        if not job.ended or pool is None or now < pool.shown_from or pool.status(now) != AVAILABLE:
            raise _not_updatable(job, pool, now)
        if faults.warm_pool_update_completed_only and job.status != service_facts.COMPLETED:
            raise _not_updatable(job, pool, now)
        if now >= pool.expires:
            if period_s:
                raise _not_updatable(job, pool, now)
            return
        error = _exceeded(dict.fromkeys(pool.instances, 0), self._kept(now), faults) if period_s else None
        if error is not None:
            raise error
        pool.keep(period_s, since=now, release_s=faults.warm_pool_release_s)
        job.request["ResourceConfig"]["KeepAlivePeriodInSeconds"] = period_s

    def _current(self) -> list[tuple[TrainingJob, WarmPool]]:
        return list(self._pools.values())

    def _kept(self, now: float) -> Counter[str]:
        return _sum(pool for _job, pool in self._current() if pool.counts(now))


def keep_alive_s(request: Mapping[str, Any]) -> float:
    """Return the KeepAlivePeriodInSeconds of a CreateTrainingJob request; 0 without one."""
    return float((request.get("ResourceConfig") or {}).get("KeepAlivePeriodInSeconds") or 0)


def check_request(request: Mapping[str, Any], faults: Faults) -> None:
    """Refuse a request for a warm pool that there cannot be.

    Args:
        request: A CreateTrainingJob request.
        faults: The longest period.

    Raises:
        AwsError: ValidationException.
    """
    period_s = keep_alive_s(request)
    if not period_s:
        return
    _check_period(period_s, faults)
    if request.get("EnableManagedSpotTraining"):
        raise service_facts.validation("KeepAlivePeriodInSeconds is not supported with managed spot training.")
    if request["ResourceConfig"].get("InstanceGroups"):
        raise service_facts.validation("KeepAlivePeriodInSeconds is not supported with InstanceGroups.")


def _check_period(period_s: float, faults: Faults) -> None:
    if period_s > faults.keep_alive_max_s:
        raise service_facts.validation(
            f"KeepAlivePeriodInSeconds must be at most {faults.keep_alive_max_s:.0f}, not {period_s:.0f}."
        )


def _matching(request: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return what has to be the same for a job to take another one's pool (guide); None if it takes and leaves none."""
    config = request.get("ResourceConfig") or {}
    if request.get("EnableManagedSpotTraining") or not config.get("InstanceType") or config.get("TrainingPlanArn"):
        return None
    network = request.get("VpcConfig") or {}
    return (
        request.get("RoleArn"),
        *(config.get(name) for name in ("InstanceType", "InstanceCount", "VolumeSizeInGB", "VolumeKmsKeyId")),
        *(tuple(sorted(network.get(name) or ())) for name in ("SecurityGroupIds", "Subnets")),
        *(bool(request.get(name)) for name in ("EnableInterContainerTrafficEncryption", "EnableNetworkIsolation")),
    )


def _sum(pools: Iterable[WarmPool]) -> Counter[str]:
    total: Counter[str] = Counter()
    for pool in pools:
        total.update(pool.instances)
    return total


def _exceeded(wanted: Mapping[str, int], used: Mapping[str, int], faults: Faults) -> AwsError | None:
    """Return the error for a quota of warm pools that is exceeded; None if all are kept."""
    for kind, delta in wanted.items():
        # Guide: the quota is 0 until it is raised.
        size, in_use = faults.warm_pool_quotas.get(kind, 0), used.get(kind, 0)
        if in_use + delta > size:
            limit = f"{kind} for training warm pool usage"
            return service_facts.quota_exceeded(limit=limit, size=size, in_use=in_use, wanted=delta)
    return None


def _not_updatable(job: TrainingJob, pool: WarmPool | None, now: float) -> AwsError:
    """Return the error for a pool that cannot be changed. Code and wording are assumed; AWS documents neither."""
    status = f" with a warm pool in status {pool.status(now)}" if pool is not None and now >= pool.shown_from else ""
    return service_facts.validation(
        f"The request was rejected because the training job is in status {job.status}{status}. Only the warm pool of "
        "an ended training job in status Available can be updated."
    )


def retains(job: TrainingJob, now: float) -> bool:
    """Whether a job has a pool that keeps it from being deleted (model, DeleteTrainingJob: an Available one).

    Args:
        now: The time, s.
    """
    return job.warm_pool is not None and job.warm_pool.status(now) == AVAILABLE
