"""What jobs can be placed on at one moment of a decision."""

from __future__ import annotations

from headway.scheduling.placement.ground import Ground, combination
from tests.core.builders import G5, NOW_MS, P5, held, job, snapshot, warm


def test_a_start_of_a_job_that_stops_nobody_counts_on_the_warm_pools_that_it_may_start_in() -> None:
    queue = snapshot(held("x"), warm("w", key="k"), job("j", 9, warm_key="k"), size=2)
    ground = Ground(queue)
    _, _, from_ms = ground.start_terms(queue.waiting[0], {P5: 1}, stops_others=False)
    assert from_ms is not None
    assert {each.attempt: from_ms(each) for each in queue.allocations} == {"x": None, "w": NOW_MS}
    assert ground.start_terms(job("j", 9), {P5: 1}, stops_others=False)[2] is None


def test_a_combination_of_pools_is_the_same_whatever_their_order() -> None:
    assert combination({P5: 1, G5: 1}) == combination([G5, P5]) == (G5, P5)
    assert combination({P5: 1}) == (P5,)
