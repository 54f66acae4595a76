"""A queue and its jobs, some of which SageMaker does not launch."""

from __future__ import annotations

from headway.model import Demand, WaitingJob
from headway.refusals import Cause, FailedLaunches, retry_ms
from headway.scheduling.limits import Limits
from headway.scheduling.reach.bounds import QueueBounds
from tests.core.builders import G5, P5, changed, snapshot, waiting_job

FAILED = FailedLaunches(count=9, since_ms=0, last_ms=1_000_000, cause=Cause.CAPACITY)
DUE_MS = retry_ms(FAILED)


def bounds(pool: str = P5, now_ms: int = DUE_MS, most: int = 4, unused: int = 2) -> QueueBounds:
    limits = Limits(snapshot())
    return QueueBounds(
        pool=pool, team="", now_ms=now_ms, most={P5: most, G5: most}, unused={P5: unused, G5: unused}, limits=limits
    )


def job(demand: Demand | None = None, failed: FailedLaunches | None = None, **more: object) -> WaitingJob:
    made = waiting_job(name="a", demand=demand or {P5: 1}, priority=0, entry_time_ms=0, failed=failed)
    return changed(made, **more)
