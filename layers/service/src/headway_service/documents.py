"""The documents that the HTTP API answers with; ``docs/api.md`` describes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from headway.watches import Coverage
from headway_service.dead_letters import ReadLetter, Redrive
from headway_service.desk import PoolUse
from headway_service.errors import RequestError
from headway_service.explanation import Seen
from headway_service.letters import Illegible, Lost
from headway_service.records import AttemptRecord, EndedAttempt, ReasonRecord, RogueRecord


def job_document(seen: Seen) -> dict[str, Any]:
    """A job."""
    job = seen.job
    return {
        "jobName": job.job_name,
        "jobState": job.job_state,
        "priority": job.priority,
        "entryTime": _time(job.entry_time),
        "demand": job.demand,
        "team": job.team or None,
        "owner": job.owner,
        "place": seen.place,
        "reason": _reason(seen.reason),
        "attemptCount": job.attempt_count,
        "liveAttempt": job.live_attempt,
        "endedTime": _time(job.ended_ms),
    }


def whole_job_document(
    seen: Seen, attempt: AttemptRecord | None, request: Mapping[str, Any], covered: Iterable[Coverage]
) -> dict[str, Any]:
    """A job with its attempts, its history and its request, and how its live attempt is watched."""
    attempts = [_ended_attempt(ended) for ended in seen.job.attempts]
    if attempt is not None:
        attempts.append(_live_attempt(attempt))
    watches = [{"watch": each.watch.name, "hosts": len(each.alarms), "note": each.note or None} for each in covered]
    history = [
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
        "request": dict(request),
    }


def pool_document(use: PoolUse) -> dict[str, Any]:
    """A pool."""
    return asdict(use)


def rogue_document(rogue: RogueRecord) -> dict[str, Any]:
    """A training job that did not come through the queue."""
    return {
        "trainingJobName": rogue.training_job_name,
        "trainingJobStatus": rogue.training_job_status,
        "demand": rogue.demand,
        "charged": rogue.charged,
        "team": rogue.team or None,
        "createdTime": _time(rogue.created_ms),
        "seenTime": _time(rogue.since_ms),
        "reason": _reason(rogue.reason),
    }


def letter_document(read: ReadLetter) -> dict[str, Any]:
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


def redrive_document(done: Redrive) -> dict[str, Any]:
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


def error_document(error: RequestError, request_id: str) -> dict[str, Any]:
    """A refusal."""
    fields = [{"field": each.field, "message": each.message} for each in error.fields]
    return {"error": {"code": error.code, "message": str(error), "fields": fields}, "requestId": request_id}


def _ended_attempt(ended: EndedAttempt) -> dict[str, Any]:
    return {
        "attemptName": ended.attempt_name,
        "number": ended.number,
        "attemptState": "ended",
        "trainingJobStatus": ended.training_job_status,
        "secondaryStatus": ended.secondary_status,
        "startedTime": _time(ended.since_ms),
        "endedTime": _time(ended.ended_ms),
        "failureReason": ended.failure_reason,
        "reason": _reason(ended.reason),
    }


def _live_attempt(attempt: AttemptRecord) -> dict[str, Any]:
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


def _reason(reason: ReasonRecord) -> dict[str, Any]:
    return {"code": reason.code, "message": reason.message}


def _time(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
