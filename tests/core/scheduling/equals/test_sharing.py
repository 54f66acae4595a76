"""Jobs that preempt equals in the order `shared`: which do, which give way, and the promises about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import InvariantViolation
from headway.model import Allocation, Snapshot, WaitingJob
from headway.plan import Preempt
from headway.policy import Order, Policy, Team
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.equals.attained import attained_handicap_ms, current_attained_ms, level
from headway.scheduling.equals.victims import may_give_way
from headway.scheduling.invariants import check_plan
from headway.scheduling.limits import Limits
from headway.scheduling.ordering import handicap_ms
from headway.scheduling.scheduler import schedule
from tests.core.builders import NOW_MS, P5, changed, held, job, preemptions, snapshot
from tests.core.strategies import World, sharing, snapshots

SHARED = Policy(order=Order.SHARED)
HOUR = 3_600_000
MOST_MS = 10**6 * HOUR


def fresh(name: str = "fresh", hours: float = 0, priority: int = 0, **more: Any) -> WaitingJob:
    """A waiting job that has had an instance for some hours so far."""
    return changed(job(name, priority, entered=NOW_MS), **_terms(hours, more))


def served(name: str = "served", hours: float = 0.5, priority: int = 0, **more: Any) -> Allocation:
    """An attempt that starts now, of a job that had an instance for some hours before; it writes checkpoints."""
    running = held(name, priority, since=NOW_MS, checkpoints=True)
    return changed(running, **{"entry_time_ms": NOW_MS, **_terms(hours, more)})


def _terms(hours: float, more: dict[str, Any]) -> dict[str, Any]:
    attained_ms, most_ms = int(hours * HOUR), more.get("max_handicap_ms", MOST_MS)
    terms = {"attained_ms": attained_ms, "max_handicap_ms": most_ms}
    return {**terms, "handicap_ms": attained_handicap_ms(attained_ms, most_ms), **more}


def decided(running: Allocation, waiting: WaitingJob, policy: Policy = SHARED) -> list[tuple[str, str]]:
    """The preemptions in a full pool."""
    return preemptions(schedule(snapshot(running, waiting, size=1, policy=policy)))


def test_a_job_preempts_an_equal_of_a_higher_level_and_says_so() -> None:
    plan = schedule(snapshot(served(), fresh(), size=1, policy=SHARED))
    assert preemptions(plan) == [("served", "fresh")]
    (action,) = [each for each in plan.actions if isinstance(each, Preempt)]
    assert "as it has used less time of instances so far" in action.reason.message


@pytest.mark.parametrize(
    ("had", "other_had", "gives_way"),
    [(0.5, 0, True), (0.4, 0, False), (1.9, 0.5, False), (2, 0.5, True), (2, 1.9, True), (9999, 2048, False)],
)
def test_an_attempt_gives_way_to_jobs_of_lower_levels_only(had: float, other_had: float, *, gives_way: bool) -> None:
    assert bool(decided(served(hours=had), fresh(hours=other_had, entry_time_ms=NOW_MS - 99 * HOUR))) is gives_way


def test_what_the_attempt_itself_has_run_counts() -> None:
    running = replace(served(hours=0), since_ms=NOW_MS - HOUR // 2)
    assert decided(running, fresh()) == [("served", "fresh")]
    assert decided(replace(running, since_ms=running.since_ms + 1), fresh()) == []


UNEQUAL = {
    "it writes no checkpoints": (served(checkpoints=False), fresh()),
    "it is not preemptible": (served(preemptible=False), fresh()),
    "it was preempted often enough": (served(preemptions=10), fresh()),
    "it entered in another order": (served(attained_ms=None), fresh()),
    "the preemptor entered in another order": (served(), fresh(attained_ms=None)),
    "the preemptor preempts no job": (served(), fresh(preempts=False)),
    "it has a higher priority": (served(priority=1), fresh()),
    "it ends as soon as it would stop": (served(limit_ms=120_000), fresh()),
    # Its turn comes 50 h after its entry.
    "the turn of the preemptor comes later": (served(), fresh(entry_time_ms=NOW_MS + 50 * HOUR)),
    "its own bound has passed": (served(max_handicap_ms=HOUR), fresh(entry_time_ms=NOW_MS + HOUR)),
}


@pytest.mark.parametrize("why", UNEQUAL)
def test_an_attempt_gives_way_to_no_equal_if(why: str) -> None:
    running, waiting = UNEQUAL[why]
    assert decided(running, waiting) == []


def test_a_job_gives_way_just_before_the_turn_of_the_other_comes() -> None:
    assert decided(served(), fresh(entry_time_ms=NOW_MS + 50 * HOUR - 1)) == [("served", "fresh")]
    assert decided(served(max_handicap_ms=HOUR), fresh(entry_time_ms=NOW_MS + HOUR - 1)) == [("served", "fresh")]


@pytest.mark.parametrize("order", [order for order in Order if order is not Order.SHARED])
def test_in_another_order_no_job_preempts_equals_also_if_it_entered_in_this_one(order: Order) -> None:
    assert decided(served(hours=99), fresh(), Policy(order=order)) == []


def test_jobs_that_entered_by_what_is_left_take_no_part_after_a_switch_and_the_other_way_round() -> None:
    by_remaining: dict[str, Any] = {"attained_ms": None, "left_ms": HOUR, "handicap_ms": 99 * HOUR}
    assert decided(served(**by_remaining), fresh()) == []
    assert decided(served(), fresh(**{**by_remaining, "handicap_ms": 0})) == []
    policy = replace(SHARED, order=Order.SHORTEST_REMAINING)
    assert decided(served(**by_remaining), fresh(), policy) == []


def test_the_minimum_run_time_holds_among_equals() -> None:
    running = served(since_ms=NOW_MS - 1000)
    assert decided(running, fresh(), replace(SHARED, min_run_time_ms=1001)) == []
    assert decided(running, fresh(), replace(SHARED, min_run_time_ms=1000)) == [("served", "fresh")]


def test_among_equals_those_of_the_highest_level_are_stopped_and_then_those_that_lose_less() -> None:
    high, low = served("high", 2, since_ms=NOW_MS - 60_000), served("low", 1)
    assert preemptions(schedule(snapshot(low, high, fresh(), size=2, policy=SHARED))) == [("high", "fresh")]
    later = served("later", 3)
    assert preemptions(schedule(snapshot(high, later, fresh(), size=2, policy=SHARED))) == [("later", "fresh")]
    higher = served("higher", 8, since_ms=NOW_MS - 120_000)
    assert preemptions(schedule(snapshot(higher, high, fresh(), size=2, policy=SHARED))) == [("higher", "fresh")]


def test_where_there_are_teams_jobs_preempt_equals_of_their_own_team_only() -> None:
    policy = replace(SHARED, teams={"a": Team(), "b": Team()})
    assert decided(served(team="a"), fresh(team="b"), policy) == []
    assert decided(served(team="a"), fresh(team="a"), policy) == [("served", "fresh")]


def test_a_job_enters_with_the_turn_of_its_entry() -> None:
    assert handicap_ms(9 * HOUR, {P5: 9}, SHARED) == 0


ENDS = changed(held("ends", 9, since=NOW_MS), limit_ms=HOUR)


def test_a_job_of_a_low_level_preempts_behind_one_of_a_high_level_that_no_equal_gives_way_to() -> None:
    # The first entered long before, so its turn comes sooner although its level is higher. It waits for `ends`.
    first = fresh("first", 2, entry_time_ms=NOW_MS - 300 * HOUR)
    running = served(hours=2, limit_ms=9 * HOUR)
    plan = schedule(snapshot(running, ENDS, first, fresh(), size=2, policy=SHARED))
    assert preemptions(plan) == [("served", "fresh")]


def test_a_job_preempts_behind_one_of_another_order_that_does_not() -> None:
    first = fresh("first", attained_ms=None, entry_time_ms=0)
    running = served(hours=2, limit_ms=9 * HOUR)
    plan = schedule(snapshot(running, ENDS, first, fresh(), size=2, policy=SHARED))
    assert preemptions(plan) == [("served", "fresh")]


def test_a_decision_knows_the_latest_turn_and_the_highest_level_of_the_attempts_that_may_give_way() -> None:
    attempts = [served("low", 2), served("high", 8, max_handicap_ms=HOUR), served("protected", 99, preemptible=False)]
    drawn = snapshot(*attempts, size=3, policy=SHARED)
    index = AllocationIndex(drawn, Comparisons(), Limits(drawn))
    assert index.equals == (NOW_MS + 200 * HOUR, 3)


def test_a_bound_that_two_levels_share_does_not_hide_a_job_of_a_low_level() -> None:
    # By the bound the handicap of the first is less than that of the second, whose level is lower.
    first = fresh("first", 8, max_handicap_ms=HOUR)
    second = fresh("second", 2)
    running = served(hours=8, limit_ms=9 * HOUR)
    plan = schedule(snapshot(running, ENDS, first, second, size=2, policy=SHARED))
    assert preemptions(plan) == [("served", "second")]


@pytest.mark.parametrize(("hours", "ran_ms", "may"), [(0, 0, False), (0, HOUR // 2, True), (0.5, 0, True)])
def test_no_attempt_of_the_lowest_level_gives_way_to_equals(hours: float, ran_ms: int, *, may: bool) -> None:
    assert may_give_way(served(hours=hours), NOW_MS + ran_ms, SHARED) is may


def test_a_preemption_of_an_equal_whose_level_is_not_higher_is_not_applied() -> None:
    good = snapshot(served(), fresh(), size=1, policy=SHARED)
    plan = schedule(good)
    check_plan(good, plan)
    for bad in (
        replace(good, waiting=(fresh(hours=1),)),
        replace(good, policy=Policy()),
        replace(good, allocations=(served(checkpoints=False),)),
        replace(good, allocations=(served(priority=1),)),
    ):
        with pytest.raises(InvariantViolation, match="whose priority is not higher"):
            check_plan(bad, plan)


# ------------------------------------------------------------------------------------------------------- promises
def _all_checkpoint(snapshot: Snapshot) -> World:
    """A world in which jobs that wait write checkpoints as well, so that they are stopped once they have started."""
    waiting = tuple(changed(job, checkpoints=True) for job in snapshot.waiting)
    return World.of(replace(snapshot, waiting=waiting), replace(snapshot.policy, max_preemptions=1000))


@settings(max_examples=60)
@given(sharing(snapshots("none", ageing=False, full=True)))
def test_if_jobs_stop_each_other_in_turn_the_level_of_the_stopped_one_rises(snapshot: Snapshot) -> None:
    """Promise 7: so they do it fewer times than there are levels."""
    world = _all_checkpoint(snapshot)
    last: dict[frozenset[str], tuple[str, int]] = {}
    for _ in range(120):
        state = world.snapshot()
        plan = schedule(state)
        running = {each.attempt: each for each in state.allocations}
        priorities = {job.name: job.terms.priority for job in state.waiting}
        for action in plan.actions:
            if isinstance(action, Preempt) and running[action.attempt].terms.priority == priorities[action.for_job]:
                pair = frozenset([action.job, action.for_job])
                number = level(current_attained_ms(running[action.attempt], state.now_ms))
                stopped, before = last.get(pair, ("", -1))
                assert stopped == action.job or number > before
                last[pair] = action.job, number
        world.apply(plan)
        # So long that levels rise in the course of it.
        world.now_ms += HOUR
        world.end_all_stopping()


@given(
    st.lists(st.tuples(st.sampled_from([0, 0.5, 40, 5000]), st.integers(0, 3)), min_size=1, max_size=4),
    st.sampled_from([HOUR, 40 * HOUR, 10_000 * HOUR]),
    st.sampled_from([0.5, 3000]),
)
def test_no_equal_that_enters_after_the_bound_of_a_job_passes_or_preempts_it(
    others: list[tuple[float, int]], most_ms: int, hours: float
) -> None:
    """Promise 7: bounded waiting."""
    entered_ms = NOW_MS - most_ms - 1
    terms: dict[str, Any] = {"entry_time_ms": entered_ms, "max_handicap_ms": most_ms}
    newcomers = [
        fresh(f"new{number}", had, entry_time_ms=NOW_MS + later_ms) for number, (had, later_ms) in enumerate(others)
    ]
    waits, runs = fresh("bounded", hours, **terms), served("bounded", hours, **terms)
    plan = schedule(snapshot(waits, *newcomers, size=1, policy=SHARED))
    assert [action.job for action in plan.actions] == ["bounded"]
    assert preemptions(schedule(snapshot(runs, *newcomers, size=1, policy=SHARED))) == []
    # Those that entered before its bound do, if their level is lower.
    before = fresh("before", 0, entry_time_ms=entered_ms)
    assert preemptions(schedule(snapshot(runs, before, size=1, policy=SHARED))) == [("bounded", "before")]


def test_two_jobs_share_an_instance_and_their_service_only_grows() -> None:
    world = World.of(snapshot(served(), fresh(checkpoints=True), size=1, policy=SHARED))
    seen: dict[str, int] = {}
    for _ in range(40):
        world.apply(schedule(world.snapshot()))
        world.now_ms += HOUR
        world.end_all_stopping()
        attained = {name: each.terms.standing.attained_ms or 0 for name, each in world.waiting.items()}
        attained |= {name: current_attained_ms(each, world.now_ms) for name, each in world.held.items()}
        assert all(attained[name] >= before for name, before in seen.items())
        seen = attained
    assert min(map(level, seen.values())) >= 3
