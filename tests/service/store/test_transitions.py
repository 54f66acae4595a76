"""The writes of each change of state by themselves: what they are conditional on, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.model import WaitingJob
from headway.reasons import Reason, ReasonCode
from headway_service.ports.table import Absent, AllEqual, AtLeast, Check, Delete, Equals, Put, Update, Write
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.attempt import NOBODY, AttemptRecord, GivenUpRecord, StopCause
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import MAX_HISTORY, JobRecord, Step, request_item
from headway_service.store.records.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.unmanaged_job import UnmanagedJobRecord
from headway_service.store.transitions.job import GIVEN_UP_KEPT_S
from tests.service.world import P5

WAS, NOW_MS = 7, 5_000_000
REASON = Reason(code=ReasonCode.STARTED, message="so it is")
NOTED = ReasonRecord.of(REASON)
SEEN = TrainingJobStatus(attempt="a", status="InProgress", secondary_status="Training", modified_ms=1)
TELLS = PolicyAction(reason=REASON, watch="idle")
STOPS = PolicyAction(reason=REASON, cause=StopCause.REQUEUE, ends="x")


def job(state: JobState = JobState.RUNNING, **changes: Any) -> JobRecord:
    known = {"job_state": state, "priority": 3, "entry_time": 0, "demand": {P5: 1}, "request_digest": "x"}
    live = {} if state is JobState.PENDING else {"live_attempt": "a", "attempt_count": 1}
    reason = ReasonRecord.of(REASON)
    return JobRecord.model_validate({"job_name": "a", "reason": reason, "version": WAS, **known, **live, **changes})


def attempt(state: AttemptState = AttemptState.LIVE, **changes: Any) -> AttemptRecord:
    known = {"job_name": "a", "number": 1, "attempt_state": state, "mark": "m", "demand": {P5: 1}, "priority": 3}
    times = {"since_ms": 0, "lease_holder": "x", "lease_until_ms": 1, "seen_ms": 0, "version": WAS}
    return AttemptRecord.model_validate({"attempt_name": "a", **known, **times, **changes})


def rogue(**changes: Any) -> UnmanagedJobRecord:
    known = {"training_job_name": "r", "arn": "arn", "created_ms": 0, "training_job_status": "InProgress"}
    more = {"demand": {P5: 1}, "charged": {P5: 1}, "limit_ms": 1, "since_ms": 0, "seen_ms": 0, "config_version": 1}
    reason = ReasonRecord.of(REASON)
    return UnmanagedJobRecord.model_validate({**known, **more, "reason": reason, "version": WAS, **changes})


def waiting(name: str) -> WaitingJob:
    return job(JobState.PENDING, job_name=name).waiting()


WAITS, LIVE = JobState.PENDING, AttemptState.LIVE
LAUNCHING = AttemptState.LAUNCHING
HELD = {"held": True}

CHANGES: dict[str, Callable[[], Sequence[Write]]] = {
    "start": lambda: transitions.start(job(WAITS), attempt(LAUNCHING), None, REASON, NOW_MS)[:1],
    "take lease": lambda: transitions.take_lease(attempt(LAUNCHING), "me", 9)[1],
    "return lease": lambda: transitions.return_lease(attempt(LAUNCHING), 9),
    "confirm": lambda: transitions.confirm(attempt(LAUNCHING), NOW_MS)[1],
    "postpone": lambda: transitions.defer_launch(job(), attempt(LAUNCHING), REASON, 1, NOW_MS, name_is_free=True),
    "preempt": lambda: transitions.preempt(job(), attempt(), waiting("b"), {}, REASON, NOW_MS)[1],
    "hold": lambda: transitions.hold(job(WAITS), None, REASON, NOW_MS)[1],
    "release": lambda: transitions.release(job(WAITS, **HELD), None, REASON, NOW_MS)[1],
    "stop waiting": lambda: transitions.stop_waiting(job(WAITS), None, REASON, NOW_MS, 1),
    "stop holding": lambda: transitions.stop_holding(job(), attempt(), REASON, NOW_MS),
    "stop sent": lambda: transitions.stop_sent(attempt(), NOW_MS),
    "sighted": lambda: transitions.record_status(attempt(), SEEN, NOW_MS, ruled=True, action=None, job=None),
    "still": lambda: transitions.touch(attempt(), NOW_MS),
    "miss": lambda: transitions.note_missing(attempt(), NOW_MS),
    "a measure that tells": lambda: transitions.apply_policy_action(job(), attempt(), TELLS, NOW_MS),
    "a measure that stops": lambda: transitions.apply_policy_action(job(), attempt(), STOPS, NOW_MS),
    "change priority while it waits": lambda: transitions.change_priority(job(WAITS), None, 5, REASON, NOW_MS)[1],
    "change priority while it runs": lambda: transitions.change_priority(job(), attempt(), 5, REASON, NOW_MS)[1],
    "change rogue": lambda: transitions.update_unmanaged(rogue(), stop=True)[1],
    "reserve more": lambda: end(preemptor=job(WAITS, job_name="b"), reserved=1),
}
"""By what happens."""


def end(
    *,
    preemptor: JobRecord | None = None,
    reserved: int = 0,
    vanished: bool = False,
    sighting: TrainingJobStatus | None = SEEN,
    since_ms: int = 0,
    now_ms: int = NOW_MS,
) -> list[Write]:
    """An attempt ends that was stopped for the preemptor, if there is one."""
    cause: dict[str, Any] = (
        {"stop_cause": StopCause.PREEMPTION, "freed_for": "b", "freed": {P5: 1}} if preemptor else {}
    )
    return transitions.end(
        job(),
        attempt(since_ms=since_ms, **cause),
        JobTrigger.COMPLETE,
        REASON,
        sighting=sighting,
        preemptor=preemptor,
        reservation=ReservationRecord(job_name="b", demand={P5: reserved}, version=WAS) if reserved else None,
        now_ms=now_ms,
        expires_at=1,
        retry=None,
        vanished=vanished,
    )


def records(writes: Sequence[Write]) -> list[Put]:
    """Those that store a record of which versions are counted."""
    return [write for write in writes if isinstance(write, Put) and "version" in write.item]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_stored_is_the_next_version_of_what_was_read_and_conditional_on_that(
    change: Callable[[], Sequence[Write]],
) -> None:
    stored = records(change())
    assert stored
    assert [(each.item["version"], each.requires) for each in stored] == [(WAS + 1, Equals("version", WAS))] * len(
        stored
    )


@pytest.mark.parametrize(
    "change",
    ["postpone", "preempt", "stop holding", "a measure that tells", "a measure that stops", "reserve more"],
)
def test_a_step_of_a_job_that_has_an_attempt_names_that(change: str) -> None:
    (moved,) = (JobRecord.parse(each.item) for each in records(CHANGES[change]()) if each.item["sk"] == "job")
    assert moved.history[-1].attempt_name == "a"


def test_a_lease_says_who_has_it_until_when() -> None:
    taken, _ = transitions.take_lease(attempt(LAUNCHING), "me", 9)
    assert (taken.lease_holder, taken.lease_until_ms, taken.unanswered_ms) == ("me", 9, 1)
    (put,) = records(transitions.return_lease(taken, 12))
    returned = AttemptRecord.parse(put.item)
    assert (returned.lease_holder, returned.lease_until_ms, returned.unanswered_ms) == (NOBODY, 12, 1)


def test_a_job_that_goes_back_has_no_attempt_and_is_held_by_nothing() -> None:
    before = job(held_by="its last attempt failed (service)")
    writes = transitions.defer_launch(before, attempt(LAUNCHING), REASON, 9, NOW_MS, name_is_free=True)
    moved = JobRecord.parse(records(writes)[0].item)
    assert (moved.live_attempt, moved.held_by, moved.not_before_ms, moved.attempt_count) == (None, "", 9, 0)


@pytest.mark.parametrize(("since_ms", "kept_ms"), [(None, NOW_MS), (3, 3)], ids=["it ran", "it was to stop already"])
def test_an_attempt_stops_since_it_was_first_decided(since_ms: int | None, kept_ms: int) -> None:
    stopping, _ = transitions.preempt(job(), attempt(stopping_since_ms=since_ms), waiting("b"), {}, REASON, NOW_MS)
    assert stopping.stopping_since_ms == kept_ms


def test_what_is_heard_again_is_noted_and_ends_that_it_is_missing() -> None:
    (put,) = records(transitions.touch(attempt(missing_since_ms=3), NOW_MS))
    noted = AttemptRecord.parse(put.item)
    assert (noted.seen_ms, noted.missing_since_ms) == (NOW_MS, None)


@pytest.mark.parametrize(("watch", "told"), [("idle", ("before", "idle")), ("", ("before",))])
def test_only_a_watch_is_noted_as_told(watch: str, told: tuple[str, ...]) -> None:
    action = PolicyAction(reason=REASON, watch=watch)
    _, put = records(transitions.apply_policy_action(job(), attempt(told=("before",)), action, NOW_MS))
    assert AttemptRecord.parse(put.item).told == told


@pytest.mark.parametrize(
    ("retrial", "changes"),
    [
        (transitions.RetryPlan(not_before_ms=9), {"not_before_ms": 9}),
        (transitions.RetryPlan(on_demand=True), {"not_before_ms": 0, "on_demand": True, "limit_ms": 4}),
        (transitions.RetryPlan(priority=2), {"not_before_ms": 0, "priority": 2, "requeues": 2}),
        (transitions.RetryPlan(priority=9), {"not_before_ms": 0, "priority": 3, "requeues": 2}),
    ],
    ids=["later", "on demand", "with a lower priority", "with a priority that it does not reach"],
)
def test_a_job_goes_on_as_its_retrial_says(retrial: transitions.RetryPlan, changes: dict[str, Any]) -> None:
    assert retrial.changes(job(requeues=1, on_demand_limit_ms=4, limit_ms=8)) == changes


def test_a_job_that_is_released_keeps_the_lines_of_its_team_read() -> None:
    kept = TeamRecord(team="red", left_ms=NOW_MS).put(requires=Absent())
    held = job(WAITS, held=True)
    assert kept in transitions.release(held.model_copy(update={"team": "red"}), None, REASON, NOW_MS)[1]
    teams = [each for each in transitions.release(held, None, REASON, NOW_MS)[1] if isinstance(each, Put)]
    assert {each.item["sk"] for each in teams} == {"job", held.rank()}, "without a team there is none to keep"


def test_a_stop_that_an_operator_wants_is_tried_at_once() -> None:
    asked, _ = transitions.request_stop(rogue(stop_sent_ms=4, stop_problem="denied"), "user/ada")
    assert (asked.stop, asked.stop_asked_by, asked.stop_sent_ms, asked.stop_problem) == (True, "user/ada", None, "")


def test_an_attempt_that_is_adopted_is_none_of_the_ledger_yet() -> None:
    live = attempt(version=1)
    writes = transitions.adopt(job(WAITS), live, rogue(), None, REASON, NOW_MS, limited=None)
    assert Put(item=live.put().item, requires=Absent()) in writes


def test_a_pool_changes_only_as_it_was_read() -> None:
    pool = PoolRecord(pool=P5, size=4, free=1)
    key = PoolRecord.key(P5)
    assert transitions.resize_pool(pool, 6) == [
        Update(key=key, sets={"size": 6}, adds={"free": 2}, requires=Equals("size", 4))
    ]
    (backs_off,) = transitions.back_off(pool)
    assert isinstance(backs_off, Update)
    assert backs_off.requires == Equals("pool", P5)


@pytest.mark.parametrize("stays", [False, True], ids=["nobody had paused everything", "somebody had"])
def test_a_restore_ends_once_and_a_pause_from_before_goes_on(stays: bool) -> None:
    pause = PauseRecord(pool="*", by="x", reason="x", since_ms=3, restored_ms=2, stays=stays)
    (write,) = transitions.end_restore(pause)
    assert not isinstance(write, Update)
    assert write.requires == AllEqual((("restoredMs", 2), ("sinceMs", 3)))
    if stays:
        assert isinstance(write, Put)
        assert (PauseRecord.parse(write.item).restored_ms, PauseRecord.parse(write.item).stays) == (None, False)
    else:
        assert isinstance(write, Delete)


def test_a_launch_that_was_given_up_is_kept_for_longer_than_a_training_job_may_take() -> None:
    (given_up,) = (each for each in end(vanished=True) if isinstance(each, Put) and each.item["sk"] == "given up")
    record = GivenUpRecord.parse(given_up.item)
    assert (record.given_up_ms, record.expires_at) == (NOW_MS, NOW_MS // 1000 + GIVEN_UP_KEPT_S)


def test_a_job_is_accepted_once_with_its_request_and_its_entries_in_line() -> None:
    new = job(WAITS)
    assert transitions.enqueue(new, "{}") == [
        Put(item=new.put().item, requires=Absent()),
        Put(item=request_item("a", "{}")),
        *(entry.put() for entry in new.line_entries()),
    ]


@pytest.mark.parametrize("limited", [None, TeamRecord(team="red", starts=4)], ids=["no limit", "a team with a limit"])
@pytest.mark.parametrize("reserved", [0, 1])
def test_a_start_takes_what_is_not_reserved_and_is_conditional_on_all_it_was_decided_by(
    limited: TeamRecord | None, reserved: int
) -> None:
    before, live = job(WAITS, demand={P5: 3}), attempt(LAUNCHING, demand={P5: 3}, version=1)
    reservation = ReservationRecord(job_name="a", demand={P5: reserved}, version=WAS) if reserved else None
    team = TeamRecord.key("red")
    count = [Update(key=team, adds={"starts": 1}, requires=Equals("starts", 4))] if limited else []
    writes = transitions.start(before, live, reservation, REASON, NOW_MS, limited=limited)
    assert records(writes[:1])[0].requires == Equals("version", WAS)
    assert writes[1:] == [
        Put(item=live.put().item, requires=Absent()),
        Update(key=PoolRecord.key(P5), adds={"free": reserved - 3}, requires=AtLeast("free", 3 - reserved)),
        *([reservation.delete()] if reservation else []),
        *(Delete(key=key) for key in before.line_keys()),
        *count,
        *(Check(key=PauseRecord.key(pool), requires=Absent()) for pool in (P5, PauseRecord.EVERYTHING)),
    ]


def test_only_what_was_accepted_a_moment_ago_is_taken_to_start() -> None:
    known, _ = transitions.confirm(attempt(LAUNCHING, unanswered_ms=1), NOW_MS)
    assert (known.training_job_status, known.seen_ms, known.unanswered_ms) == (None, NOW_MS, None)
    created, _ = transitions.confirm(attempt(LAUNCHING), NOW_MS, created=True)
    assert (created.training_job_status, created.secondary_status) == ("InProgress", "Starting")


@pytest.mark.parametrize(("seen", "count"), [(None, 5), (1, 5), (4, 7)], ids=["never launched", "older", "newer"])
def test_a_job_counts_the_interruptions_of_its_ended_attempts(seen: int | None, count: int) -> None:
    writes = transitions.end(
        job(interruptions=3),
        attempt(interruptions=2),
        JobTrigger.FAIL,
        REASON,
        sighting=None if seen is None else replace(SEEN, interruptions=seen),
        preemptor=None,
        reservation=None,
        now_ms=NOW_MS,
        expires_at=1,
        retry=None,
        vanished=False,
    )
    (ended,) = (JobRecord.parse(each.item) for each in records(writes))
    assert (ended.interruptions, ended.ended_ms, ended.expires_at) == (count, NOW_MS, 1)


def test_a_job_that_goes_back_into_its_line_has_not_ended() -> None:
    writes = transitions.end(
        job(JobState.STOPPING),
        attempt(AttemptState.STOPPING),
        JobTrigger.PREEMPTED_ENDED,
        REASON,
        sighting=SEEN,
        preemptor=None,
        reservation=None,
        now_ms=NOW_MS,
        expires_at=1,
        retry=None,
        vanished=False,
    )
    (back,) = (JobRecord.parse(each.item) for each in records(writes))
    assert (back.ended_ms, back.expires_at, back.preemption_count) == (None, None, 1)


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (transitions.add_team("red", None), TeamRecord(team="red").put(requires=Absent())),
        (
            transitions.add_team("red", TeamRecord(team="red", left_ms=9, starts=2)),
            TeamRecord(team="red", starts=2).put(requires=Equals("starts", 2)),
        ),
        (
            transitions.take_out_team(TeamRecord(team="red", starts=2), 9),
            TeamRecord(team="red", left_ms=9, starts=2).put(requires=Equals("starts", 2)),
        ),
        (
            transitions.remove_team(TeamRecord(team="red", left_ms=9)),
            Delete(key=TeamRecord.key("red"), requires=Equals("leftMs", 9)),
        ),
    ],
    ids=["it is new", "it comes back", "it leaves", "it is forgotten"],
)
def test_a_team_comes_and_goes_only_as_it_was_read(writes: list[Write], expected: Write) -> None:
    assert writes == [expected]


def test_a_training_job_that_is_adopted_is_charged_once() -> None:
    before, live, known = job(WAITS), attempt(version=1), rogue()
    reservation = ReservationRecord(job_name="a", demand={P5: 1}, version=WAS)
    team = TeamRecord(team="red", starts=4)
    assert transitions.adopt(before, live, known, reservation, REASON, NOW_MS, limited=team)[1:] == [
        Put(item=live.put().item, requires=Absent()),
        known.delete(),
        Update(key=PoolRecord.key(P5), adds={"free": 1}, requires=AtLeast("free", -1)),
        reservation.delete(),
        *(Delete(key=key) for key in before.line_keys()),
        Update(key=TeamRecord.key("red"), adds={"starts": 1}, requires=Equals("starts", 4)),
    ]


def test_a_sighting_is_noted_whole() -> None:
    seen = replace(SEEN, interruptions=4, training_since_ms=2)
    before = attempt(interruptions=3, missing_since_ms=3)
    (put,) = records(transitions.record_status(before, seen, NOW_MS, ruled=True, action=None, job=None))
    assert AttemptRecord.parse(put.item) == before.model_copy(
        update={
            "training_job_status": "InProgress",
            "secondary_status": "Training",
            "training_since_ms": 2,
            "interruptions": 4,
            "modified_ms": 1,
            "seen_ms": NOW_MS,
            "missing_since_ms": None,
            "ruled": True,
            "version": WAS + 1,
        }
    )


def test_an_older_sighting_takes_no_interruption_back() -> None:
    (put,) = records(
        transitions.record_status(attempt(interruptions=5), SEEN, NOW_MS, ruled=False, action=None, job=None)
    )
    assert AttemptRecord.parse(put.item).interruptions == 5


@pytest.mark.parametrize(
    ("sighting", "statuses"), [(SEEN, ("InProgress", "Training")), (None, (None, None))], ids=["launched", "never"]
)
def test_an_ended_attempt_keeps_its_last_status(
    sighting: TrainingJobStatus | None, statuses: tuple[str | None, ...]
) -> None:
    (ended,) = (JobRecord.parse(each.item) for each in records(end(sighting=sighting)))
    (kept,) = ended.attempts
    assert (kept.training_job_status, kept.secondary_status) == statuses


def test_an_attempt_that_was_never_launched_counts_no_interruption() -> None:
    (ended,) = (JobRecord.parse(each.item) for each in records(end(sighting=None)))
    assert ended.interruptions == 0


def test_an_attempt_that_ended_where_everybody_saw_it_is_no_launch_that_was_given_up() -> None:
    assert not [each for each in end() if isinstance(each, Put) and each.item["sk"] == "given up"]


@pytest.mark.parametrize(("ended_ms", "ran_ms"), [(NOW_MS, 0), (NOW_MS - 1, 0), (NOW_MS + 2, 2)])
def test_an_attempt_has_held_its_instances_since_it_started(ended_ms: int, ran_ms: int) -> None:
    writes = end(since_ms=NOW_MS, now_ms=ended_ms)
    (ended,) = (JobRecord.parse(each.item) for each in records(writes))
    assert ended.usage.instance_ms == {P5: ran_ms}


def test_a_pool_gets_back_only_what_the_ledger_knows() -> None:
    assert Update(key=PoolRecord.key(P5), adds={"free": 1}, requires=Equals("pool", P5)) in end()


def test_a_pool_appears_once() -> None:
    new = PoolRecord(pool=P5, size=4, free=4).put().item
    assert transitions.add_pool(P5, 4) == [Put(item=new, requires=Absent())]


def test_a_started_job_is_held_back_by_nothing() -> None:
    before = job(WAITS, not_before_ms=9, held_by="its last attempt failed (service)")
    writes = transitions.start(before, attempt(LAUNCHING, version=1), None, REASON, NOW_MS)
    started = JobRecord.parse(records(writes)[0].item)
    assert (started.not_before_ms, started.held_by, started.live_attempt, started.attempt_count) == (0, "", "a", 1)
    assert started.history[-1].attempt_name == "a"


@pytest.mark.parametrize("steps", [MAX_HISTORY - 2, MAX_HISTORY - 1, MAX_HISTORY, MAX_HISTORY + 1])
def test_a_history_keeps_its_first_and_its_last_steps(steps: int) -> None:
    before = job(history=tuple(Step(time_ms=time_ms, job_state=WAITS, reason=NOTED) for time_ms in range(steps)))
    moved = JobRecord.parse(records(transitions.stop_holding(before, attempt(), REASON, NOW_MS))[0].item)
    times_ms = [*range(steps), NOW_MS]
    kept_ms = times_ms if len(times_ms) <= MAX_HISTORY else [0, *times_ms[-(MAX_HISTORY - 1) :]]
    assert [step.time_ms for step in moved.history] == kept_ms
