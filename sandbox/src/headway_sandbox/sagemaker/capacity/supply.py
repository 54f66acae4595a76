"""What a training job gets its instances from, and how long it waits for them.

A job takes a warm pool, or instances of a training plan, or instances on demand or spot, of which there are as many as
`Faults.capacity`.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from typing import Any

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.capacity import quotas
from headway_sandbox.sagemaker.capacity.training_plans import LONGEST_WITHOUT_CAPACITY_S, NO_CAPACITY, TrainingPlans
from headway_sandbox.sagemaker.capacity.warm_pools import WarmPools
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.requested_instances import Choice
from headway_sandbox.sagemaker.training_job import TrainingJob


class Supply:
    """The instances of an account in a region.

    Args:
        arn_prefix: A training plan's ARN without its name.
        rng: Source of randomness.
    """

    def __init__(self, *, arn_prefix: str, rng: random.Random) -> None:
        self.warm_pools = WarmPools(rng)
        self.plans = TrainingPlans(arn_prefix)

    def check_quotas(
        self,
        request: Mapping[str, Any],
        jobs: Collection[TrainingJob],
        faults: Faults,
        *,
        pool_of: TrainingJob | None,
        now: float,
    ) -> None:
        """Refuse a request that exceeds a quota.

        Args:
            request: A CreateTrainingJob request.
            jobs: All jobs that may count.
            faults: The quotas.
            pool_of: The job whose warm pool the new job takes: it needs no more instances.
            now: The time, s.

        Raises:
            AwsError: ResourceLimitExceeded.
        """
        warm = self.warm_pools.counted(now, lag_s=faults.quota_lag_s)
        if pool_of is not None:
            warm.subtract(pool_of.instances)
        quotas.check(request, jobs, faults, warm=warm, now=now)
        self.warm_pools.check_quota(request, [job for job in jobs if not job.ended], faults, now)

    def select(self, job: TrainingJob, jobs: Collection[TrainingJob], faults: Faults, *, now: float) -> int | None:
        """Return the number of the first of a job's choices that it can have now; None if it can have none.

        Args:
            jobs: The jobs that have not ended.
            faults: The capacity and the quotas.
            now: The time, s.
        """
        if job.reuses:
            return 0
        for number, choice in enumerate(job.choices):
            fits = self._fits(choice, jobs, faults, now)
            if fits and (job.choice is not None or self._has_quota(job, choice, jobs, faults, now)):
                return number
        return None

    def next_try(self, job: TrainingJob, faults: Faults, *, now: float) -> float | None:
        """Return when to look for instances for a pending job again; None once its time is over.

        The time stands still while no choice can have instances (model, MaxPendingTimeInSeconds).

        Args:
            faults: How long a job without a limit waits.
            now: The time, s.
        """
        next_start = self.plans.next_start(job.choices, now=now)
        if next_start is None:
            return None
        if next_start > now and not self._is_active(job, now):
            return next_start
        most_s = job.max_pending_s
        if most_s is None:
            most_s = LONGEST_WITHOUT_CAPACITY_S if job.wants_plan else faults.capacity_wait_s
        idle_s = self.plans.idle_s(job.choices, since=job.created, until=now)
        ends = job.created + idle_s + most_s
        return min(ends, now + service_facts.CAPACITY_RETRY_S) if now < ends else None

    def shortage(self, job: TrainingJob, *, now: float) -> str:
        """Return the FailureReason of a job without instances; empty if its MaxPendingTimeInSeconds is over.

        Args:
            now: The time, s.
        """
        is_over = self.plans.next_start(job.choices, now=now) is None
        if job.wants_plan and (is_over or job.max_pending_s is None):
            return NO_CAPACITY
        return "" if job.max_pending_s is not None else service_facts.CAPACITY_ERROR

    def _is_active(self, job: TrainingJob, now: float) -> bool:
        plans = [self.plans.get(choice.plan) for choice in job.choices if choice.plan]
        return any(plan is not None and plan.is_active(now) for plan in plans)

    def _fits(self, choice: Choice, jobs: Collection[TrainingJob], faults: Faults, now: float) -> bool:
        if choice.plan:
            return self.plans.room(choice, jobs, now=now) is not None
        held = self.warm_pools.held(now)
        for other in jobs:
            if other.allocated_at is not None and not other.plan:
                held.update(other.instances)
        return all(
            held[kind] + count <= faults.capacity.get(kind, held[kind] + count)
            for kind, count in choice.instances.items()
        )

    def _has_quota(
        self, job: TrainingJob, choice: Choice, jobs: Collection[TrainingJob], faults: Faults, now: float
    ) -> bool:
        """Whether other jobs have left room in the quota since a job with preferences was created."""
        warm = self.warm_pools.counted(now)
        in_use = quotas.used([other for other in jobs if other is not job], faults, spot=False, warm=warm, now=now)
        return quotas.exceeded(choice, in_use, faults, spot=False) is None
