"""The documents that the HTTP API answers with; ``docs/reference/api.md`` describes them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import overload

from headway.jobpolicy.utilization import Coverage
from headway.lifecycle import AttemptState
from headway_service.api import schemas
from headway_service.dead_letters.parser import Illegible, Lost
from headway_service.dead_letters.redrive import ReadLetter, Redrive
from headway_service.errors import RequestError
from headway_service.forecast.service import Consequences, DryRun, Explanation, Move, Outlook
from headway_service.jobs.desk import PoolUse
from headway_service.jobs.position import Seen
from headway_service.jobs.submit_batch import Taken
from headway_service.sagemaker_api.redaction import Shown
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import EndedAttempt
from headway_service.store.records.ledger import PauseRecord
from headway_service.store.records.unmanaged_job import RogueRecord


def job_document(seen: Seen) -> schemas.Job:
    """A job."""
    job = seen.job
    return {
        "jobName": job.job_name,
        "jobState": job.job_state,
        "held": job.held,
        "priority": job.priority,
        "entryTime": _time(job.entry_time),
        "demand": job.demand,
        "team": job.team or None,
        "owner": job.owner,
        "place": seen.place,
        "reason": _reason(seen.reason),
        "attemptCount": job.attempt_count,
        "liveAttempt": job.live_attempt,
        "preemptions": job.preemption_count,
        "startedTime": _time(job.usage.started_ms),
        "endedTime": _time(job.ended_ms),
        "instanceSeconds": {pool: held_ms // 1000 for pool, held_ms in job.usage.instance_ms.items()},
    }


def whole_job_document(
    seen: Seen, attempt: AttemptRecord | None, shown: Shown, covered: Iterable[Coverage]
) -> schemas.WholeJob:
    """A job with its attempts, its history and its request, and how its live attempt is watched."""
    attempts = [_ended_attempt(ended) for ended in seen.job.attempts]
    if attempt is not None:
        attempts.append(_live_attempt(attempt))
    watches: list[schemas.Watched] = [
        {"watch": each.watch.name, "hosts": len(each.alarms), "note": each.note or None} for each in covered
    ]
    history: list[schemas.Step] = [
        {
            "time": _time(step.time_ms),
            "jobState": step.job_state,
            "reason": _reason(step.reason),
            "attemptName": step.attempt_name,
        }
        for step in seen.job.history
    ]
    return {
        **job_document(seen),
        "attempts": attempts,
        "history": history,
        "watches": watches,
        "request": dict(shown.request),
        "withheld": list(shown.withheld),
    }


def pool_document(use: PoolUse) -> schemas.Pool:
    """A pool."""
    return {
        "pool": use.pool,
        "size": use.size,
        "allocated": use.allocated,
        "stopping": use.stopping,
        "reserved": use.reserved,
        "rogue": use.rogue,
        "free": use.free,
        "waiting": use.waiting,
        "pause": _pause(use.pause) if use.pause else None,
    }


def rogue_document(rogue: RogueRecord) -> schemas.RogueJob:
    """A training job that did not come through the queue."""
    return {
        "trainingJobName": rogue.training_job_name,
        "trainingJobStatus": rogue.training_job_status,
        "demand": rogue.demand,
        "charged": rogue.charged,
        "team": rogue.team or None,
        "createdTime": _time(rogue.created_ms),
        "seenTime": _time(rogue.since_ms),
        "stopAskedBy": rogue.stop_asked_by or None,
        "reason": _reason(rogue.reason),
    }


def letter_document(read: ReadLetter) -> schemas.Letter:
    """A dead letter."""
    content = read.content
    return {
        "id": read.letter.message_id,
        "queue": read.queue,
        "sentTime": _time(read.letter.sent_ms),
        "receiveCount": read.letter.receive_count,
        "about": content.about,
        "errorType": content.error_type,
        "errorMessage": content.error_message,
        "problem": content.remedy.problem if isinstance(content.remedy, Illegible | Lost) else None,
    }


def redrive_document(done: Redrive) -> schemas.Redriven:
    """What a redrive did."""
    return {
        "redriven": done.redriven,
        "dropped": done.dropped,
        "failed": len(done.failures),
        "left": done.left,
        "failures": [
            {
                "id": failure.read.letter.message_id,
                "queue": failure.read.queue,
                "about": failure.read.content.about,
                "problem": failure.problem,
            }
            for failure in done.failures
        ],
    }


def dry_run_document(found: DryRun) -> schemas.DryRun:
    """A dry run."""
    return {
        "dryRun": True,
        "job": job_document(found.seen),
        "expectedStart": _time(found.expected_start_ms),
        "preempts": list(found.preempts),
        "delays": [_move(move) for move in found.delays],
        "note": found.note,
    }


def batch_document(results: Iterable[Taken | RequestError]) -> schemas.BatchResults:
    """What became of each request of a batch."""
    return {"results": [_batch_result(each) for each in results]}


def explanation_document(found: Explanation) -> schemas.Explanation:
    """Why a job is where it is."""
    job = found.seen.job
    return {
        "jobName": job.job_name,
        "jobState": job.job_state,
        "held": job.held,
        "place": found.seen.place,
        "reason": _reason(found.seen.reason),
        "expectedStart": _time(found.expected_start_ms),
        "expectedEnd": _time(found.expected_end_ms),
        "note": found.note,
        "ahead": [
            {
                "jobName": each.job,
                "jobState": each.job_state,
                "priority": each.priority,
                "demand": dict(each.demand),
                "startedTime": _time(each.started_ms),
                "expectedEnd": _time(each.expected_end_ms),
            }
            for each in found.ahead
        ],
        "more": found.more,
        "pools": [pool_document(use) for use in found.pools],
        "remedy": found.remedy,
    }


def forecast_document(found: Outlook) -> schemas.Forecast:
    """When waiting jobs are expected to start."""
    return {
        "asOf": _time(found.as_of_ms),
        "until": _time(found.until_ms),
        "note": found.note,
        "jobs": [
            {
                "jobName": each.seen.job.job_name,
                "jobState": each.seen.job.job_state,
                "place": each.seen.place,
                "priority": each.seen.job.priority,
                "demand": each.seen.job.demand,
                "held": each.seen.job.held,
                "expectedStart": _time(each.start_ms),
            }
            for each in found.jobs
        ],
        "more": found.more,
    }


def consequences_document(found: Consequences) -> schemas.Consequences:
    """What changes would do."""
    return {
        "starts": list(found.starts),
        "preempts": list(found.preempts),
        "moved": [_move(move) for move in found.moved],
        "note": found.note,
    }


def error_document(error: RequestError, request_id: str) -> schemas.Refusal:
    """A refusal."""
    return {"error": _error(error), "requestId": request_id}


def _error(error: RequestError) -> schemas.Error:
    fields: list[schemas.WrongField] = [{"field": each.field, "message": each.message} for each in error.fields]
    return {"code": error.code, "message": str(error), "fields": fields}


def _batch_result(result: Taken | RequestError) -> schemas.Taken | schemas.Refused:
    if isinstance(result, RequestError):
        return {"status": result.status, "error": _error(result)}
    return {"status": HTTPStatus.CREATED if result.new else HTTPStatus.OK, "job": job_document(result.seen)}


def _pause(pause: PauseRecord) -> schemas.Pause:
    return {
        "everything": pause.pool == PauseRecord.EVERYTHING,
        "by": pause.by,
        "since": _time(pause.since_ms),
        "reason": pause.reason,
        "stops": pause.stops,
    }


def _move(move: Move) -> schemas.Delay:
    return {"jobName": move.job, "before": _time(move.before_ms), "after": _time(move.after_ms)}


def _ended_attempt(ended: EndedAttempt) -> schemas.Attempt:
    return {
        "attemptName": ended.attempt_name,
        "number": ended.number,
        "attemptState": AttemptState.ENDED,
        "trainingJobStatus": ended.training_job_status,
        "secondaryStatus": ended.secondary_status,
        "startedTime": _time(ended.since_ms),
        "endedTime": _time(ended.ended_ms),
        "failureReason": ended.failure_reason,
        "reason": _reason(ended.reason),
    }


def _live_attempt(attempt: AttemptRecord) -> schemas.Attempt:
    return {
        "attemptName": attempt.attempt_name,
        "number": attempt.number,
        "attemptState": attempt.attempt_state,
        "trainingJobStatus": attempt.training_job_status,
        "secondaryStatus": attempt.secondary_status,
        "startedTime": _time(attempt.since_ms),
        "endedTime": None,
        "failureReason": None,
        "reason": None,
    }


def _reason(reason: ReasonRecord) -> schemas.Reason:
    return {"code": reason.code, "message": reason.message}


@overload
def _time(time_ms: int) -> str: ...


@overload
def _time(time_ms: int | None) -> str | None: ...


def _time(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
