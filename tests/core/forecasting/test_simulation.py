"""The simulation of a queue from event to event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import reasons
from headway.errors import InvariantViolation
from headway.forecasting.simulation import Arrival, Delays, Event, EventKind, Simulation
from headway.model import Allocation, Reservation, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Release, Start
from headway.policy import Order, Policy
from headway.scheduling.scheduler import schedule
from headway.vectors import free
from tests.core.builders import NOW_MS, P5, changed, held, job, reserved, snapshot, unusual_terms, warm

NOTHING = Plan(actions=(), waits=())

_ENDS = frozenset({EventKind.PREEMPTED_ENDED, EventKind.COMPLETED, EventKind.TIMED_OUT, EventKind.STOPPED})
"""Events that free instances."""


def told(events: list[Event]) -> list[tuple[int, str, str]]:
    return [(event.time_ms, event.kind.value, event.job) for event in events]


def first_come(snapshot: Snapshot) -> Plan:
    """Start the first that fits, one at a time."""
    for waiting in snapshot.waiting:
        left = free(snapshot)
        own = next((r.demand for r in snapshot.reservations if r.job == waiting.name), {})
        if all(left[pool] + own.get(pool, 0) >= count for pool, count in waiting.demand.items()):
            start = Start(job=waiting.name, demand=waiting.demand, reason=reasons.started(waiting.demand))
            return Plan(actions=(start,), waits=())
    return NOTHING


def preempting(victim: str, for_job: str, freed: int = 1) -> Callable[[Snapshot], Plan]:
    """Stop one attempt once; else first come, first served."""
    done: list[str] = []

    def decide(snapshot: Snapshot) -> Plan:
        live = [a for a in snapshot.allocations if a.job == victim and not a.stopping]
        if live and not done and for_job in {waiting.name for waiting in snapshot.waiting}:
            done.append(victim)
            reason = reasons.started({P5: 1})
            action = Preempt(job=victim, attempt=live[0].attempt, for_job=for_job, freed={P5: freed}, reason=reason)
            return Plan(actions=(action,), waits=())
        return first_come(snapshot)

    return decide


def arrival(at: int, name: str, run: int | None, count: int = 1, *, checkpoints: bool = False) -> Arrival:
    waiting = changed(job(name, entered=at, count=count), checkpoints=checkpoints)
    return Arrival(time_ms=at, job=waiting, run_ms=run)


def course(
    *arrivals: Arrival,
    size: int = 1,
    decide: Callable[[Snapshot], Plan] = first_come,
    stop_ms: int = 0,
    policy: Policy | None = None,
) -> list[Event]:
    events: list[Event] = []
    start = replace(snapshot(size=size, now_ms=0), policy=policy or Policy())
    Simulation(start, decide, delays=Delays(stop_ms=stop_ms), arrivals=arrivals, record=events.append).run()
    return events


def test_a_waiting_job_starts_when_the_one_before_it_has_completed() -> None:
    assert told(course(arrival(5, "a", 10), arrival(7, "b", 3))) == [
        (5, "arrived", "a"),
        (5, "started", "a"),
        (7, "arrived", "b"),
        (15, "completed", "a"),
        (15, "started", "b"),
        (18, "completed", "b"),
    ]


def test_all_events_of_one_instant_precede_one_decision() -> None:
    seen: list[tuple[int, int, int]] = []

    def watch(snapshot: Snapshot) -> Plan:
        seen.append((snapshot.now_ms, len(snapshot.allocations), len(snapshot.waiting)))
        return first_come(snapshot)

    course(arrival(0, "a", 10), arrival(10, "b", 1, 2), arrival(10, "c", 1, 2), size=2, decide=watch)
    assert [entry for entry in seen if entry[0] == 10] == [(10, 0, 2), (10, 1, 1)]


def test_decisions_of_an_instant_repeat_until_nothing_is_left_to_do() -> None:
    events = course(*(arrival(0, name, 5) for name in "abc"), size=3)
    assert [event.job for event in events if event.kind is EventKind.STARTED] == ["a", "b", "c"]
    assert {event.time_ms for event in events if event.kind is EventKind.STARTED} == {0}


def test_endless_decisions_are_an_error() -> None:
    forever = Release(job="a", demand={P5: 1}, reason=reasons.started({P5: 1}))
    with pytest.raises(InvariantViolation, match="still something to do"):
        course(arrival(0, "a", 1), decide=lambda _: Plan(actions=(forever,), waits=()))


def test_starting_a_job_that_does_not_wait_is_an_error() -> None:
    wrong = Start(job="z", demand={P5: 1}, reason=reasons.started({P5: 1}))
    with pytest.raises(InvariantViolation, match="z is started but does not wait"):
        course(arrival(0, "a", 1), decide=lambda _: Plan(actions=(wrong,), waits=()))


def test_a_victim_holds_its_instances_until_it_has_stopped_and_keeps_its_place() -> None:
    lines: list[list[str]] = []

    def watch(snapshot: Snapshot) -> Plan:
        lines.append([waiting.name for waiting in snapshot.waiting])
        return stop(snapshot)

    stop = preempting("a", "b")
    events = course(arrival(0, "a", 100), arrival(10, "b", 20), arrival(12, "c", 1), decide=watch, stop_ms=5)
    assert told(events)[3:] == [
        (10, "preempted", "a"),
        (12, "arrived", "c"),
        (15, "yielded", "a"),
        (15, "started", "b"),
        (35, "completed", "b"),
        (35, "started", "a"),
        (135, "completed", "a"),
        (135, "started", "c"),
        (136, "completed", "c"),
    ]
    assert ["a", "b", "c"] in lines


def test_instances_of_a_victim_are_reserved_for_its_preemptor() -> None:
    seen: list[tuple[Reservation, ...]] = []
    stop = preempting("a", "b", freed=2)

    def watch(snapshot: Snapshot) -> Plan:
        seen.append(snapshot.reservations)
        return stop(snapshot) if snapshot.now_ms < 15 else NOTHING

    course(arrival(0, "a", 100, 3), arrival(10, "b", 20, 2), size=3, decide=watch, stop_ms=5)
    assert seen[-1] == (Reservation(job="b", demand={P5: 2}),)


def test_instances_of_a_victim_are_free_if_its_preemptor_has_started() -> None:
    events = course(arrival(0, "a", 100), arrival(0, "d", 12), arrival(10, "b", 20), size=2,
                    decide=preempting("a", "b"), stop_ms=5)  # fmt: skip
    assert (12, "started", "b") in told(events)
    assert (15, "started", "a") in told(events)


@pytest.mark.parametrize(
    ("checkpoints", "interval", "done", "lost"),
    [(False, 10, 160, 45), (True, 10, 120, 5), (True, 0, 120, 5), (True, 30, 130, 15), (True, 100, 160, 45)],
)
def test_a_victim_resumes_from_its_last_checkpoint(checkpoints: bool, interval: int, done: int, lost: int) -> None:
    events = course(
        arrival(0, "a", 100, checkpoints=checkpoints),
        arrival(40, "b", 15),
        decide=preempting("a", "b"),
        stop_ms=5,
        policy=Policy(checkpoint_interval_ms=interval),
    )
    assert told(events)[-1] == (done, "completed", "a")
    assert next(event.lost_ms for event in events if event.kind is EventKind.PREEMPTED_ENDED) == lost


@pytest.mark.parametrize(("run", "ends"), [(14, "completed"), (15, "completed"), (16, "yielded")])
def test_a_victim_that_ends_by_its_stop_completes(run: int, ends: str) -> None:
    events = course(arrival(0, "a", run), arrival(10, "b", 1), decide=preempting("a", "b"), stop_ms=5)
    assert (min(run, 15), ends, "a") in told(events)


def test_a_victim_counts_its_preemptions() -> None:
    counts: list[int] = []
    stop = preempting("a", "b")

    def watch(snapshot: Snapshot) -> Plan:
        counts.extend(a.terms.preemptions for a in snapshot.allocations if a.job == "a")
        return stop(snapshot)

    course(arrival(0, "a", 100), arrival(10, "b", 20), decide=watch)
    assert sorted(set(counts)) == [0, 1]


def test_a_job_is_ended_at_its_limit() -> None:
    over = replace(arrival(0, "a", 100), job=changed(job("a"), limit_ms=30))
    assert told(course(over))[-1] == (30, EventKind.TIMED_OUT.value, "a")


def test_a_job_that_runs_as_long_as_its_limit_completes() -> None:
    exact = replace(arrival(0, "a", 30), job=changed(job("a"), limit_ms=30))
    assert told(course(exact))[-1] == (30, "completed", "a")


def test_a_job_that_backs_off_is_evaluated_again_at_its_time() -> None:
    late = replace(arrival(0, "a", 1), job=replace(job("a"), not_before_ms=50))

    def patient(snapshot: Snapshot) -> Plan:
        due = tuple(waiting for waiting in snapshot.waiting if waiting.not_before_ms <= snapshot.now_ms)
        return first_come(replace(snapshot, waiting=due))

    assert told(course(late, decide=patient)) == [
        (0, "arrived", "a"),
        (50, "started", "a"),
        (51, "completed", "a"),
    ]


def test_a_simulation_continues_from_a_snapshot() -> None:
    def left(part: Allocation | WaitingJob) -> int | None:
        return {"r": 30, "s": 40, "w": 10, "v": 10}[part.job if isinstance(part, Allocation) else part.name]

    events: list[Event] = []
    start = snapshot(held("r"), held("s", freed_for="v"), reserved("w"), job("w"), job("v"), size=3)
    Simulation(start, first_come, left, delays=Delays(stop_ms=20), record=events.append).run()
    assert told(events) == [
        (NOW_MS, "started", "w"),
        (NOW_MS + 10, "completed", "w"),
        (NOW_MS + 10, "started", "v"),
        (NOW_MS + 20, "yielded", "s"),
        (NOW_MS + 20, "completed", "v"),
        (NOW_MS + 20, "started", "s"),
        (NOW_MS + 30, "completed", "r"),
        # It wrote no checkpoints, so it runs its whole run time again.
        (NOW_MS + 20 + NOW_MS + 40, "completed", "s"),
    ]


def test_an_attempt_that_stops_on_request_is_not_requeued() -> None:
    events: list[Event] = []
    Simulation(snapshot(held("r", stopping=True)), first_come, delays=Delays(stop_ms=20), record=events.append).run()
    assert told(events) == [(NOW_MS + 20, "stopped", "r")]


def test_jobs_without_a_run_time_never_end() -> None:
    going = Simulation(snapshot(held("r"), job("w"), size=2), first_come)
    going.run()
    assert going.next_ms is None
    assert {allocation.job for allocation in going.allocations.values()} == {"r", "w"}
    assert not going.waiting


def test_a_simulation_can_be_observed_up_to_a_time() -> None:
    going = Simulation(snapshot(size=1, now_ms=0), first_come, arrivals=[arrival(0, "a", 10), arrival(10, "b", 10)])
    going.run(until_ms=10)
    assert (going.now_ms, going.next_ms) == (10, 20)
    assert going.step()
    assert not going.step()


def test_an_attempt_gives_way_to_an_equal_when_its_level_rises_though_nothing_else_happens() -> None:
    hour = 3_600_000
    policy = Policy(order=Order.SHARED)
    arrivals = [
        replace(each, job=changed(each.job, attained_ms=0, max_handicap_ms=100 * hour))
        for each in (arrival(0, "a", hour, checkpoints=True), arrival(1000, "b", hour // 4, checkpoints=True))
    ]
    events = course(*arrivals, decide=schedule, stop_ms=5000, policy=policy)
    assert told(events)[3:] == [
        (hour // 2, "preempted", "a"),
        (hour // 2 + 5000, "yielded", "a"),
        (hour // 2 + 5000, "started", "b"),
        (hour * 3 // 4 + 5000, "completed", "b"),
        (hour * 3 // 4 + 5000, "started", "a"),
        (hour * 5 // 4 + 5000, "completed", "a"),
    ]


def test_a_preempted_job_keeps_its_service_and_waits_with_the_handicap_of_its_level() -> None:
    running = changed(held("a", since=NOW_MS - 3_600_000), attained_ms=5000, max_handicap_ms=1 << 60)
    going = Simulation(snapshot(running, job("b"), size=1), preempting("a", "b"), delays=Delays(stop_ms=120_000))
    going.run(until_ms=NOW_MS + 120_000)
    (waiting,) = going.waiting
    # Not the time of the stop, which no decision has counted.
    assert (waiting.terms.standing.attained_ms, waiting.terms.standing.max_handicap_ms) == (3_605_000, 1 << 60)
    assert waiting.terms.standing.handicap_ms == 50 * 3_600_000


def test_the_level_of_an_attempt_that_ran_before_the_simulation_rises_as_well() -> None:
    waiting = changed(job("b"), attained_ms=0, max_handicap_ms=1 << 60)
    running = changed(held("a", since=NOW_MS, checkpoints=True), attained_ms=1_799_000, max_handicap_ms=1 << 60)
    events: list[Event] = []
    start = snapshot(running, waiting, size=1, policy=Policy(order=Order.SHARED))
    Simulation(start, schedule, lambda _: 600_000, record=events.append).run(until_ms=NOW_MS + 1000)
    assert told(events)[0] == (NOW_MS + 1000, "preempted", "a")


def test_an_attempt_gives_way_to_an_equal_when_more_is_expected_of_it_though_nothing_else_happens() -> None:
    hour = 3_600_000
    policy = Policy(order=Order.SHORTEST_REMAINING, by_predictions=True)
    terms: dict[str, Any] = {"left_ms": 9 * hour, "expected_ms": hour, "extension_ms": hour, "handicap_ms": 10 * hour}
    waiting = changed(job("b"), left_ms=hour // 4, handicap_ms=10 * hour // 4)
    running = changed(held("a", since=NOW_MS, checkpoints=True), entry_time_ms=0, **terms)
    # An attempt gives way while much is left of it: first until half an hour is, and then when an hour is again.
    late = replace(running, since_ms=NOW_MS - 45 * 60_000)
    events: list[Event] = []
    start = snapshot(late, waiting, size=1, policy=policy)
    Simulation(start, schedule, lambda _: 2 * hour, record=events.append).run(until_ms=NOW_MS + hour)
    assert told(events)[0] == (NOW_MS + 15 * 60_000, "preempted", "a")


def test_an_attempt_gives_way_when_the_cap_on_its_preemptions_counts_again_though_nothing_else_happens() -> None:
    hour, week = 3_600_000, 7 * 24 * 3_600_000
    policy = Policy(order=Order.SHORTEST_REMAINING, max_preemptions=1)
    waiting = changed(job("b", entered=0), left_ms=hour, handicap_ms=10 * hour)
    much: dict[str, Any] = {"left_ms": 9999 * hour, "handicap_ms": 99990 * hour, "preemptions": 1}
    running = changed(held("a", since=NOW_MS, checkpoints=True), entry_time_ms=NOW_MS - week + 5000, **much)
    events: list[Event] = []
    start = snapshot(running, waiting, size=1, policy=policy)
    Simulation(start, schedule, lambda _: 9999 * hour, record=events.append).run(until_ms=NOW_MS + hour)
    assert told(events)[0] == (NOW_MS + 5000, "preempted", "a")


def test_an_attempt_is_preempted_when_its_minimum_run_time_is_over_though_nothing_else_happens() -> None:
    long = replace(arrival(0, "a", None), job=job("a", entered=0))
    urgent = replace(arrival(1, "b", 10), job=job("b", 1, entered=1))
    events = course(long, urgent, decide=schedule, policy=Policy(min_run_time_ms=100))
    assert (100, "preempted", "a") in told(events)


def test_the_terms_of_a_job_go_with_it_to_its_attempt_and_back_to_its_queue() -> None:
    first = replace(job("a"), terms=unusual_terms())
    going = Simulation(snapshot(first, job("b"), size=1), preempting("a", "b"), delays=Delays(stop_ms=1))
    going.run(until_ms=NOW_MS)
    assert [each.terms for each in going.allocations.values()] == [first.terms]
    going.run(until_ms=NOW_MS + 1)
    (again,) = going.waiting
    assert again.terms == replace(first.terms, standing=again.terms.standing, preemptions=first.terms.preemptions + 1)


def test_a_preempted_job_waits_with_what_is_still_expected_of_it() -> None:
    hour = 3_600_000
    terms: dict[str, Any] = {"left_ms": 9 * hour, "expected_ms": hour, "extension_ms": hour, "handicap_ms": 10 * hour}
    running = changed(held("a", since=NOW_MS - hour, checkpoints=True), **terms)
    going = Simulation(snapshot(running, job("b"), size=1), preempting("a", "b"), delays=Delays(stop_ms=120_000))
    going.run(until_ms=NOW_MS + 120_000)
    (waiting,) = going.waiting
    # Ten minutes may be lost.
    assert (waiting.terms.standing.expected_ms, waiting.terms.standing.extension_ms) == (
        2 * hour - 50 * 60_000,
        2 * hour,
    )
    assert waiting.terms.standing.handicap_ms == 10 * (2 * hour - 50 * 60_000)


def test_what_is_expected_of_a_job_stays_with_its_attempt() -> None:
    one = arrival(0, "a", 10)
    expects = changed(one.job, left_ms=9000, expected_ms=300, extension_ms=400)
    going = Simulation(snapshot(size=1, now_ms=0), schedule, arrivals=[replace(one, job=expects)])
    going.run(until_ms=0)
    assert [
        (each.terms.standing.expected_ms, each.terms.standing.extension_ms) for each in going.allocations.values()
    ] == [(300, 400)]


def test_a_job_may_be_known_only_when_it_arrives() -> None:
    seen: list[int] = []

    def admit(arrival: Arrival) -> WaitingJob:
        seen.append(going.now_ms)
        return replace(arrival.job, demand={P5: 2})

    going = Simulation(snapshot(size=9, now_ms=0), schedule, arrivals=[arrival(7, "a", 10)], admit=admit)
    going.run(until_ms=7)
    assert seen == [7]
    assert [each.demand for each in going.allocations.values()] == [{P5: 2}]


def test_nothing_happens_at_a_level_that_an_attempt_does_not_reach() -> None:
    brief = arrival(0, "a", 1000)
    going = Simulation(
        snapshot(size=1, now_ms=0),
        first_come,
        arrivals=[replace(brief, job=changed(brief.job, attained_ms=0, max_handicap_ms=1 << 60))],
    )
    going.run()
    assert going.now_ms == 1000


def test_kept_instances_have_no_service() -> None:
    kept = keeping(0, "a", 10)
    going = Simulation(
        snapshot(size=1, now_ms=0), schedule, arrivals=[replace(kept, job=changed(kept.job, attained_ms=0))]
    )
    going.run(until_ms=10)
    assert [(each.warm, each.terms.standing.attained_ms) for each in going.allocations.values()] == [("k", None)]


jobs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 40), st.integers(1, 4), st.integers(0, 3), st.booleans()), max_size=12
)


@given(jobs, st.integers(0, 7))
def test_with_the_real_scheduler_every_job_that_fits_completes_and_no_pool_is_exceeded(
    rows: list[tuple[int, int, int, int, bool]], stop_ms: int
) -> None:
    arrivals = [
        Arrival(
            time_ms=at,
            job=changed(job(f"j{i:02d}", priority, entered=at, count=count), checkpoints=checkpoints),
            run_ms=run,
        )
        for i, (at, run, count, priority, checkpoints) in enumerate(rows)
    ]
    events: list[Event] = []
    going = Simulation(
        snapshot(size=4, now_ms=0),
        schedule,
        delays=Delays(stop_ms=stop_ms),
        arrivals=arrivals,
        record=events.append,
    )
    going.run()
    completed = sorted(event.job for event in events if event.kind is EventKind.COMPLETED)
    assert completed == sorted(arrival.job.name for arrival in arrivals)
    used = 0
    for event in events:
        if event.kind is EventKind.STARTED:
            used += event.demand[P5]
        elif event.kind in _ENDS:
            used -= event.demand[P5]
        assert 0 <= used <= 4
    assert [event.time_ms for event in events] == sorted(event.time_ms for event in events)


# ------------------------------------------------------------------------------------------------------ warm pools
def keeping(at: int, name: str, run: int, key: str = "k", keep: int = 100) -> Arrival:
    return Arrival(time_ms=at, job=job(name, entered=at, warm_key=key, keep_ms=keep), run_ms=run)


def warm_course(*arrivals: Arrival, stop_ms: int = 0, cold_start_ms: int = 0, warm_start_ms: int = 0) -> list[Event]:
    events: list[Event] = []
    Simulation(
        snapshot(size=1, now_ms=0),
        schedule,
        delays=Delays(stop_ms=stop_ms, cold_start_ms=cold_start_ms, warm_start_ms=warm_start_ms),
        arrivals=arrivals,
        record=events.append,
    ).run()
    return events


def test_the_instances_of_a_job_are_kept_until_a_matching_job_starts_in_them() -> None:
    events = warm_course(keeping(0, "a", 10), keeping(15, "b", 5, keep=0))
    assert told(events)[2:] == [
        (10, "completed", "a"),
        (10, "kept warm", "a"),
        (15, "arrived", "b"),
        (15, "kept no longer", "a"),
        (15, "started", "b"),
        (20, "completed", "b"),
    ]
    assert [event.warm for event in events if event.kind is EventKind.STARTED] == ["", "a-1"]


def test_the_instances_of_a_job_are_kept_no_longer_than_it_asked_for() -> None:
    assert told(warm_course(keeping(0, "a", 10)))[-1] == (110, "kept no longer", "a")


def test_kept_instances_are_released_for_another_job_which_starts_when_that_is_done() -> None:
    events = warm_course(keeping(0, "a", 10), arrival(20, "b", 5), stop_ms=7)
    assert told(events)[-3:] == [(27, "kept no longer", "a"), (27, "started", "b"), (32, "completed", "b")]


def test_a_start_in_a_warm_pool_takes_less_time_than_another_one() -> None:
    events = warm_course(keeping(0, "a", 10), keeping(40, "b", 10), cold_start_ms=20, warm_start_ms=3)
    ends = [(event.time_ms, event.job) for event in events if event.kind is EventKind.COMPLETED]
    assert ends == [(30, "a"), (53, "b")]


def test_the_time_of_a_start_counts_toward_the_limit_of_a_job() -> None:
    late = replace(keeping(0, "a", 900), job=job("a", limit_s=1, warm_key="k"))
    events = warm_course(late, cold_start_ms=200)
    assert told(events)[-1] == (1000, "ended at its limit", "a")


def test_the_time_of_a_start_is_lost_by_a_preemption() -> None:
    first = Arrival(time_ms=0, job=changed(job("low", 0), checkpoints=True), run_ms=1000)
    policy = Policy(checkpoint_interval_ms=100)
    events: list[Event] = []
    high = Arrival(time_ms=350, job=job("high", 5), run_ms=10)
    start = replace(snapshot(size=1, now_ms=0), policy=policy)
    Simulation(start, schedule, arrivals=[first, high], delays=Delays(cold_start_ms=100), record=events.append).run()
    (yielded,) = [event for event in events if event.kind is EventKind.PREEMPTED_ENDED]
    assert yielded.lost_ms == 150
    assert told(events)[-1] == (350 + 110 + 100 + 800, "completed", "low")


def test_warm_pools_of_the_snapshot_end_by_their_time_or_when_they_are_released() -> None:
    events: list[Event] = []
    state = snapshot(warm("a", ends_in_s=60), warm("b", released=True), size=2)
    Simulation(state, schedule, delays=Delays(stop_ms=5), record=events.append).run()
    assert told(events) == [(NOW_MS + 5, "kept no longer", "b"), (NOW_MS + 60_000, "kept no longer", "a")]


def test_the_instances_of_a_preempted_attempt_are_not_kept() -> None:
    events = warm_course(keeping(0, "a", 50), Arrival(time_ms=10, job=job("high", 5), run_ms=10), stop_ms=3)
    assert [event.job for event in events if event.kind is EventKind.KEPT] == ["a"]
    assert told(events)[-1] == (13 + 10 + 50 + 100, "kept no longer", "a")
