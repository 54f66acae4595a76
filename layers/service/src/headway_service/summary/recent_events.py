"""What happened lately, read off the records that a summary reads anyway.

The table keeps the history of a job with the job. To read it would take one read for each job, so a summary derives
events from the attempts that hold instances and from the jobs that ended last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.listed_job import ListedJob
from headway_service.summary.results import Event

MAX_EVENTS = 50
"""Events in a summary, the newest."""

_CAUSES = {
    StopCause.REQUEST: "a caller stops it",
    StopCause.POLICY: "the policy ends it",
    StopCause.REQUEUE: "the policy requeues it",
    StopCause.ON_DEMAND: "it continues on on-demand instances",
    StopCause.NO_INSTANCES: "it got no instances in time",
}


def recent_events(attempts: Iterable[AttemptRecord], ended: Iterable[ListedJob]) -> list[Event]:
    """The newest events, the newest first.

    Args:
        attempts: all attempts that hold instances.
        ended: the jobs that ended last.
    """
    found = [event for attempt in attempts for event in _of_attempt(attempt)]
    found += [event for job in ended for event in _of_end(job)]
    found.sort(key=lambda event: (-event.time_ms, event.job, event.kind))
    return found[:MAX_EVENTS]


def _of_attempt(attempt: AttemptRecord) -> Iterator[Event]:
    started = f"attempt {attempt.number} of `{attempt.job_name}` got its instances"
    yield Event(time_ms=attempt.since_ms, kind="started", job=attempt.job_name, message=started)
    if attempt.stop_cause is not None and attempt.stopping_since_ms is not None:
        message = f"`{attempt.job_name}` is stopped: {_why(attempt)}"
        yield Event(time_ms=attempt.stopping_since_ms, kind="stopping", job=attempt.job_name, message=message)


def _why(attempt: AttemptRecord) -> str:
    if attempt.stop_cause is not None and attempt.stop_cause in _CAUSES:
        return _CAUSES[attempt.stop_cause]
    return f"preempted for `{attempt.freed_for}`" if attempt.freed_for else "preempted"


def _of_end(job: ListedJob) -> Iterator[Event]:
    if job.ended_ms is not None:
        yield Event(time_ms=job.ended_ms, kind=str(job.job_state), job=job.job_name, message=job.reason.message)
