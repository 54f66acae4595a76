"""What jobs can be placed on at one moment of a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.scheduling.placement.ground import Ground, combination
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, held, job, reserved, snapshot, starts, warm


def test_a_start_of_a_job_that_stops_nobody_counts_on_the_warm_pools_that_it_may_start_in() -> None:
    queue = snapshot(held("x"), warm("w", key="k"), job("j", 9, warm_key="k"), size=2)
    ground = Ground(queue)
    from_ms = ground.start_terms(queue.waiting[0], {P5: 1}, stops_others=False).preemptible_from_ms
    assert from_ms is not None
    assert {each.attempt: from_ms(each) for each in queue.allocations} == {"x": None, "w": NOW_MS}
    assert ground.start_terms(job("j", 9), {P5: 1}, stops_others=False).preemptible_from_ms is None


def test_a_combination_of_pools_is_the_same_whatever_their_order() -> None:
    assert combination({P5: 1, G5: 1}) == combination([G5, P5]) == (G5, P5)
    assert combination({P5: 1}) == (P5,)


@pytest.mark.parametrize(
    ("low", "started", "head_by_ms"),
    [
        ({"limit_s": 60}, ["low"], NOW_MS + 3_600_000),
        ({"limit_s": 3421}, ["low"], NOW_MS + 3_601_000),
        ({"limit_s": None}, [], None),
        ({"limit_s": 60, "later": True}, [], None),
    ],
    ids=["it has ended by then", "it ends a little later", "it may run for ever", "it is held back"],
)
def test_what_is_reserved_for_a_job_behind_comes_back_when_that_has_ended(
    low: dict[str, Any], started: list[str], head_by_ms: int | None
) -> None:
    """The job behind lacks another instance, which must not be kept from it by a start that is not known."""
    later = NOW_MS + 1 if low.pop("later", False) else 0
    behind = replace(job("low", 1, count=2, **low), not_before_ms=later)
    plan = schedule(snapshot(held("x", 9, ends_in_s=3600), job("head", 5, count=3), behind, reserved("low"), size=3))
    assert starts(plan) == started
    assert [wait.start_by_ms for wait in plan.waits if wait.job == "head"] == [head_by_ms]


def test_what_is_reserved_for_the_job_itself_is_no_more_than_that() -> None:
    plan = schedule(snapshot(held("x", 9, ends_in_s=3600), job("head", 5, count=2, limit_s=60), reserved("head")))
    assert [wait.start_by_ms for wait in plan.waits] == [NOW_MS + 3_600_000]
