"""Transitions of jobs that may be answered by the outputs of equal ones."""

from __future__ import annotations

from typing import Any

from headway import reasons
from headway.lifecycle import JobTrigger
from headway.reasons import Reason
from headway_service.ports.table import Absent, Equals, Put, Update, Write
from headway_service.store.records.capacity.ledger import ReservationRecord, TeamRecord
from headway_service.store.records.dependency import DependencyRecord, EndedJobRecord
from headway_service.store.records.job import JobRecord, request_item, request_key
from headway_service.store.records.reuse import ComputedRecord, ReuseRecord
from headway_service.store.transitions.dependency import add_dependant, closed
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.shared import expire_request, keep_team, leave_queue, move_job, note_step


def accept_reused(
    job: JobRecord, request: str, alternatives: str, reuse: ReuseRecord, reason: Reason, now_ms: int, expires_at: int
) -> tuple[JobRecord, list[Write]]:
    """A new job ends at once, with the outputs of an equal one. Fails if there is a job of that name.

    Args:
        job: the job, as it would enter its queues.
        request: its CreateTrainingJob request, as JSON.
        alternatives: see :func:`headway_service.store.records.job.request_item`.
        reuse: whose outputs it has.
        reason: why.
        expires_at: when the table may delete the job, s since the epoch.
    """
    moved = answered(job, reuse, reason, now_ms, expires_at)
    item = {**request_item(job.job_name, request, alternatives), "expiresAt": expires_at}
    return moved, [Put(item=moved.put().item, requires=Absent()), Put(item=item)]


def reuse(
    job: JobRecord,
    ended: EndedJobRecord,
    reuse: ReuseRecord,
    reason: Reason,
    now_ms: int,
    expires_at: int,
    *,
    request: str | None = None,
) -> list[Write]:
    """A job that waited for another one ends, with the outputs of an equal one, whether or not it is held.

    Args:
        ended: the job that it waited for, which has ended.
        reuse: whose outputs it has.
        reason: why.
        expires_at: when the table may delete the job, s since the epoch.
        request: see :func:`headway_service.store.transitions.dependency.meet_dependency`.
    """
    moved = answered(job, reuse, reason, now_ms, expires_at, depends_on=closed(job, ended))
    return [
        moved.put(was=job.version),
        *leave_queue(job),
        *expire_request(job, expires_at, filled=request),
        *moved.ended(),
    ]


def follow_twin(
    job: JobRecord, ended: EndedJobRecord, twin: JobRecord, reason: Reason, now_ms: int, *, request: str | None = None
) -> list[Write]:
    """A job that waited for another one waits for an equal one from now on. Fails if that has changed meanwhile.

    Args:
        ended: the job that it waited for, which has ended.
        twin: the equal job, which has not ended.
        reason: why.
        request: see :func:`headway_service.store.transitions.dependency.meet_dependency`.
    """
    depends_on = (*closed(job, ended), DependencyRecord.on_twin(twin.job_name))
    moved = note_step(job, job.job_state, reason, now_ms, depends_on=depends_on)
    if job.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": job.reason})
    return [
        moved.put(was=job.version),
        add_dependant(twin, job.job_name),
        *([Update(key=request_key(job.job_name), sets={"jobDetails": request})] if request is not None else []),
    ]


def claim_computation(job: str, key: str, known: ComputedRecord | None) -> Write:
    """A job that enters its queues computes for equal ones. Fails if another one was faster.

    Args:
        job: the name of the job.
        key: the digest of what it computes.
        known: the job that was to compute it, or has, and whose outputs cannot be used; None if there is none.
    """
    computed = ComputedRecord(key_digest=key, job_name=job)
    if known is None:
        return computed.put(requires=Absent())
    return computed.put(requires=Equals("jobName", known.job_name))


def give_way_to_twin(source: JobRecord, reservation: ReservationRecord | None, twin: str, now_ms: int) -> list[Write]:
    """A job that was to compute for equal ones, and has not started, waits for another one that goes before it.

    Fails if it has changed since it was read: it may have started.

    Args:
        source: the job, which had no attempt. If it is a member of an array, it is set aside.
        twin: the name of the job that computes from now on.
    """
    reason = reasons.waits_for_twin(twin)
    depends_on = (*source.depends_on, DependencyRecord.on_twin(twin))
    moved = note_step(source, source.job_state, reason, now_ms, depends_on=depends_on, reuse=_for_itself(source.reuse))
    if source.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": source.reason})
    writes: list[Write] = [moved.put(was=source.version)]
    if source.queue_keys() != moved.queue_keys():
        writes += [*leave_queue(source), *(entry.put() for entry in moved.queue_entries())]
    return [*writes, *(free(reservation) if reservation else [])]


def go_before_twin(
    job: JobRecord, team: TeamRecord | None, reason: Reason, now_ms: int, *, machine_ms: int
) -> list[Write]:
    """A job that waited for an equal one enters its queues, as it can start before that.

    Args:
        job: the job, which waits for nothing else, as it computes.
        team: the team of the job; None if the job has none, or the ledger no longer has it.
        reason: why.
        now_ms: the training time, ms: its entry time.
    """
    depends_on = tuple(each for each in job.depends_on if each.job_name != job.twin)
    entered: dict[str, Any] = {"entry_time": now_ms, "accepted_ms": job.accepted_time}
    moved = note_step(job, job.job_state, reason, now_ms, depends_on=depends_on, **entered)
    return [
        moved.put(was=job.version),
        *leave_queue(job),
        *(entry.put() for entry in moved.queue_entries()),
        *(keep_team(job.team, team, machine_ms) if job.team else []),
    ]


def compute_alone(source: JobRecord) -> Write:
    """A job that was to compute for equal ones, and has not started, computes for nobody else from now on.

    Fails if it has changed since it was read: it may have started.

    Args:
        source: the job.
    """
    changes = {"reuse": _for_itself(source.reuse), "version": source.version + 1}
    return source.model_copy(update=changes).put(was=source.version)


def _for_itself(reuse: ReuseRecord | None) -> ReuseRecord:
    return ReuseRecord(unpinned=reuse is not None and reuse.unpinned)


def note_outputs(known: ComputedRecord, outputs: str, expires_at: int | None) -> tuple[ComputedRecord, Write]:
    """A job has completed, and equal ones may get its outputs. Fails if another job computes the same meanwhile.

    Args:
        known: the job that was to compute.
        outputs: digest of its outputs.
        expires_at: when the table may delete the job, s since the epoch.
    """
    noted = known.model_copy(update={"outputs": outputs, "expires_at": expires_at})
    return noted, noted.put(requires=Equals("jobName", known.job_name))


def forget_computation(known: ComputedRecord) -> Write:
    """The outputs of a job are not to be used. Fails if another job computes the same meanwhile."""
    return known.delete(requires=Equals("jobName", known.job_name))


def answered(
    job: JobRecord, reuse: ReuseRecord, reason: Reason, now_ms: int, expires_at: int, **changes: Any
) -> JobRecord:
    """A job after its end with the outputs of an equal one.

    Args:
        reuse: whose outputs it has.
        reason: why.
        expires_at: when the table may delete the job, s since the epoch.
        changes: other fields that change.
    """
    return move_job(
        job,
        JobTrigger.REUSE,
        reason,
        now_ms,
        held=False,
        reuse=reuse,
        ended_ms=now_ms,
        expires_at=expires_at,
        **changes,
    )
