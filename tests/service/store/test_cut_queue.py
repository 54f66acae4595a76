"""Which jobs could start behind the first ones of a queue."""

from __future__ import annotations

import pytest

from headway.model import WaitingJob
from headway_service.store.cut_queue import CutQueue
from tests.core.builders import P5
from tests.core.scheduling.reach.builders import DUE_MS, FAILED, bounds, job


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
