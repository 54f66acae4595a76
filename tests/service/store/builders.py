"""Records as the tests of transitions read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.model import WaitingJob
from headway.reasons import Reason, ReasonCode
from headway.refusals import Cause, FailedLaunches
from headway_service.ports.table import Put, Write
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.job import JobRecord
from tests.service.world import P5

WAS, NOW_MS = 7, 5_000_000
REASON = Reason(code=ReasonCode.STARTED, message="so it is")
NOTED = ReasonRecord.of(REASON)
FAILED = FailedLaunches(
    count=3,
    since_ms=0,
    last_ms=NOW_MS,
    cause=Cause.DENIED,
    code="AccessDeniedException",
    text="no",
    by_request_since_ms=0,
)
NOTED_FAILED = FailedLaunchesRecord.of(FAILED)
SEEN = TrainingJobStatus(attempt="a", status="InProgress", secondary_status="Training", modified_ms=1)


def job(state: JobState = JobState.RUNNING, **changes: Any) -> JobRecord:
    known = {"job_state": state, "priority": 3, "entry_time": 0, "demand": {P5: 1}, "request_digest": "x"}
    live = {} if state is JobState.PENDING else {"live_attempt": "a", "attempt_count": 1}
    reason = ReasonRecord.of(REASON)
    return JobRecord.model_validate({"job_name": "a", "reason": reason, "version": WAS, **known, **live, **changes})


def attempt(state: AttemptState = AttemptState.LIVE, **changes: Any) -> AttemptRecord:
    known = {"job_name": "a", "number": 1, "attempt_state": state, "mark": "m", "demand": {P5: 1}, "priority": 3}
    times = {"entry_time": 0, "since_ms": 0, "lease_holder": "x", "lease_until_ms": 1, "seen_ms": 0, "version": WAS}
    return AttemptRecord.model_validate({"attempt_name": "a", **known, **times, **changes})


def rogue(**changes: Any) -> RogueJobRecord:
    known = {"training_job_name": "r", "arn": "arn", "created_ms": 0, "training_job_status": "InProgress"}
    more = {"demand": {P5: 1}, "charged": {P5: 1}, "limit_ms": 1, "since_ms": 0, "seen_ms": 0, "config_version": 1}
    reason = ReasonRecord.of(REASON)
    return RogueJobRecord.model_validate({**known, **more, "reason": reason, "version": WAS, **changes})


def waiting(name: str) -> WaitingJob:
    return job(JobState.PENDING, job_name=name).waiting()


WAITS, LIVE = JobState.PENDING, AttemptState.LIVE
LAUNCHING = AttemptState.LAUNCHING


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
        machine_ms=now_ms,
        expires_at=1,
        retry=None,
        vanished=vanished,
    )


def records(writes: Sequence[Write]) -> list[Put]:
    """Those that store a record of which versions are counted."""
    return [write for write in writes if isinstance(write, Put) and "version" in write.item]
