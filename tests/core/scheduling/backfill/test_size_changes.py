"""Pools whose size changes at known times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.errors import InvariantViolation
from headway.forecasting.forecast import Resize, forecast, with_edits
from headway.forecasting.simulation import Delays, Event, EventKind, Simulation
from headway.model import Allocation, Calendar, SizeChange, WaitingJob
from headway.plan import Plan, Start, StopForSize
from headway.policy import Policy, Team
from headway.reasons import Reason, ReasonCode
from headway.scheduling.backfill.size_changes import SizeChanges, crosses
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.invariants import check_plan
from headway.scheduling.limits import Limits
from headway.scheduling.scheduler import schedule
from tests.core.builders import (
    G5,
    NOW_MS,
    P5,
    changed,
    code_of,
    held,
    job,
    preemptions,
    reason_of,
    releases,
    reserved,
    snapshot,
    starts,
    warm,
)

REASON = Reason(code=ReasonCode.STARTED, message="x")


def stops(plan: Plan) -> list[str]:
    return [action.job for action in plan.actions if isinstance(action, StopForSize)]


@pytest.mark.parametrize(
    ("limit_s", "starts_now"),
    [(59, True), (60, True), (61, False), (None, False)],
    ids=["less", "just", "over", "none"],
)
def test_a_job_starts_if_its_limit_ends_before_the_pool_shrinks(limit_s: int | None, starts_now: bool) -> None:
    queue = snapshot(job("a", limit_s=limit_s, count=2), size=2, sizes={60: 1, 3600: 2, 9_000: 2})
    assert starts(schedule(queue)) == (["a"] if starts_now else [])


def test_a_job_that_fits_the_smaller_size_starts_without_a_limit() -> None:
    assert starts(schedule(snapshot(job("a"), job("b"), size=2, sizes={60: 1}))) == ["a"]


def test_what_runs_past_the_change_is_counted_at_the_later_size() -> None:
    running = held("r", ends_in_s=61)
    queue = snapshot(running, job("a"), size=2, sizes={60: 1})
    assert starts(schedule(queue)) == []
    assert starts(schedule(replace(queue, allocations=(held("r", ends_in_s=60),)))) == ["a"]


def test_an_attempt_beyond_its_limit_may_run_for_ever() -> None:
    overdue = held("r", ends_in_s=-1)
    assert starts(schedule(snapshot(overdue, job("a"), size=2, sizes={60: 1}))) == []


@pytest.mark.parametrize("ends_in_s", [None, 9000], ids=["without a limit", "with a later limit"])
@pytest.mark.parametrize(("in_s", "started"), [(120, ["a"]), (119, [])])
def test_a_stopping_attempt_counts_until_a_stop_has_ended(in_s: int, started: list[str], ends_in_s: int | None) -> None:
    stopping = held("r", stopping=True, ends_in_s=ends_in_s)
    assert starts(schedule(snapshot(stopping, job("a"), size=2, sizes={in_s: 1}))) == started


def test_a_change_that_has_happened_is_none() -> None:
    # The size of now is the pool's; another tick, or a resize, may have changed it since.
    assert starts(schedule(snapshot(job("a"), job("b"), size=2, sizes={-60: 1}))) == ["a", "b"]
    assert starts(schedule(snapshot(job("a"), job("b"), size=2, sizes={0: 1}))) == ["a", "b"]


def test_a_job_that_waits_for_a_smaller_pool_reports_the_limit_that_would_let_it_start() -> None:
    plan = schedule(snapshot(job("a", limit_s=100, count=2), size=2, sizes={60: 1, 600: 2}))
    assert code_of(plan, "a") == "WaitsForPoolSize"
    assert reason_of(plan, "a") == (
        f"would still run when the pool {P5} has only 1 instance (00:17 UTC); "
        "with a limit (MaxRuntimeInSeconds) of 60 s or less it could start now"
    )
    assert plan.waits[0].start_by_ms == NOW_MS + 600_000


def test_a_job_that_waits_for_a_larger_pool_reports_when_that_is() -> None:
    plan = schedule(snapshot(job("a", limit_s=100, count=3), size=2, sizes={600: 4}))
    assert reason_of(plan, "a") == (
        f"waits for 3 {P5}: the pool has 2 now, and 4 from 00:26 UTC on; "
        "starts by 00:26 UTC unless a job of higher rank comes"
    )


@pytest.mark.parametrize(
    ("limit_s", "said"),
    [(3601, "and may run for 3601 s in all"), (None, "and has no time limit")],
)
def test_a_job_too_long_for_every_window_blocks_nobody(limit_s: int | None, said: str) -> None:
    queue = snapshot(job("a", 9, limit_s=limit_s, count=2), job("b"), size=1, sizes={600: 2, 4200: 1})
    plan = schedule(queue)
    assert starts(plan) == ["b"]
    assert code_of(plan, "a") == "ExceedsPool"
    assert said in reason_of(plan, "a")
    assert "for at most 3600 s at a time" in reason_of(plan, "a")


def test_the_start_of_a_job_that_waits_for_a_larger_pool_is_reserved() -> None:
    large = job("a", 9, limit_s=100, count=4)
    queue = snapshot(large, job("b", limit_s=600), job("c", limit_s=601), size=2, sizes={600: 4})
    plan = schedule(queue)
    assert starts(plan) == ["b"]
    assert code_of(plan, "c") == "WouldDelay"


def test_a_job_that_starts_at_a_reserved_time_keeps_within_later_sizes_too() -> None:
    # Its first start is when the runner ends, but it would still run at the change; the next one is the growth.
    queue = snapshot(held("r", ends_in_s=50, count=2), job("a", limit_s=100, count=2), size=2, sizes={100: 1, 900: 2})
    assert schedule(queue).waits[0].start_by_ms == NOW_MS + 900_000


def test_a_reservation_that_would_outlast_the_pool_is_released_and_used_by_others() -> None:
    queue = snapshot(
        reserved("a", 2), job("a", 9, limit_s=100, count=2), job("b", limit_s=50), size=2, sizes={60: 1, 600: 2}
    )
    plan = schedule(queue)
    assert releases(plan) == ["a"]
    assert starts(plan) == ["b"]


def test_a_job_starts_on_its_reservation_if_it_keeps_within_the_later_size() -> None:
    queue = snapshot(reserved("a", 2), job("a", limit_s=60, count=2), size=2, sizes={60: 1})
    assert starts(schedule(queue)) == ["a"]


def test_nothing_is_preempted_for_a_job_that_would_outlast_the_pool() -> None:
    low = held("r", count=2)
    queue = snapshot(low, job("a", 9, limit_s=100, count=2), size=2, sizes={200: 1, 900: 2})
    # A stop takes two minutes: 220 s.
    plan = schedule(queue)
    assert preemptions(plan) == []
    assert code_of(plan, "a") == "WaitsForPoolSize"
    assert preemptions(schedule(replace(queue, waiting=(job("a", 9, limit_s=80, count=2),)))) == [("r", "a")]


def test_a_preemptor_takes_the_part_of_later_sizes_that_its_victim_had() -> None:
    queue = snapshot(held("r", count=2), job("a", 9, count=2), size=2, sizes={900: 3, 1800: 2})
    assert preemptions(schedule(queue)) == [("r", "a")]


def test_a_preemptor_that_would_outlast_the_pool_beside_its_victim_takes_a_reservation_over_as_well() -> None:
    """Otherwise `low` would wait behind it, and keep what it lacks."""
    line = (job("high", 5, count=3), job("low", 1, count=2), reserved("low"))
    plan = schedule(snapshot(held("x"), held("y", 9, ends_in_s=500), *line, size=4, sizes={600: 3}))
    assert (releases(plan), preemptions(plan)) == (["low"], [("x", "high")])


def test_a_preemptor_leaves_the_rest_of_later_sizes_to_others() -> None:
    running = (held("low"), held("x", 1, ends_in_s=500), held("y", 1, ends_in_s=500))
    queue = snapshot(*running, job("high", 9), job("next", 5), size=3, sizes={600: 2})
    # Of the two instances `high` takes over that of `low`.
    assert preemptions(schedule(queue)) == [("low", "high"), ("x", "next")]


def test_a_job_that_starts_and_ends_before_a_change_takes_no_part_of_the_later_size() -> None:
    queue = snapshot(job("short", 9, limit_s=600), job("long"), size=2, sizes={600: 1})
    assert starts(schedule(queue)) == ["short", "long"]
    assert starts(schedule(replace(queue, waiting=(job("longer", 9, limit_s=601), job("long"))))) == ["longer"]


def test_what_a_victim_would_free_later_starts_no_other_job_before_it_has_stopped() -> None:
    victim = held("r", count=2)
    queue = snapshot(victim, job("a", 9, limit_s=10, count=2), job("b"), size=3, sizes={900: 1})
    plan = schedule(queue)
    assert preemptions(plan) == [("r", "a")]
    assert starts(plan) == []


def test_what_is_reserved_for_a_job_counts_at_later_sizes() -> None:
    backing_off = replace(job("a", 9, count=2), not_before_ms=NOW_MS + 5000)
    queue = snapshot(reserved("a", 2), backing_off, job("b"), size=3, sizes={60: 2})
    assert starts(schedule(queue)) == []
    assert starts(schedule(replace(queue, waiting=(backing_off, job("b", limit_s=60))))) == ["b"]


def test_what_is_being_freed_for_a_job_counts_at_later_sizes() -> None:
    queue = snapshot(held("r", count=2, ends_in_s=500), job("a", 9, count=2), job("b"), size=3, sizes={900: 2})
    plan = schedule(queue)
    assert preemptions(plan) == [("r", "a")]
    assert starts(plan) == []


def test_a_pool_that_stops_what_exceeds_its_size_stops_the_cheapest_first() -> None:
    queue = snapshot(held("cheap", since=NOW_MS - 1000), held("dear"), held("first", 5), size=2, stops=True)
    plan = schedule(queue)
    assert stops(plan) == ["cheap"]
    check_plan(queue, plan)


def test_a_pool_stops_only_what_it_has_to() -> None:
    queue = snapshot(held("small", count=1), held("large", 1, count=2), size=1, stops=True)
    assert stops(schedule(queue)) == ["large"]


@pytest.mark.parametrize(
    "fits",
    [
        held("r", stopping=True),
        held("r", ends_in_s=120),
        replace(held("r"), outside="theirs"),
    ],
    ids=["stopping", "ending", "rogue"],
)
def test_an_attempt_that_ends_anyway_or_is_not_ours_is_not_stopped_for_a_size(fits: object) -> None:
    assert stops(schedule(snapshot(fits, size=0, stops=True))) == []  # type: ignore[arg-type]


def test_a_job_may_run_into_a_change_of_a_pool_that_stops_what_exceeds_its_size() -> None:
    assert starts(schedule(snapshot(job("a", count=2), size=2, sizes={60: 1}, stops=True))) == ["a"]


@pytest.mark.parametrize(
    ("limit_s", "stops_for_size", "any_job", "starts_now"),
    [
        (60, False, False, True),
        (61, False, False, False),
        (None, False, False, False),
        (61, True, False, True),
        (None, True, False, True),
        (None, False, True, True),
    ],
)
def test_where_only_some_jobs_are_stopped_the_others_start_if_they_end_in_time(
    limit_s: int | None, stops_for_size: bool, any_job: bool, starts_now: bool
) -> None:
    waiting = job("a", limit_s=limit_s, stops_for_size=stops_for_size)
    queue = snapshot(waiting, size=1, sizes={60: 0, 90: 1, 100: 0}, stops=True, any_job=any_job)
    plan = schedule(queue)
    assert starts(plan) == (["a"] if starts_now else [])
    check_plan(queue, plan)


def test_a_job_that_is_stopped_for_a_size_takes_no_part_of_it() -> None:
    running = held("r", stops_for_size=True)
    queue = snapshot(running, job("b"), size=3, sizes={60: 1}, stops=True, any_job=False)
    assert starts(schedule(queue)) == ["b"]
    stays = replace(queue, allocations=(changed(running, stops_for_size=False),))
    assert starts(schedule(stays)) == []


def test_a_job_gains_no_part_of_a_size_from_a_victim_that_had_none() -> None:
    victim = held("r", count=2, stops_for_size=True)
    queue = snapshot(victim, job("a", 9, count=2), size=2, sizes={900: 1, 1800: 2}, stops=True, any_job=False)
    assert preemptions(schedule(queue)) == []
    stays = replace(queue, allocations=(changed(victim, stops_for_size=False),))
    assert preemptions(schedule(stays)) == []
    assert preemptions(schedule(replace(queue, waiting=(job("a", 9, count=2, stops_for_size=True),)))) == [("r", "a")]


def test_where_all_jobs_have_to_end_in_time_no_job_runs_into_a_change() -> None:
    assert starts(schedule(snapshot(job("a", stops_for_size=True), size=1, sizes={60: 0, 90: 1}))) == []


def test_jobs_that_may_run_into_a_change_are_stopped_first() -> None:
    proven, stoppable = held("proven", 0, ends_in_s=900), held("stoppable", 9, stops_for_size=True)
    assert stops(schedule(snapshot(proven, stoppable, size=1, stops=True, any_job=False))) == ["stoppable"]
    assert stops(schedule(snapshot(proven, stoppable, size=1, stops=True))) == ["proven"]
    assert stops(schedule(snapshot(proven, stoppable, size=0, stops=True, any_job=False))) == ["stoppable", "proven"]


def test_the_start_of_a_job_that_may_run_into_a_change_is_reserved_before_it() -> None:
    queue = snapshot(
        held("r", ends_in_s=30),
        job("a", 9, stops_for_size=True),
        size=1,
        sizes={60: 0, 90: 1},
        stops=True,
        any_job=False,
    )
    assert schedule(queue).waits[0].start_by_ms == NOW_MS + 30_000


def test_a_wait_in_a_training_plan_reports_which_jobs_could_start() -> None:
    plan = schedule(
        snapshot(job("a", limit_s=100), size=1, sizes={60: 0, 600: 1}, stops=True, any_job=False, about="x")
    )
    assert reason_of(plan, "a").endswith(
        "with a limit (MaxRuntimeInSeconds) of 60 s or less it could start now; one that writes checkpoints "
        "(CheckpointConfig) or has the tag headway:stop-at-plan-end=true may run into that"
    )


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({}, "the pools hold 0 ml.p5.48xlarge; the plan `x` has ended: stop the job and submit one without the plan"),
        ({60: 1, 90: 0}, "or one that writes checkpoints (CheckpointConfig) or has the tag"),
    ],
)
def test_a_job_that_never_fits_a_training_plan_reports_that(sizes: dict[int, int], said: str) -> None:
    queue = snapshot(
        job("a"), size=0, pools={P5: 0}, sizes=sizes, stops=True, any_job=False, about="the plan `x` has ended"
    )
    plan = schedule(queue)
    assert code_of(plan, "a") == "ExceedsPool"
    assert said in reason_of(plan, "a")
    assert "the plan `x` has ended" in reason_of(plan, "a")


@pytest.mark.parametrize(
    ("demand", "known", "code"),
    [
        ({P5: 1}, False, "WaitsForPoolSize"),
        ({P5: 1}, True, "ExceedsPool"),
        ({P5: 1, G5: 3}, False, "ExceedsPool"),
    ],
    ids=["the plan is not known", "the plan is known", "another pool is too small too"],
)
def test_a_job_waits_for_a_training_plan_to_be_described(demand: dict[str, int], known: bool, code: str) -> None:
    plan_calendar = Calendar(changes=(), about="the plan `x` is not described yet", known=known)
    queue = replace(snapshot(replace(job("a"), demand=demand), pools={P5: 0, G5: 2}), calendars={P5: plan_calendar})
    plan = schedule(queue)
    assert code_of(plan, "a") == code
    assert "the plan `x` is not described yet" in reason_of(plan, "a")
    assert ("stop the job" in reason_of(plan, "a")) == (code == "ExceedsPool")


def test_a_job_that_is_stopped_at_the_end_of_a_training_plan_is_told_so() -> None:
    (stop,) = schedule(snapshot(held("r"), size=0, pools={P5: 0}, stops=True, about="the plan `x` has ended")).actions
    assert stop.reason.message == (
        f"stopped as the pool {P5} has only 0 instances now (the plan `x` has ended); keeps its place in the queue"
    )


def test_without_stops_a_smaller_pool_stops_nobody() -> None:
    assert schedule(snapshot(held("r", count=2), size=1, sizes={60: 0})).actions == ()


def test_a_forecast_follows_the_sizes() -> None:
    queue = snapshot(job("a", limit_s=100, count=3), size=2, sizes={600: 4})
    assert forecast(queue).starts == {"a": NOW_MS + 600_000}


def test_a_what_if_size_replaces_the_calendar() -> None:
    queue, _ = with_edits(snapshot(job("a"), size=1, sizes={60: 0}), [Resize(pool=P5, size=1)])
    assert queue.calendars == {}
    assert starts(schedule(queue)) == ["a"]


def test_in_a_simulation_a_stopped_job_waits_again_and_has_not_been_preempted() -> None:
    events: list[Event] = []
    queue = snapshot(held("r", count=2), size=2, sizes={60: 1, 300: 2}, stops=True)
    course = Simulation(queue, schedule, delays=Delays(stop_ms=10_000), record=events.append)
    course.run()
    assert [(event.kind, event.time_ms - NOW_MS) for event in events] == [
        (EventKind.PREEMPTED_ENDED, 70_000),
        (EventKind.STARTED, 300_000),
    ]
    assert next(iter(course.allocations.values())).terms.preemptions == 0


@pytest.mark.parametrize(
    ("calendar", "to_s", "stops_for_size", "is_crossed"),
    [
        (Calendar(changes=(SizeChange(at_ms=4000, size=0),)), 5, False, True),
        (Calendar(changes=(SizeChange(at_ms=3999, size=0),)), 5, False, False),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),)), 6, False, True),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),)), 6, True, True),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),)), 5, False, False),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),), stops=True), 6, False, False),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),), stops=True, any_job=False), 6, False, True),
        (Calendar(changes=(SizeChange(at_ms=5000, size=0),), stops=True, any_job=False), 6, True, False),
    ],
)
def test_a_later_end_runs_into_another_change(
    calendar: Calendar, to_s: int, stops_for_size: bool, is_crossed: bool
) -> None:
    assert crosses({P5: calendar}, [P5, G5], 4000, to_s * 1000, stops_for_size=stops_for_size) is is_crossed


def size_changes(*parts: WaitingJob | Allocation, size: int = 2, **more: Any) -> SizeChanges:
    drawn = snapshot(*parts, size=size, **more)
    return SizeChanges(drawn, Comparisons(), Limits(drawn))


def test_a_pool_grows_when_it_first_has_so_many_instances_unless_it_has_them_now() -> None:
    changes = size_changes(sizes={60: 3, 120: 4, 180: 5})
    assert [changes.growth(P5, count) for count in (2, 3, 4, 6)] == [
        None,
        SizeChange(at_ms=NOW_MS + 60_000, size=3),
        SizeChange(at_ms=NOW_MS + 120_000, size=4),
        None,
    ]


def test_there_is_room_for_each_job_by_its_own_limit_and_by_whether_it_is_stopped_for_sizes() -> None:
    changes = size_changes(sizes={60: 1, 120: 1}, stops=True, any_job=False)
    short, long = job("short", count=2, limit_s=60), job("long", count=2, limit_s=61)
    assert [changes.has_room_for(each) for each in (short, long)] == [True, False]
    assert changes.has_room_for(changed(long, stops_for_size=True))
    assert changes.has_room_for(job("small", limit_s=61))


def test_there_is_no_room_before_a_job_may_start() -> None:
    late = replace(job("late", count=2, limit_s=30), not_before_ms=NOW_MS + 40_000)
    changes = size_changes(sizes={60: 1})
    assert changes.has_room_for(replace(late, not_before_ms=0))
    assert not changes.has_room_for(late)
    assert not size_changes(size=1, sizes={20: 2, 60: 1}).has_room_for(late)


@pytest.mark.parametrize(
    ("sizes", "longest_s"),
    [({300: 1, 360: 2, 420: 1}, 300), ({60: 3, 120: 1}, 120), ({60: 1, 120: 2, 300: 1}, 180)],
    ids=["the first time", "also while the pool grows", "a later time"],
)
def test_the_longest_time_for_a_job_is_found(sizes: dict[int, int], longest_s: int) -> None:
    assert size_changes(sizes=sizes).longest_ms(job("a", count=2)) == longest_s * 1000


def test_an_attempt_in_two_pools_that_have_become_smaller_is_stopped_once() -> None:
    wide = replace(held("wide"), demand={P5: 1, G5: 1})
    smaller = Calendar(changes=(), stops=True)
    state = replace(snapshot(wide, pools={P5: 0, G5: 0}), calendars={P5: smaller, G5: smaller})
    assert stops(schedule(state)) == ["wide"]


def test_of_several_changes_that_a_job_may_not_run_into_the_first_is_named() -> None:
    claim = size_changes(sizes={60: 1, 120: 0}).exceeded_by(job("a", count=2), {P5: 2}, None)
    assert claim is not None
    assert claim.change == SizeChange(at_ms=NOW_MS + 60_000, size=1)


def test_a_preemptor_takes_of_later_sizes_what_its_victims_leave() -> None:
    low = held("low")
    changes = size_changes(low, size=4, sizes={60: 3})
    changes.charge(job("high"), {P5: 1}, None, [low])
    assert changes.exceeded_by(job("wide", count=2), {P5: 2}, None) is None
    assert changes.exceeded_by(job("wider", count=3), {P5: 3}, None) is not None


def test_where_no_attempt_is_stopped_for_a_size_each_one_counts() -> None:
    running = held("r", stops_for_size=True)
    assert starts(schedule(snapshot(running, job("a"), size=2, sizes={60: 1}))) == []


def test_the_calendar_of_a_pool_that_is_gone_does_not_matter() -> None:
    gone = {G5: Calendar(changes=(SizeChange(at_ms=NOW_MS + 60_000, size=1),))}
    assert starts(schedule(replace(snapshot(job("a"), size=1), calendars=gone))) == ["a"]


def test_a_plan_that_exceeds_a_later_size_is_refused() -> None:
    queue = snapshot(held("r"), job("a", limit_s=61), size=2, sizes={60: 1})
    plan = Plan(actions=(Start(job="a", demand={P5: 1}, reason=REASON),), waits=())
    with pytest.raises(InvariantViolation, match="beside 1 when its size is 1"):
        check_plan(queue, plan)
    check_plan(replace(queue, waiting=(job("a", limit_s=60),)), plan)


@pytest.mark.parametrize(
    ("size", "pool_stops", "message"),
    [(0, False, "which stops nothing"), (1, True, "although it fits")],
)
def test_a_plan_that_stops_what_may_run_is_refused(size: int, pool_stops: bool, message: str) -> None:
    queue = snapshot(held("r"), size=size, pools={P5: size}, sizes={60: 0}, stops=pool_stops)
    stop = StopForSize(job="r", attempt="r", pool=P5, size=size, reason=REASON)
    with pytest.raises(InvariantViolation, match=message):
        check_plan(queue, Plan(actions=(stop,), waits=()))


@pytest.mark.parametrize("reservation", [(), (reserved("wide", 2),)], ids=["no-reservation", "a-reservation"])
def test_nothing_is_stopped_for_a_job_that_would_start_too_late_for_a_smaller_size(
    reservation: tuple[Any, ...],
) -> None:
    """It could start now and end in time, but `low` takes time to stop. What is reserved is held for longer, too."""
    wide = job("wide", 5, count=3, limit_s=60)
    queue = snapshot(held("low"), wide, *reservation, size=3, sizes={100: 2, 1000: 3})
    assert preemptions(schedule(queue)) == []
    assert preemptions(schedule(replace(queue, calendars={}))) == [("low", "wide")]


LONG_STOPS = (held("x", ends_in_s=500), held("y", ends_in_s=500))


@pytest.mark.parametrize(
    ("parts", "limit_s", "victims"),
    [
        (LONG_STOPS, 480, ["x", "y"]),
        (LONG_STOPS, 481, ["x"]),
        ((held("x", stopping=True, freed_for="first"), held("y", ends_in_s=500)), 480, ["y"]),
        ((held("x", stopping=True, freed_for="first"), held("y", ends_in_s=500)), 481, []),
        ((held("x", stopping=True, freed_for="first"), held("y", ends_in_s=500)), 601, []),
        ((held("x", stopping=True), held("y", ends_in_s=500)), 480, ["y"]),
        ((held("x", stopping=True), held("y", ends_in_s=500)), 481, []),
    ],
    ids=[
        "stops-in-time",
        "stops",
        "stopping-in-time",
        "stopping",
        "stopping-too-long-anyway",
        "stopping-for-nobody-in-time",
        "stopping-for-nobody",
    ],
)
def test_nothing_is_stopped_for_a_job_behind_one_that_waits_for_stops_and_then_runs_into_a_smaller_size(
    parts: tuple[Any, ...], limit_s: int, victims: list[str]
) -> None:
    """`first` could have ended by then if it started now. A stop takes up to two minutes."""
    queue = snapshot(*parts, job("first", 5, limit_s=limit_s), job("next", 4), size=2, sizes={600: 1})
    assert [victim for victim, _ in preemptions(schedule(queue))] == victims


@pytest.mark.parametrize(("limit_s", "victims"), [(480, ["x", "y"]), (481, ["x"])])
def test_what_is_reserved_for_one_that_waits_for_stops_is_held_for_longer_as_well(
    limit_s: int, victims: list[str]
) -> None:
    queue = snapshot(
        *LONG_STOPS,
        job("first", 5, count=2, limit_s=limit_s),
        reserved("first"),
        job("next", 4),
        size=3,
        sizes={600: 2},
    )
    assert [victim for victim, _ in preemptions(schedule(queue))] == victims


@pytest.mark.parametrize("reservation", [(), (reserved("first"),)], ids=["no-reservation", "a-reservation"])
@pytest.mark.parametrize(("limit_s", "started"), [(480, ["next"]), (481, [])])
def test_a_job_that_waits_for_a_warm_pool_of_another_team_counts_at_a_size_that_it_may_run_into(
    limit_s: int, started: list[str], reservation: tuple[Any, ...]
) -> None:
    policy = Policy(warm_across_teams=False, teams={"red": Team(), "blue": Team()})
    first = job("first", 5, limit_s=limit_s, team="blue", warm_key="k")
    parts = (warm("w", team="red", key="k", ends_in_s=500), first, *reservation, job("next", 4))
    assert starts(schedule(snapshot(*parts, size=3, sizes={600: 1}, policy=policy))) == started


def test_what_is_reserved_for_a_preemptor_counts_once_at_a_size_that_it_runs_into() -> None:
    running, wide = held("low", count=2, ends_in_s=150), job("wide", 5, count=3, limit_s=300)
    queue = snapshot(running, wide, reserved("wide", 2), size=4, sizes={200: 3})
    assert preemptions(schedule(queue)) == [("low", "wide")]
