"""Which jobs could start behind the first ones of a queue."""

from __future__ import annotations

import pytest

from headway.model import Demand, WaitingJob
from headway.refusals import Cause, FailedLaunches, retry_ms
from headway.scheduling.reach.bounds import QueueBounds
from headway_service.store.cut_queue import CutQueue
from tests.core.builders import changed, waiting_job

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
FAILED = FailedLaunches(count=9, since_ms=0, last_ms=1_000_000, cause=Cause.CAPACITY)
DUE_MS = retry_ms(FAILED)


def bounds(pool: str = P5, now_ms: int = DUE_MS, most: int = 4, unused: int = 2) -> QueueBounds:
    return QueueBounds(pool=pool, team="", now_ms=now_ms, most={P5: most, G5: most}, unused={P5: unused, G5: unused})


def job(demand: Demand | None = None, failed: FailedLaunches | None = None, **more: object) -> WaitingJob:
    made = waiting_job(name="a", demand=demand or {P5: 1}, priority=0, entry_time_ms=0, failed=failed)
    return changed(made, **more)


@pytest.mark.parametrize("only_covered", [True, False])
@pytest.mark.parametrize(
    ("each", "now_ms", "may_start"),
    [
        (job(), 0, True),
        (job({P5: 9}), 0, False),
        (job(failed=FAILED), DUE_MS - 1, False),
        (job(failed=FAILED), DUE_MS, True),
        (job({P5: 9}, FAILED), DUE_MS, False),
    ],
)
def test_behind_the_first_jobs_one_that_is_unlaunchable_is_found_only_when_it_is_due(
    each: WaitingJob, now_ms: int, may_start: bool, only_covered: bool
) -> None:
    cut = CutQueue(bounds=bounds(now_ms=now_ms), after="", only_covered=only_covered)
    assert cut.may_start(each) is may_start
