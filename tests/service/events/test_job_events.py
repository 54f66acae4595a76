"""The contents of an event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.lifecycle import JobState
from headway.reasons import MAX_MESSAGE_CHARS, ReasonCode
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.streamed_table import StreamedTable
from headway_service.events.job_events import JobChange, JobEvent, RogueJobChange, job_event, rogue_job_event
from headway_service.events.publisher import MAX_SENT, event_of
from headway_service.ports.table import Absent, Equals
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.job import JobRecord, Step
from tests.service.world import P5, ROOT, World

SECRET = "hunter2"
MAX_PUT_EVENTS_BYTES = 256 * 1024
"""EventBridge's limit of all entries of one PutEvents call (service quota)."""


def changes_of(table: StreamedTable) -> list[JobEvent]:
    """The records of a table's stream."""
    told = [event_of(table.record(number, START_S)) for number in range(len(table.written))]
    return [change for change in told if change is not None]


def told(table: StreamedTable, job: str) -> list[tuple[str, str | None, str, str]]:
    return [
        (change.id, change.previous_state, change.job_state, change.code)
        for change in changes_of(table)
        if isinstance(change, JobChange) and change.job_name == job
    ]


def test_each_step_of_a_preempted_jobs_life_is_one_event() -> None:
    table = StreamedTable()
    world = World(table=table, pools={P5: 1})
    world.submit("low", 1)
    world.tick()
    world.pass_time(300)
    world.submit("high", 9)
    world.tick()
    world.pass_time(3000)

    assert told(table, "low") == [
        ("low/1", None, "pending", "Entered"),
        ("low/2", "pending", "running", "Started"),
        ("low/3", "running", "stopping", "Preempted"),
        ("low/4", "stopping", "preempted", "ReturnedToLine"),
        ("low/5", "preempted", "running", "Started"),
        ("low/6", "running", "completed", "Completed"),
    ]


def test_an_event_has_the_change_the_cause_and_the_remedy() -> None:
    table = StreamedTable()
    world = World(table=table, pools={P5: 1})
    world.submit("low", 1)
    world.tick()
    world.pass_time(300)
    world.submit("high", 9)
    world.tick()

    (preempted,) = [change.document() for change in changes_of(table) if change.code == "Preempted"]

    assert preempted == {
        "schemaVersion": "1",
        "id": "low/3",
        "version": 3,
        "time": "2027-01-15T08:05:00Z",
        "code": "Preempted",
        "message": preempted["message"],
        "remedy": preempted["remedy"],
        "team": None,
        "jobName": "low",
        "jobState": "stopping",
        "previousState": "running",
        "attemptName": "low",
        "attemptCount": 1,
        "jobs": ["high"],
        "priority": 1,
        "owner": ROOT.arn,
    }
    assert "so that `high` (priority 9) can start" in preempted["message"]
    assert "starts again automatically" in preempted["remedy"]


def test_no_part_of_the_request_is_revealed() -> None:
    table = StreamedTable()
    world = World(table=table)
    world.submit("a", HyperParameters={"token": SECRET}, Environment={"KEY": SECRET, "SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    world.pass_time(3000)
    assert [change.code for change in changes_of(table)] == ["Entered", "Started", "Completed"]
    assert SECRET not in "".join(change.detail() for change in changes_of(table))


def job(*reasons: str, **changes: Any) -> JobRecord:
    """A job with that history."""
    steps = [
        Step(time_ms=i, job_state=JobState.RUNNING, reason=ReasonRecord(code=ReasonCode.STARTED, message=reason))
        for i, reason in enumerate(reasons)
    ]
    known = {"job_state": JobState.RUNNING, "priority": 0, "entry_time": 0, "demand": {P5: 1}, "request_digest": "x"}
    return JobRecord.model_validate(
        {"job_name": "a", **known, "reason": steps[-1].reason, "history": steps, "version": len(steps), **changes}
    )


def test_a_write_without_a_step_is_not_published() -> None:
    before = job("one", "two")
    assert job_event(before.model_copy(update={"version": 3, "expires_at": 5}), before) is None


def test_a_step_in_a_full_history_is_published() -> None:
    first, *rest = (f"step {i}" for i in range(50))
    before = job(first, *rest)
    after = job(first, *rest[1:], "one more", version=51)
    change = job_event(after, before)
    assert change is not None
    assert (change.id, change.message) == ("a/51", "one more")


def test_a_full_batch_of_the_longest_events_fits_into_one_call() -> None:
    # Three bytes in UTF-8, as a text of SageMaker's may have.
    reason = ReasonRecord(code=ReasonCode.FAILED, message="…" * MAX_MESSAGE_CHARS, jobs=("j" * 63,) * 3)
    step = Step(time_ms=0, job_state=JobState.FAILED, reason=reason, attempt_name="a" * 63)
    longest = job_event(
        job("x", job_name="a" * 63, history=(step,), team="t" * 63, owner="o" * 2048, version=10**9), None
    )
    assert longest is not None
    # Beside the detail there are source, detail type and time, with 14 bytes (EventBridge user guide, "Calculating
    # PutEvents event entry size").
    assert MAX_SENT * (len(longest.detail().encode()) + 100) < MAX_PUT_EVENTS_BYTES


def rogue(code: ReasonCode = ReasonCode.OUTSIDE, **changes: Any) -> RogueJobRecord:
    """A training job beside the queue."""
    return RogueJobRecord.model_validate(
        {
            "training_job_name": "beside",
            "arn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/beside",
            "created_ms": 1_000,
            "training_job_status": "InProgress",
            "demand": {P5: 2},
            "charged": {P5: 1},
            "team": "research",
            "limit_ms": 1,
            "since_ms": 5_000,
            "seen_ms": 5_000,
            "reason": ReasonRecord(code=code, message="did not come through the queue"),
            "config_version": 1,
            **changes,
        }
    )


def test_a_rogue_job_is_published_when_found_changed_and_ended() -> None:
    table = StreamedTable()
    seen = rogue()
    again = rogue(seen_ms=9_000, version=2)
    stopped = rogue(ReasonCode.OUTSIDE_STOPPED, version=3)
    for write in (
        seen.put(requires=Absent()),
        again.put(requires=Equals("version", 1)),
        stopped.put(requires=Equals("version", 2)),
        stopped.delete(),
    ):
        table.write([write])

    changes = [change for change in changes_of(table) if isinstance(change, RogueJobChange)]

    assert [(change.id, change.code, change.live) for change in changes] == [
        ("beside/5000/1", "OutsideTheQueue", True),
        ("beside/5000/3", "OutsideAndStopped", True),
        ("beside/5000/4", "OutsideAndGone", False),
    ]
    assert changes[0].document() == {
        "schemaVersion": "1",
        "id": "beside/5000/1",
        "version": 1,
        "time": "2027-01-15T08:00:00Z",
        "code": "OutsideTheQueue",
        "message": "did not come through the queue",
        "remedy": changes[0].remedy,
        "team": "research",
        "trainingJobName": "beside",
        "trainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/beside",
        "trainingJobStatus": "InProgress",
        "live": True,
        "demand": {P5: 2},
        "charged": {P5: 1},
    }
    assert changes[-1].message == f"has ended or was deleted; frees 1 {P5} of its pools"


def test_a_rogue_job_found_again_is_not_published() -> None:
    assert rogue_job_event(rogue(seen_ms=9_000, version=2), rogue(), 0) is None


@pytest.mark.parametrize("change", [job_event(job("x"), None), rogue_job_event(rogue(), None, 0)])
def test_a_detail_round_trips_as_json(change: JobEvent) -> None:
    assert type(change).model_validate(json.loads(change.detail())) == change
