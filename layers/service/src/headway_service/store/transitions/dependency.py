"""Transitions between a job and the jobs that depend on it."""

from __future__ import annotations

from typing import Any

from headway import reasons
from headway_service.ports.table import Update, Write
from headway_service.store.records.capacity.ledger import TeamRecord
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord
from headway_service.store.records.job import JobRecord, request_key
from headway_service.store.transitions.shared import keep_team, leave_queue, note_step, wake_array


def add_dependant(job: JobRecord, dependant: str) -> Write:
    """A job is accepted that depends on this one. Fails if this one has changed since it was read.

    So of the acceptance and the end of this job, one comes first: the end knows the other job, or the acceptance fails.

    Args:
        job: the job, which has not ended.
        dependant: the job that depends on it.
    """
    moved = job.model_copy(update={"dependants": (*job.dependants, dependant), "version": job.version + 1})
    return moved.put(was=job.version)


def closed(job: JobRecord, ended: EndedJobRecord) -> tuple[DependencyRecord, ...]:
    """The dependencies of a job after the end of one of them.

    Args:
        ended: the job that has ended.
    """
    end = {"ended": ended.ending}
    return tuple(each.model_copy(update=end) if each.job_name == ended.job_name else each for each in job.depends_on)


def meet_dependency(
    job: JobRecord,
    ended: EndedJobRecord,
    team: TeamRecord | None,
    now_ms: int,
    *,
    machine_ms: int,
    request: str | None = None,
    because: reasons.Reason | None = None,
) -> list[Write]:
    """A job that this one depends on has ended as it requires. If it was the last, this one enters its queues.

    Args:
        ended: the job that has ended.
        team: the team of the job; None if the job has none, or the ledger no longer has it.
        now_ms: the training time, ms: the entry time of the job if it enters its queues.
        request: the request of the job with the outputs of the other one, as JSON; None if it has none of them.
        because: why it enters its queues, if there is more to say than that the other job has ended.
    """
    depends_on = closed(job, ended)
    others = [each for each in job.awaited if each[0] != ended.job_name]
    enters: dict[str, Any] = {} if others else {"entry_time": now_ms, "accepted_ms": job.accepted_time}
    until = "" if job.begin_ms is None else reasons.clock_time(job.begin_ms, now_ms)
    reason = because or reasons.dependency_ended(ended.job_name, ended.ending, others, until)
    moved = note_step(job, job.job_state, reason, now_ms, depends_on=depends_on, **enters)
    if job.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": job.reason})
    return [
        moved.put(was=job.version),
        *([Update(key=request_key(job.job_name), sets={"jobDetails": request})] if request is not None else []),
        *(() if others else leave_queue(job)),
        *(() if others else (entry.put() for entry in moved.queue_entries())),
        *(keep_team(job.team, team, machine_ms) if job.team and not others else []),
        *(wake_array(job) if job.array is not None else []),
    ]
