"""Transitions of a job: their writes, and the conditions of these."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.refusals import retry_ms
from headway_service.ports.table import Absent, AllOf, AtLeast, Check, Delete, Equals, Put, Update
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.records.capacity.attempt import GivenUpRecord
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.job import JobRecord, request_item
from headway_service.store.records.listed_job import Usage
from headway_service.store.transitions.job import GIVEN_UP_KEPT_S
from tests.service.store.builders import (
    FAILED,
    LAUNCHING,
    NOTED_FAILED,
    NOW_MS,
    REASON,
    SEEN,
    WAITS,
    WAS,
    attempt,
    end,
    job,
    records,
    rogue,
)
from tests.service.world import P5

SPOT = P5 + ".spot"


def test_a_requeued_job_has_no_attempt_and_holds_nothing() -> None:
    before = job(held_by="its last attempt failed (service)")
    writes = transitions.defer_launch(
        before, attempt(LAUNCHING), REASON, NOW_MS, failed=FAILED, name_is_free=True, machine_ms=NOW_MS
    )
    moved = JobRecord.parse(records(writes)[0].item)
    assert (moved.live_attempt, moved.held_by, moved.not_before_ms, moved.attempt_count) == (None, "", 0, 0)
    assert moved.failed == NOTED_FAILED
    assert moved.waiting().not_before_ms == retry_ms(FAILED)


@pytest.mark.parametrize(
    ("retrial", "changes"),
    [
        (transitions.RetryPlan(not_before_ms=9), {"not_before_ms": 9}),
        (
            transitions.RetryPlan(on_demand=True),
            {"not_before_ms": 0, "on_demand": True, "limit_ms": 4, "beside_s": None, "demand": {P5: 1}},
        ),
        (transitions.RetryPlan(priority=2), {"not_before_ms": 0, "priority": 2, "requeues": 2}),
        (transitions.RetryPlan(priority=9), {"not_before_ms": 0, "priority": 3, "requeues": 2}),
    ],
    ids=["later", "on demand", "with a lower priority", "with a priority that it does not reach"],
)
def test_a_job_continues_according_to_its_retry(retrial: transitions.RetryPlan, changes: dict[str, Any]) -> None:
    assert retrial.changes(job(requeues=1, on_demand_limit_ms=4, limit_ms=8)) == changes


def test_the_queue_of_a_released_jobs_team_is_still_read() -> None:
    kept = TeamRecord(team="red", left_ms=NOW_MS).put(requires=Absent())
    held = job(WAITS, held=True)
    assert (
        kept in transitions.release(held.model_copy(update={"team": "red"}), None, REASON, NOW_MS, machine_ms=NOW_MS)[1]
    )
    teams = [
        each for each in transitions.release(held, None, REASON, NOW_MS, machine_ms=NOW_MS)[1] if isinstance(each, Put)
    ]
    assert {each.item["sk"] for each in teams} == {"job", held.rank()}, "without a team there is none to keep"


def test_an_adopted_attempt_is_not_yet_in_the_ledger() -> None:
    live = attempt(version=1)
    writes = transitions.adopt(job(WAITS), live, rogue(), None, REASON, NOW_MS, limited=None)
    assert Put(item=live.put().item, requires=Absent()) in writes


def test_a_record_of_an_abandoned_launch_outlives_any_training_job() -> None:
    (given_up,) = (each for each in end(vanished=True) if isinstance(each, Put) and each.item["sk"] == "given up")
    record = GivenUpRecord.parse(given_up.item)
    assert (record.given_up_ms, record.expires_at) == (NOW_MS, NOW_MS // 1000 + GIVEN_UP_KEPT_S)


def test_a_job_is_accepted_once_with_its_request_and_its_queue_entries() -> None:
    new = job(WAITS)
    assert transitions.enqueue(new, "{}") == [
        Put(item=new.put().item, requires=Absent()),
        Put(item=request_item("a", "{}")),
        *(entry.put() for entry in new.queue_entries()),
    ]


@pytest.mark.parametrize("limited", [None, TeamRecord(team="red", starts=4)], ids=["no limit", "a team with a limit"])
@pytest.mark.parametrize("reserved", [0, 1])
def test_a_start_takes_unreserved_instances_and_is_conditional_on_its_inputs(
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
        *(Delete(key=key) for key in before.queue_keys()),
        *count,
        *(Check(key=PauseRecord.key(pool), requires=Absent()) for pool in (P5, PauseRecord.EVERYTHING)),
    ]


G5 = "ml.g5.xlarge"
COUNTED = AllOf((AtLeast("free", 1), Equals("pauses", 7)))
CHECKED = {pool: Check(key=PauseRecord.key(pool), requires=Absent()) for pool in (P5, G5, PauseRecord.EVERYTHING)}


@pytest.mark.parametrize(
    ("pauses", "taken", "checks"),
    [
        (None, AtLeast("free", 1), [P5, G5, PauseRecord.EVERYTHING]),
        ({G5: 7}, AtLeast("free", 1), [P5, PauseRecord.EVERYTHING]),
        ({P5: 7}, COUNTED, [G5, PauseRecord.EVERYTHING]),
        ({P5: 7, G5: 3}, COUNTED, []),
    ],
    ids=["nothing is counted", "only those of the other pool", "only those of this pool", "those of both"],
)
def test_a_start_checks_for_pauses_where_their_number_is_no_condition_of_it(
    pauses: dict[str, int] | None, taken: AtLeast | AllOf, checks: list[str]
) -> None:
    demand = {P5: 1, G5: 1}
    before, live = job(WAITS, demand=demand), attempt(LAUNCHING, demand=demand, version=1)
    writes = transitions.start(before, live, None, REASON, NOW_MS, pauses=pauses)
    assert Update(key=PoolRecord.key(P5), adds={"free": -1}, requires=taken) in writes
    assert [each for each in writes if isinstance(each, Check)] == [CHECKED[pool] for pool in sorted(checks[:-1])] + (
        [CHECKED[PauseRecord.EVERYTHING]] if checks else []
    )


def test_a_start_in_a_warm_pool_takes_no_instances_and_checks_for_pauses() -> None:
    before, live = job(WAITS, demand={P5: 1}), attempt(LAUNCHING, demand={P5: 1}, version=1)
    warm = WarmPoolRecord(attempt_name="w", job_name="w", demand={P5: 1}, since_ms=0, keep_s=60, warm_key="k")
    writes = transitions.start(before, live, None, REASON, NOW_MS, warm=warm, pauses={P5: 7})
    assert [each for each in writes if isinstance(each, Check)] == [CHECKED[P5], CHECKED[PauseRecord.EVERYTHING]]


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
        machine_ms=NOW_MS,
        expires_at=1,
        retry=None,
        vanished=False,
    )
    (ended,) = (JobRecord.parse(each.item) for each in records(writes))
    assert (ended.interruptions, ended.ended_ms, ended.expires_at) == (count, NOW_MS, 1)


def test_a_requeued_job_has_not_ended() -> None:
    writes = transitions.end(
        job(JobState.STOPPING),
        attempt(AttemptState.STOPPING),
        JobTrigger.PREEMPTED_ENDED,
        REASON,
        sighting=SEEN,
        preemptor=None,
        reservation=None,
        now_ms=NOW_MS,
        machine_ms=NOW_MS,
        expires_at=1,
        retry=None,
        vanished=False,
    )
    (back,) = (JobRecord.parse(each.item) for each in records(writes))
    assert (back.ended_ms, back.expires_at, back.preemption_count) == (None, None, 1)


@pytest.mark.parametrize(
    ("billable_s", "added"),
    [(2000, {"lost_billed_ms": {SPOT: 401_000}}), (None, {"lost_unbilled_ms": {SPOT: 1_001_000}})],
    ids=["billed", "not known"],
)
def test_a_preempted_job_adds_up_what_its_attempts_have_lost_by_what_is_billed_for_it(
    billable_s: int | None, added: dict[str, Any]
) -> None:
    known = Usage(lost_ms=1, lost_billed_ms={SPOT: 1000}, lost_unbilled_ms={SPOT: 1000})
    writes = transitions.end(
        job(JobState.STOPPING, usage=known, on_demand_limit_ms=1),
        attempt(AttemptState.STOPPING),
        JobTrigger.PREEMPTED_ENDED,
        REASON,
        sighting=replace(SEEN, billable_s=billable_s, trained_ms=4_500_999),
        preemptor=None,
        reservation=None,
        now_ms=NOW_MS,
        machine_ms=NOW_MS,
        expires_at=1,
        retry=None,
        vanished=False,
        lost_ms=1_000_000,
    )
    (back,) = (JobRecord.parse(each.item) for each in records(writes))
    lost = {"lost_billed_ms": {SPOT: 1000}, "lost_unbilled_ms": {SPOT: 1000}, **added}
    assert back.usage.lost_ms == 1_000_001
    assert back.usage.model_dump(include={*lost}) == lost
    assert back.attempts[-1].trained_s == 4500
    assert back.usage.saved_ms == ({} if billable_s is None else {SPOT: 2_500_000})


def test_a_training_job_that_is_adopted_is_charged_once() -> None:
    before, live, known = job(WAITS), attempt(version=1), rogue()
    reservation = ReservationRecord(job_name="a", demand={P5: 1}, version=WAS)
    team = TeamRecord(team="red", starts=4)
    assert transitions.adopt(before, live, known, reservation, REASON, NOW_MS, limited=team)[1:] == [
        Put(item=live.put().item, requires=Absent()),
        known.delete(),
        Update(key=PoolRecord.key(P5), adds={"free": 1}, requires=AtLeast("free", -1)),
        reservation.delete(),
        *(Delete(key=key) for key in before.queue_keys()),
        Update(key=TeamRecord.key("red"), adds={"starts": 1}, requires=Equals("starts", 4)),
    ]


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


def test_an_attempt_with_an_observed_end_is_not_an_abandoned_launch() -> None:
    assert not [each for each in end() if isinstance(each, Put) and each.item["sk"] == "given up"]


@pytest.mark.parametrize(("ended_ms", "ran_ms"), [(NOW_MS, 0), (NOW_MS - 1, 0), (NOW_MS + 2, 2)])
def test_an_attempt_has_held_its_instances_since_it_started(ended_ms: int, ran_ms: int) -> None:
    writes = end(since_ms=NOW_MS, now_ms=ended_ms)
    (ended,) = (JobRecord.parse(each.item) for each in records(writes))
    assert ended.usage.instance_ms == {P5: ran_ms}


def test_a_pool_gets_back_only_instances_recorded_in_the_ledger() -> None:
    assert Update(key=PoolRecord.key(P5), adds={"free": 1}, requires=Equals("pool", P5)) in end()


def test_a_started_job_has_no_delay() -> None:
    before = job(WAITS, not_before_ms=9, held_by="its last attempt failed (service)")
    writes = transitions.start(before, attempt(LAUNCHING, version=1), None, REASON, NOW_MS)
    started = JobRecord.parse(records(writes)[0].item)
    assert (started.not_before_ms, started.held_by, started.live_attempt, started.attempt_count) == (0, "", "a", 1)
    assert started.history[-1].attempt_name == "a"
