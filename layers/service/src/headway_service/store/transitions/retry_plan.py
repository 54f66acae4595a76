"""How a job continues after an attempt that is to be retried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.jobpolicy.failure_kinds import FailureKind
from headway.pool_names import on_demand_pool
from headway.vectors import total
from headway_service.store.records.job import JobRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPlan:
    """How a job continues with another attempt.

    Attributes:
        kind: the kind of the failure, if the attempt failed.
        not_before_ms: the earliest start of the next attempt.
        on_demand: whether the job uses on-demand instances in place of spot from now on.
        priority: the highest priority of the job from now on, if it was requeued for low utilization.
    """

    kind: FailureKind | None = None
    not_before_ms: int = 0
    on_demand: bool = False
    priority: int | None = None

    def changes(self, job: JobRecord) -> dict[str, Any]:
        """The fields of the job that change."""
        changed: dict[str, Any] = {"not_before_ms": self.not_before_ms}
        if self.kind is not None:
            lacked = self.kind is FailureKind.CAPACITY
            changed["held_by"] = f"its last attempt {'got no instances' if lacked else 'failed'} ({self.kind})"
            changed["retried"] = {**job.retried, self.kind: job.retried.get(self.kind, 0) + 1}
        if self.on_demand:
            limit_ms = job.on_demand_limit_ms or job.limit_ms
            changed |= {"on_demand": True, "limit_ms": limit_ms, "beside_s": None}
            changed["demand"] = total({on_demand_pool(pool): count} for pool, count in job.demand.items())
        if self.priority is not None:
            changed |= {"priority": min(job.priority, self.priority), "requeues": job.requeues + 1}
        return changed
