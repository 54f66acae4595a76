"""The promises in every order in which equals preempt each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from headway.forecasting.simulation import Arrival, Delays, Event, EventKind, Simulation
from headway.model import Snapshot, WaitingJob
from headway.plan import Preempt
from headway.policy import Order, Policy
from headway.scheduling.equals.attained import level
from headway.scheduling.equals.current import current_handicap_ms
from headway.scheduling.equals.expected import MAX_EXTENSIONS
from headway.scheduling.equals.victims import TIMES_LESS
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.scheduling.standing import standing_after, standing_on_entry
from tests.core.builders import NOW_MS, P5, changed, held, job, snapshot
from tests.core.scheduling.promises import test_histories as histories
from tests.core.scheduling.promises import test_promises as promises
from tests.core.scheduling.promises import test_turns as turns
from tests.core.strategies import STEP_MS, World, among_equals, by_predictions, nothing_owed, sharing, snapshots


@dataclass(frozen=True, kw_only=True)
class _Order:
    """An order in which equals preempt each other."""

    #: Makes snapshots ones in this order.
    of: Callable[[st.SearchStrategy[Snapshot]], st.SearchStrategy[Snapshot]]
    #: Whether a waiting job may have been stopped for another one.
    has_given_way: Callable[[WaitingJob, WaitingJob], bool]


def _has_more_left(victim: WaitingJob, preemptor: WaitingJob) -> bool:
    return victim.terms.standing.handicap_ms >= TIMES_LESS * preemptor.terms.standing.handicap_ms


def _has_had_more(victim: WaitingJob, preemptor: WaitingJob) -> bool:
    return level(victim.terms.standing.attained_ms or 0) > level(preemptor.terms.standing.attained_ms or 0)


ORDERS = {
    "by what is left": _Order(of=among_equals, has_given_way=_has_more_left),
    "by predictions": _Order(of=by_predictions, has_given_way=_has_more_left),
    "by service": _Order(of=sharing, has_given_way=_has_had_more),
}


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> _Order:
    return ORDERS[request.param]


def holds(promise: Callable[[Snapshot], None], snapshots: st.SearchStrategy[Snapshot], examples: int) -> None:
    """Try a promise on snapshots. Settings are kept with a function, and the promise may have those of another test."""

    @settings(max_examples=examples)
    @given(snapshots)
    def tried(snapshot: Snapshot) -> None:
        promise(snapshot)

    tried()


def _passes_verification(snapshot: Snapshot) -> None:
    check_plan(snapshot, schedule(snapshot))


@pytest.mark.parametrize(
    "promise",
    [
        promises.capacity_holds,
        promises.all_or_nothing,
        promises.first_in_line_is_not_kept_from_what_is_free,
        promises.protected_attempts_run_on,
        promises.no_victim_is_needless,
        promises.preemptors_start_when_all_has_stopped,
        promises.what_is_freed_is_earmarked_whole,
        promises.warm_pools_go_before_attempts,
        promises.leftovers_are_released,
        promises.the_order_of_reading_does_not_matter,
        turns.nothing_is_left_to_decide,
        _passes_verification,
    ],
    ids=lambda promise: promise.__name__,
)
def test_the_promises_hold_among_equals(order: _Order, promise: Callable[[Snapshot], None]) -> None:
    holds(promise, order.of(snapshots()), 30)


def test_the_queue_is_in_rank_order(order: _Order) -> None:
    holds(promises.line_is_in_rank_order, order.of(snapshots("one")), 60)


def test_a_reserved_start_is_kept_whichever_jobs_preempt_equals_past_it(order: _Order) -> None:
    owing_nothing = snapshots("none", ageing=False, backfill=True).map(nothing_owed)
    holds(promises.reserved_starts_are_kept, order.of(owing_nothing), 60)


def test_equals_do_not_preempt_each_other_back_and_forth(order: _Order) -> None:
    some = order.of(snapshots()) | order.of(snapshots("none", full=True))
    holds(histories.preemption_comes_to_an_end, some, 100)


def test_every_job_that_fits_starts_once_running_jobs_have_ended(order: _Order) -> None:
    holds(histories.every_job_is_served, order.of(snapshots()), 40)


def test_a_job_replaces_equals_that_also_give_way_to_it_once_they_have_stopped(order: _Order) -> None:
    """Promise 7: the measure by which two jobs cannot stop each other back and forth."""

    def give_way(snapshot: Snapshot) -> None:
        world = World.of(snapshot)
        plan = schedule(snapshot)
        waiting = {job.name: job for job in snapshot.waiting}
        world.apply(plan)
        world.now_ms += 120_000
        world.end_all_stopping()
        for action in plan.actions:
            if isinstance(action, Preempt) and action.job in world.waiting:
                victim, preemptor = world.waiting[action.job], waiting[action.for_job]
                if victim.terms.priority == preemptor.terms.priority:
                    assert order.has_given_way(victim, preemptor)
                    assert victim.terms.turn_ms > preemptor.terms.turn_ms

    holds(give_way, order.of(snapshots("none", ageing=False, full=True)), 100)


def _turns(expected: tuple[int, int], step_ms: int, interval_ms: int) -> list[tuple[str, int, int, int]]:
    """Let two jobs that never end share an instance, and return the stops.

    Returns:
        Of each stop: the stopped job, by how much its expectation is extended next, its handicap, and that of the other
        job.
    """
    policy = Policy(
        order=Order.SHORTEST_REMAINING, by_predictions=True, max_preemptions=1000, checkpoint_interval_ms=interval_ms
    )
    limit_ms = 2000 * STEP_MS
    first, second = (standing_on_entry(limit_ms, {P5: 1}, policy, predicted_ms=each * STEP_MS) for each in expected)
    running = changed(held("first", since=NOW_MS, checkpoints=True), entry_time_ms=NOW_MS, standing=first)
    waiting = changed(job("second", entered=NOW_MS), checkpoints=True, standing=second)
    world = World.of(snapshot(running, waiting, size=1, policy=policy))
    stops = []
    for _ in range(300):
        state = world.snapshot()
        plan = schedule(state)
        for action in plan.actions:
            if isinstance(action, Preempt):
                (victim,), (preemptor,) = state.allocations, state.waiting
                handicap_ms = current_handicap_ms(victim, state.now_ms)
                after = standing_after(victim, state.now_ms, 0)
                stops.append((victim.job, after.extension_ms, handicap_ms, preemptor.terms.standing.handicap_ms))
        world.apply(plan)
        world.now_ms += step_ms
        world.end_all_stopping()
    return stops


def test_two_jobs_share_an_instance_as_they_outlive_what_is_expected() -> None:
    assert [job for job, *_ in _turns((4, 1), STEP_MS, 600_000)][:4] == ["first", "second", "first", "second"]


@settings(max_examples=60)
@given(
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.integers(STEP_MS // 4, 5 * STEP_MS),
    st.sampled_from([0, 600_000]),
)
def test_if_jobs_stop_each_other_in_turn_more_is_expected_of_one_or_less_is_left_of_the_other(
    expected: tuple[int, int], step_ms: int, interval_ms: int
) -> None:
    """Promise 7: both happen a bounded number of times."""
    stops = _turns(expected, step_ms, interval_ms)
    extensions = dict.fromkeys(("first", "second"), 0)
    for (before, _, handicap_before_ms, _), (stopped, extension_ms, handicap_ms, other_ms) in pairwise(stops):
        assert TIMES_LESS * other_ms <= handicap_ms
        is_less_left = 2 * TIMES_LESS * other_ms <= handicap_before_ms
        assert stopped != before
        assert extension_ms > extensions[stopped] or is_less_left
        extensions[stopped] = extension_ms
    assert len(stops) <= 2 * MAX_EXTENSIONS


HOUR_MS = 3_600_000
WEEK_MS = 7 * 24 * HOUR_MS
brief_jobs = st.lists(
    st.tuples(st.integers(0, 4 * WEEK_MS), st.integers(1, 3), st.integers(0, 1)), min_size=20, max_size=60
)


@settings(max_examples=40)
@given(brief_jobs, st.integers(1, 3))
def test_a_job_is_preempted_no_more_often_than_the_cap_in_each_week_and_ends(
    brief: list[tuple[int, int, int]], cap: int
) -> None:
    policy = Policy(order=Order.SHORTEST_REMAINING, max_preemptions=cap)

    def enters(name: str, at_ms: int, hours: int, priority: int = 0) -> Arrival:
        standing = standing_on_entry(hours * HOUR_MS, {P5: 1}, policy)
        waiting = job(name, priority, entered=at_ms, limit_s=hours * 3600)
        return Arrival(time_ms=at_ms, job=changed(waiting, checkpoints=True, standing=standing), run_ms=hours * HOUR_MS)

    arrivals = [enters("long", 0, 600), *(enters(f"brief{n}", *each) for n, each in enumerate(brief))]
    events: list[Event] = []
    start = replace(snapshot(size=1, now_ms=0), policy=policy)
    Simulation(start, schedule, arrivals=arrivals, delays=Delays(stop_ms=120_000), record=events.append).run()
    stopped_ms = [each.time_ms for each in events if (each.kind, each.job) == (EventKind.PREEMPTED, "long")]
    assert all(at_ms >= number // cap * WEEK_MS for number, at_ms in enumerate(stopped_ms))
    assert {each.job for each in events if each.kind is EventKind.COMPLETED} == {each.job.name for each in arrivals}
    event(f"{len(stopped_ms) // cap} times the cap")
