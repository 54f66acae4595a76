"""Preemptions wait for a checkpoint that is due soon: for how long, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from headway.errors import InvalidPolicy
from headway.forecasting.forecast import forecast
from headway.forecasting.simulation import EventKind, Simulation
from headway.model import LATE_MS, STOP_MS, Allocation, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, ReleaseWarm
from headway.policy import MAX_CHECKPOINT_WAIT_MS, Ageing, Order, Policy, Team
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.invariants import check_plan
from headway.scheduling.limits import Limits
from headway.scheduling.lost_work.checkpoints import WRITTEN_MS
from headway.scheduling.lost_work.moment import MAX_MOMENTS, better_moment_ms
from headway.scheduling.ordering import waiting_victim_order
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.scheduler import decide, schedule
from tests.core.builders import (
    NOW_MS,
    P5,
    changed,
    code_of,
    held,
    job,
    preemptions,
    reason_of,
    snapshot,
    starts,
    warm,
    warm_releases,
)
from tests.core.scheduling.promises import test_promises as promises
from tests.core.strategies import NOW_MS as NOW
from tests.core.strategies import POOLS, nothing_owed, snapshots

EVERY_MS = 600_000
WAIT_MS = 300_000
WAITS = Policy(wait_for_checkpoint_ms=WAIT_MS)


def due_in(name: str, due_ms: int, priority: int = 0, **more: Any) -> Allocation:
    """A running job whose next checkpoint counts as written then."""
    since_ms = NOW_MS + due_ms - EVERY_MS - WRITTEN_MS
    return held(name, priority, since=since_ms, every=EVERY_MS, **more)


def urgent(**more: Any) -> WaitingJob:
    """A job that has just entered."""
    return job("urgent", 9, entered=NOW_MS, **more)


def delays(plan: Plan) -> list[tuple[str, tuple[str, ...], int]]:
    """The jobs whose preemptions wait, each with the attempts and the time until then."""
    return [(each.for_job, each.attempts, each.at_ms - NOW_MS) for each in plan.delayed]


@pytest.mark.parametrize(
    ("due_ms", "waits"),
    [(1, True), (WAIT_MS, True), (WAIT_MS + 1, False)],
)
def test_a_preemption_waits_for_a_checkpoint_that_is_due_within_the_bound(due_ms: int, *, waits: bool) -> None:
    plan = schedule(snapshot(due_in("x", due_ms), urgent(), size=1, policy=WAITS))
    assert delays(plan) == ([("urgent", ("x",), due_ms)] if waits else [])
    assert preemptions(plan) == ([] if waits else [("x", "urgent")])


def test_it_is_made_when_the_checkpoint_counts_as_written() -> None:
    plan = schedule(snapshot(due_in("x", 0), urgent(), size=1, policy=WAITS))
    assert (preemptions(plan), plan.delayed) == ([("x", "urgent")], ())


@pytest.mark.parametrize(("late_ms", "waits"), [(LATE_MS, False), (LATE_MS + 1, True)])
def test_a_late_tick_does_not_wait_for_the_checkpoint_after_it(late_ms: int, *, waits: bool) -> None:
    # The next but one would be due within the bound as well.
    policy = replace(WAITS, wait_for_checkpoint_ms=EVERY_MS)
    plan = schedule(snapshot(due_in("x", -late_ms), urgent(), size=1, policy=policy))
    assert bool(plan.delayed) is waits


@pytest.mark.parametrize(("waited_ms", "waits"), [(0, True), (199_999, True), (200_000, True), (200_001, False)])
def test_the_bound_counts_from_the_entry_of_the_job(waited_ms: int, *, waits: bool) -> None:
    preemptor = changed(urgent(), entry_time_ms=NOW_MS - waited_ms)
    plan = schedule(snapshot(due_in("x", WAIT_MS - 200_000), preemptor, size=1, policy=WAITS))
    assert bool(plan.delayed) is waits


@pytest.mark.parametrize(
    "attempt",
    [
        held("writes none", since=NOW_MS - 400_000),
        held("declares nothing", since=NOW_MS - 400_000, checkpoints=True),
        warm("warm pool"),
    ],
    ids=lambda each: each.job,
)
def test_no_preemption_waits_for_an_attempt_without_known_checkpoints(attempt: Allocation) -> None:
    plan = schedule(snapshot(attempt, urgent(), size=1, policy=WAITS))
    assert plan.delayed == ()
    assert len(preemptions(plan) + warm_releases(plan)) == 1


def test_a_preemption_waits_for_the_checkpoint_after_the_one_that_was_seen() -> None:
    # By the start of its training one is due in 50 s. It wrote the last one later than that says, and so the next.
    x = due_in("x", 50_000)
    late = replace(x, checkpoint_seen_ms=NOW_MS + 250_000 - EVERY_MS - WRITTEN_MS)
    assert delays(schedule(snapshot(x, urgent(), size=1, policy=WAITS))) == [("urgent", ("x",), 50_000)]
    assert delays(schedule(snapshot(late, urgent(), size=1, policy=WAITS))) == [("urgent", ("x",), 250_000)]
    beyond = replace(x, checkpoint_seen_ms=NOW_MS + WAIT_MS + 1 - EVERY_MS - WRITTEN_MS)
    assert preemptions(schedule(snapshot(beyond, urgent(), size=1, policy=WAITS))) == [("x", "urgent")]


def test_no_preemption_waits_for_an_attempt_of_which_only_the_last_checkpoint_is_known() -> None:
    x = held("x", checkpoints=True, seen=NOW_MS - 400_000)
    plan = schedule(snapshot(x, urgent(), size=1, policy=WAITS))
    assert (preemptions(plan), plan.delayed) == ([("x", "urgent")], ())


def test_a_victim_is_chosen_by_what_is_lost_when_it_would_be_stopped() -> None:
    fresh, due = due_in("fresh", EVERY_MS - 100_000), due_in("due", 100_000)
    assert preemptions(schedule(snapshot(fresh, due, urgent()))) == [("fresh", "urgent")]
    assert delays(schedule(snapshot(fresh, due, urgent(), policy=WAITS))) == [("urgent", ("due",), 100_000)]


def test_of_two_that_would_lose_as_little_the_sooner_one_is_stopped() -> None:
    # Without their times the one that was started later would be stopped.
    late, soon = due_in("late", 100_000), due_in("soon", 50_000)
    assert delays(schedule(snapshot(late, soon, urgent(), policy=WAITS))) == [("urgent", ("soon",), 50_000)]
    fresh = due_in("fresh", 0)
    assert preemptions(schedule(snapshot(late, fresh, urgent(), policy=WAITS))) == [("fresh", "urgent")]


def test_victims_are_stopped_together_when_they_lose_least() -> None:
    # At 100 s y has just lost what it did since its checkpoint; at 200 s x has, which is less as x is wider.
    x, y = due_in("x", 200_000, count=3), due_in("y", 100_000)
    plan = schedule(snapshot(x, y, urgent(count=4), size=4, policy=WAITS))
    assert delays(plan) == [("urgent", ("y", "x"), 200_000)]
    x, y = due_in("x", 200_000), due_in("y", 100_000, count=12)
    plan = schedule(snapshot(x, y, urgent(count=13), size=13, policy=WAITS))
    assert delays(plan) == [("urgent", ("x", "y"), 100_000)]


def test_what_others_lose_meanwhile_counts() -> None:
    # To wait for x saves 480 s of one instance, and costs 100 s of the eight of a job without checkpoints.
    x, wide = due_in("x", 100_000), held("wide", count=8, since=NOW_MS - 1000)
    plan = schedule(snapshot(x, wide, urgent(count=9), size=9, policy=WAITS))
    assert (preemptions(plan), plan.delayed) == ([("wide", "urgent"), ("x", "urgent")], ())
    narrow = held("narrow", since=NOW_MS - 1000)
    plan = schedule(snapshot(x, narrow, urgent(count=2), policy=WAITS))
    assert delays(plan) == [("urgent", ("narrow", "x"), 100_000)]


@pytest.mark.parametrize(("others", "waits"), [(MAX_MOMENTS - 1, True), (MAX_MOMENTS, False)])
def test_the_checkpoints_of_the_attempts_that_would_lose_most_are_considered(others: int, *, waits: bool) -> None:
    # The others lose more, and the same at any time, as they have run for longer than the policy's interval.
    wide = [held(f"wide{i}", count=2, checkpoints=True) for i in range(others)]
    count = 2 * others + 1
    plan = schedule(snapshot(due_in("x", 100_000), *wide, urgent(count=count), size=count, policy=WAITS))
    assert bool(plan.delayed) is waits


def test_a_wait_counts_as_an_evaluation_of_each_victim_at_each_time() -> None:
    def taken(policy: Policy) -> int:
        parts = [due_in(f"x{i}", 100_000) for i in range(3)]
        state = PassState(snapshot(*parts, urgent(count=3), size=3, policy=policy), explain=False)
        decide(state)
        return state.ground.comparisons.made

    # The order takes four for each attempt instead of two, and the wait one for each at each of four times.
    assert taken(WAITS) - taken(Policy()) == 3 * 2 + 3 * (1 + 3)


def test_no_other_job_gets_what_the_waiting_job_counts_on() -> None:
    # One instance is free, and x frees the other one. Without x both fit.
    parts = (due_in("x", 100_000), urgent(count=2), job("next", 8), job("short", 1, limit_s=10))
    plan = schedule(snapshot(*parts, policy=WAITS))
    assert (starts(plan), preemptions(plan)) == ([], [])
    assert delays(plan) == [("urgent", ("x",), 100_000)]
    assert starts(schedule(snapshot(due_in("x", 100_000), job("next", 8), policy=WAITS))) == ["next"]


def test_no_other_job_preempts_its_victims() -> None:
    x, y = due_in("x", 100_000), due_in("y", 50_000, 1)
    second = changed(job("second", 8), entry_time_ms=NOW_MS)
    plan = schedule(snapshot(x, y, urgent(), second, policy=WAITS))
    assert delays(plan) == [("urgent", ("x",), 100_000), ("second", ("y",), 50_000)]


def test_a_job_that_waits_for_a_checkpoint_reports_it() -> None:
    plan = schedule(snapshot(due_in("x", 100_500), urgent(), size=1, policy=WAITS))
    assert code_of(plan, "urgent") == "WaitsForCheckpoint"
    assert reason_of(plan, "urgent") == (
        "starts on 1 ml.p5.48xlarge in place of `x`, which is stopped for it in 101 s, after its next checkpoint, "
        "so that less work is lost"
    )
    x, y = due_in("x", 200_000, count=3), due_in("y", 100_000)
    plan = schedule(snapshot(x, y, urgent(count=4), size=4, policy=WAITS))
    assert reason_of(plan, "urgent") == (
        "starts on 4 ml.p5.48xlarge in place of `y`, `x`, which are stopped for it in 3 min 20 s, after the next "
        "checkpoint of one of them, so that less work is lost"
    )


def test_it_holds_for_guarantees_too() -> None:
    policy = replace(WAITS, teams={"a": Team(guaranteed={P5: 1}), "b": Team()})
    reclaims = changed(job("reclaims", 0, team="a"), entry_time_ms=NOW_MS)
    plan = schedule(snapshot(due_in("x", 100_000, 9, team="b"), reclaims, size=1, policy=policy))
    assert delays(plan) == [("reclaims", ("x",), 100_000)]
    later = replace(
        snapshot(due_in("x", 100_000, 9, team="b"), reclaims, size=1, policy=policy), now_ms=NOW_MS + 100_000
    )
    assert preemptions(schedule(later)) == [("x", "reclaims")]


def test_it_holds_for_equals_too_as_long_as_they_would_still_give_way() -> None:
    policy = replace(WAITS, order=Order.SHORTEST_REMAINING)

    def decide(left_ms: int) -> Plan:
        long = changed(due_in("long", 100_000, entered=NOW_MS), handicap_ms=left_ms * 10, left_ms=left_ms)
        short = changed(job("short", entered=NOW_MS), handicap_ms=6_000_000, left_ms=600_000)
        return schedule(snapshot(long, short, size=1, policy=policy))

    ran_ms = EVERY_MS + WRITTEN_MS - 100_000
    assert delays(decide(1_200_000 + ran_ms + 100_000)) == [("short", ("long",), 100_000)]
    # Of it twice as much is left now, and no more then.
    assert preemptions(decide(1_200_000 + ran_ms + 99_999)) == [("long", "short")]


@pytest.mark.parametrize(
    ("ends_in_ms", "waits"),
    [
        (100_000 + STOP_MS + 1, True),
        # A stop then would free nothing sooner, or the attempt has ended.
        (100_000 + STOP_MS, False),
        (STOP_MS + 1, False),
        # It is beyond its limit, so it may end at any moment.
        (-1, False),
    ],
)
def test_no_preemption_waits_for_an_attempt_that_ends_before(ends_in_ms: int, *, waits: bool) -> None:
    x = due_in("x", 100_000)
    x = changed(x, limit_ms=NOW_MS + ends_in_ms - x.since_ms)
    plan = schedule(snapshot(x, urgent(), size=1, policy=WAITS))
    assert bool(plan.delayed) is waits
    assert bool(preemptions(plan)) is not waits


def test_no_preemption_waits_for_a_job_that_would_rank_first_by_then() -> None:
    policy = replace(WAITS, ageing=Ageing(interval_ms=1_000_000, cap=9))
    x = due_in("x", 100_000, 8, entered=NOW_MS - 950_000)
    plan = schedule(snapshot(x, urgent(), size=1, policy=policy))
    assert (preemptions(plan), plan.delayed) == ([("x", "urgent")], ())


def test_an_attempt_beside_later_sizes_is_stopped_so_late_only_if_the_job_then_still_ends_in_time() -> None:
    def decide(shrinks_in_s: int) -> Plan:
        waiting = urgent(limit_s=1000)
        return schedule(snapshot(due_in("x", 100_000), waiting, size=1, policy=WAITS, sizes={shrinks_in_s: 0}))

    stop_s = STOP_MS // 1000
    assert delays(decide(1000 + stop_s + 100)) == [("urgent", ("x",), 100_000)]
    assert (decide(1000 + stop_s + 99).delayed, code_of(decide(1000 + stop_s + 99), "urgent")) == (
        (),
        "WaitsForPoolSize",
    )


@pytest.mark.parametrize("wait_ms", [-1, MAX_CHECKPOINT_WAIT_MS + 1])
def test_the_bound_has_a_limit(wait_ms: int) -> None:
    with pytest.raises(InvalidPolicy, match="wait_for_checkpoint_ms"):
        Policy(wait_for_checkpoint_ms=wait_ms)


def test_a_simulation_decides_again_when_the_checkpoint_counts_as_written() -> None:
    happened: list[tuple[EventKind, int]] = []
    simulation = Simulation(
        snapshot(due_in("x", 100_000), urgent(), size=1, policy=WAITS),
        schedule,
        record=lambda each: happened.append((each.kind, each.time_ms - NOW_MS)),
    )
    simulation.run()
    assert happened[:3] == [
        (EventKind.PREEMPTED, 100_000),
        (EventKind.PREEMPTED_ENDED, 100_000),
        (EventKind.STARTED, 100_000),
    ]
    foreseen = forecast(snapshot(due_in("x", 100_000), urgent(), size=1, policy=WAITS), stop_ms=STOP_MS)
    assert foreseen.starts["urgent"] == NOW_MS + 100_000 + STOP_MS


@pytest.mark.parametrize(("waited_ms", "starts_ms"), [(0, WAIT_MS), (WAIT_MS - 50_000, 50_000), (WAIT_MS - 1, 40_000)])
def test_a_reserved_start_counts_on_victims_after_the_bound_only(waited_ms: int, starts_ms: int) -> None:
    # It fits once high has ended, if low is stopped too.
    low, high = held("low"), held("high", 9, since=NOW_MS - 60_000, ends_in_s=40)
    waiting = changed(urgent(count=2), entry_time_ms=NOW_MS - waited_ms)
    (wait,) = schedule(snapshot(low, high, waiting, policy=WAITS)).waits
    assert wait.start_by_ms == NOW_MS + starts_ms


def test_a_reserved_start_counts_on_warm_pools_at_any_time() -> None:
    high = held("high", 9, since=NOW_MS - 60_000, ends_in_s=40)
    (wait,) = schedule(snapshot(warm("left"), high, urgent(count=2), policy=WAITS)).waits
    assert wait.start_by_ms == NOW_MS + 40_000


def test_each_job_has_victims_by_its_own_bound() -> None:
    old = job("old", 9)
    attempts = [due_in("fresh", 500_000), due_in("second", 400_000), due_in("due", 100_000)]
    plan = schedule(snapshot(*attempts, old, urgent(), size=3, policy=WAITS))
    assert preemptions(plan) == [("fresh", "old")]
    assert delays(plan) == [("urgent", ("due",), 100_000)]


ANY = snapshots()


@st.composite
def checkpointing(draw: st.DrawFn, drawn: st.SearchStrategy[Snapshot] = ANY) -> Snapshot:
    """Snapshots in which some attempts write checkpoints at known times, and preemptions may wait for them."""
    of = draw(drawn)
    every = st.sampled_from([None, None, 20_000, 90_000, 200_000, 700_000])
    allocations = tuple(
        changed(
            each,
            checkpoints_every_ms=draw(every),
            training_since_ms=draw(st.sampled_from([None, each.since_ms, each.since_ms + 15_000])),
            checkpoint_seen_ms=draw(st.sampled_from([None, None, NOW - 150_000, NOW - 50_000, NOW - 1000, NOW])),
        )
        for each in of.allocations
    )
    waits = draw(st.sampled_from([30_000, 120_000, 300_000]))
    policy = replace(of.policy, wait_for_checkpoint_ms=waits, checkpoints_every_ms=draw(every))
    return replace(of, allocations=allocations, policy=policy)


def _without_waits(drawn: Snapshot) -> Snapshot:
    return replace(drawn, policy=replace(drawn.policy, wait_for_checkpoint_ms=0))


def _stops(plan: Plan) -> set[str]:
    return {each.attempt for each in plan.actions if isinstance(each, Preempt | ReleaseWarm)}


@given(drawn=checkpointing(), after_ms=st.integers(1, 800_000))
def test_victims_are_in_order_of_what_is_lost_when_they_would_be_stopped(drawn: Snapshot, after_ms: int) -> None:
    def order(each: Allocation) -> tuple[int, int, int, int, int, str]:
        better_ms = better_moment_ms(each, NOW, drawn.policy)
        stop_ms = better_ms if better_ms is not None and better_ms <= NOW + after_ms else NOW
        return waiting_victim_order(each, NOW, stop_ms, drawn.policy)

    index = AllocationIndex(drawn, Comparisons(), Limits(drawn))
    found = [*index.in_victim_order(POOLS, NOW, NOW + after_ms)]
    assert found == sorted((each for each in drawn.allocations if not each.stopping), key=order)


@given(drawn=checkpointing())
def test_each_plan_keeps_the_promises(drawn: Snapshot) -> None:
    check_plan(drawn, schedule(drawn))


@given(drawn=checkpointing())
def test_explaining_changes_no_delay(drawn: Snapshot) -> None:
    plan, silent = schedule(drawn), schedule(drawn, explain=False)
    assert (plan.actions, plan.delayed) == (silent.actions, silent.delayed)
    explained = [each.job for each in plan.waits if each.reason.code == "WaitsForCheckpoint"]
    # In front of a reserved start attempts are stopped at its time, whatever their checkpoints.
    of_starts = {each.job for each in plan.waits if each.start_by_ms is not None} - {*explained}
    assert explained == [each.for_job for each in plan.delayed if each.for_job not in of_starts]


@given(drawn=checkpointing())
def test_a_wait_is_in_the_future_and_within_the_bound_of_its_job(drawn: Snapshot) -> None:
    entered = {each.name: each.terms.entry_time_ms for each in drawn.waiting}
    running = {each.attempt: each for each in drawn.allocations}
    plan = schedule(drawn)
    for each in plan.delayed:
        event("waits")
        assert drawn.now_ms < each.at_ms <= entered[each.for_job] + drawn.policy.wait_for_checkpoint_ms
        assert all(running[attempt].attempt not in _stops(plan) for attempt in each.attempts)


@given(drawn=checkpointing())
def test_after_the_bound_of_all_jobs_plans_are_as_without_waits(drawn: Snapshot) -> None:
    last_ms = max((each.terms.entry_time_ms for each in drawn.waiting), default=0) + drawn.policy.wait_for_checkpoint_ms
    drawn = replace(drawn, now_ms=max(drawn.now_ms, last_ms))
    assert schedule(drawn) == schedule(_without_waits(drawn))


@given(drawn=checkpointing())
def test_the_start_of_training_changes_nothing_where_no_interval_is_known(drawn: Snapshot) -> None:
    policy = replace(drawn.policy, checkpoints_every_ms=None, wait_for_checkpoint_ms=0)
    unknown = tuple(changed(each, checkpoints_every_ms=None, checkpoint_seen_ms=None) for each in drawn.allocations)
    before = tuple(replace(each, training_since_ms=None) for each in unknown)
    assert schedule(replace(drawn, allocations=unknown, policy=policy)) == schedule(
        replace(drawn, allocations=before, policy=policy)
    )


@given(drawn=checkpointing(), before_ms=st.integers(0, 10**7))
def test_a_checkpoint_of_an_earlier_attempt_changes_nothing(drawn: Snapshot, before_ms: int) -> None:
    def seen(each: Allocation) -> Allocation:
        began_ms = each.since_ms if each.training_since_ms is None else each.training_since_ms
        return replace(each, checkpoint_seen_ms=began_ms - before_ms)

    earlier = replace(drawn, allocations=tuple(seen(each) for each in drawn.allocations))
    none = replace(drawn, allocations=tuple(replace(each, checkpoint_seen_ms=None) for each in drawn.allocations))
    assert schedule(earlier) == schedule(none)


@given(drawn=checkpointing())
def test_a_wait_changes_whether_and_not_how_a_job_preempts(drawn: Snapshot) -> None:
    # Other teams, and other jobs, would make the choice of victims matter.
    drawn = replace(drawn, waiting=drawn.waiting[:1], policy=replace(drawn.policy, teams={}))
    plan, before = schedule(drawn), schedule(_without_waits(drawn))
    assert bool(plan.delayed or _stops(plan)) is bool(_stops(before))
    if plan.delayed:
        assert (plan.actions, len(plan.delayed)) == ((), 1)


@given(due_ms=st.integers(1, WAIT_MS), part=st.floats(0, 1))
def test_each_decision_until_then_has_the_same_answer(due_ms: int, part: float) -> None:
    first = snapshot(due_in("x", due_ms), urgent(), size=1, policy=WAITS)
    (delayed,) = schedule(first).delayed
    between = replace(first, now_ms=NOW_MS + int(part * (due_ms - 1)))
    assert schedule(between).delayed == (delayed,)
    assert preemptions(schedule(replace(first, now_ms=delayed.at_ms))) == [("x", "urgent")]


@pytest.mark.parametrize(
    "promise",
    [
        promises.capacity_holds,
        promises.all_or_nothing,
        promises.protected_attempts_run_on,
        promises.only_who_may_be_preempted_is,
        promises.no_victim_is_needless,
        promises.first_in_line_is_not_kept_from_what_is_free,
    ],
    ids=lambda each: each.__name__,
)
@given(drawn=checkpointing())
def test_promises_hold_where_preemptions_wait(promise: Callable[[Snapshot], None], drawn: Snapshot) -> None:
    promise(drawn)


@given(drawn=checkpointing(snapshots("none", ageing=False, backfill=True).map(nothing_owed)))
def test_a_reserved_start_is_kept_although_preemptions_wait(drawn: Snapshot) -> None:
    promises.reserved_starts_are_kept(drawn)


def test_a_start_is_not_told_by_the_limit_of_an_attempt_that_a_preemption_ahead_may_stop() -> None:
    running = (
        held("early2", count=2, since=NOW_MS - 10_000),
        held("early1", since=NOW_MS - 10_000, ends_in_s=300),
        *(held(f"late{number}", since=NOW_MS) for number in range(3)),
    )
    policy = Policy(reserved_heads=2, min_run_time_ms=90_000, wait_for_checkpoint_ms=120_000)
    waiting = (job("wide", 1, count=3, entered=NOW_MS), job("behind", 0, entered=NOW_MS))
    plan = schedule(snapshot(*running, *waiting, size=6, policy=policy))
    told = {wait.job: wait.start_by_ms for wait in plan.waits}
    assert told == {"wide": NOW_MS + 120_000, "behind": None}


def test_no_job_of_lower_rank_starts_that_a_preemption_which_waits_would_have_to_stop_as_well() -> None:
    began_ms = NOW_MS - 1000
    running = (
        held("low0", 0, since=began_ms),
        held("low1", 0, since=began_ms),
        held("high", 5, count=3, since=began_ms),
    )
    waiting = (job("wide", 1, count=2, entered=NOW_MS), job("small", 0, entered=NOW_MS))
    policy = Policy(reserved_heads=2, min_run_time_ms=90_000, wait_for_checkpoint_ms=120_000)
    plan = schedule(snapshot(*running, *waiting, size=6, policy=policy))
    assert not plan.actions
    assert code_of(plan, "small") == "WouldDelay"
