"""Which jobs of a queue may get instances."""

from __future__ import annotations

import pytest

from headway.model import Alternative, WaitingJob
from headway.refusals import Cause, FailedLaunches
from tests.core.builders import G5, P5
from tests.core.scheduling.reach.builders import DUE_MS, FAILED, bounds, job


@pytest.mark.parametrize(
    ("each", "fits", "covers"),
    [
        (job({P5: 2}), True, True),
        (job({P5: 4}), True, False),
        (job({P5: 5}), False, False),
        (job({P5: 1, G5: 5}), False, False),
        (job({P5: 2}, FAILED), False, False),
    ],
)
def test_a_job_fits_if_limits_and_its_last_launches_allow_it(each: WaitingJob, fits: bool, covers: bool) -> None:
    assert (bounds().fits(each), bounds().covers(each)) == (fits, covers)


@pytest.mark.parametrize(("pool", "fits"), [(P5, False), (G5, True)])
def test_in_each_queue_a_job_counts_with_the_alternative_that_it_is_there_for(pool: str, fits: bool) -> None:
    flexible = job(failed=FAILED, alternatives=(Alternative(demand={G5: 2}),))
    assert bounds(pool).fits(flexible) is fits
    assert bounds(pool).here(flexible).demand == ({G5: 2} if fits else {P5: 1})


@pytest.mark.parametrize(
    ("each", "now_ms", "may"),
    [
        (job(failed=FAILED), DUE_MS, True),
        (job(failed=FAILED), DUE_MS - 1, False),
        (job({P5: 5}, FAILED), DUE_MS, False),
        (job({P5: 1, G5: 5}, FAILED), DUE_MS, False),
        (job(), DUE_MS, False),
        # The next launch of one that failed once is that of any other job.
        (job(failed=FailedLaunches(count=1, since_ms=0, last_ms=0, cause=Cause.CAPACITY)), 1, False),
    ],
    ids=["due", "not due", "too large", "too large elsewhere", "never failed", "failed once"],
)
def test_an_unlaunchable_job_may_be_tried_when_its_next_launch_is_due(each: WaitingJob, now_ms: int, may: bool) -> None:
    assert bounds(now_ms=now_ms).may_be_tried(each) is may


@pytest.mark.parametrize(("pool", "may"), [(P5, False), (G5, True)])
def test_in_each_queue_it_may_be_tried_on_the_alternative_that_it_is_there_for(pool: str, may: bool) -> None:
    flexible = job({P5: 5}, FAILED, alternatives=(Alternative(demand={G5: 2}, failed=FAILED),))
    assert bounds(pool).may_be_tried(flexible) is may
