"""Transitions of a job: it enters the queue, gets an attempt, loses it, and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.errors import InvalidTransition
from headway.jobpolicy.failure_kinds import FailureKind
from headway.lifecycle import (
    TERMINAL,
    JobTrigger,
    next_job_state,
)
from headway.reasons import Reason
from headway.vectors import minus, plus
from headway_service.ports.table import Absent, Change, Delete, Equals, Put, Write
from headway_service.ports.training_jobs import Sighting
from headway_service.store.records.attempt import AttemptRecord, GivenUpRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import (
    MAX_ENDED_ATTEMPTS,
    EndedAttempt,
    JobRecord,
    Usage,
    request_item,
    request_key,
)
from headway_service.store.records.ledger import ReservationRecord, TeamRecord
from headway_service.store.records.unmanaged_job import RogueRecord
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.shared import (
    change_attempt,
    move_job,
    note_step,
    require_not_paused,
    return_instances,
    take_instances,
)

GIVEN_UP_KEPT_S = 5_184_000
"""Time for which a launch that was given up is kept. A training job waits and runs for less (API reference,
StoppingCondition)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrial:
    """How a job goes on with another attempt.

    Attributes:
        kind: of the failure, if the attempt failed.
        not_before_ms: when, at the earliest.
        on_demand: whether it gives up spot instances from now on.
        priority: at most, if it was requeued for using too little.
    """

    kind: FailureKind | None = None
    not_before_ms: int = 0
    on_demand: bool = False
    priority: int | None = None

    def changes(self, job: JobRecord) -> dict[str, Any]:
        """What that changes about the job."""
        changed: dict[str, Any] = {"not_before_ms": self.not_before_ms}
        if self.kind is not None:
            changed["held_by"] = f"its last attempt failed ({self.kind})"
            changed["retried"] = {**job.retried, self.kind: job.retried.get(self.kind, 0) + 1}
        if self.on_demand:
            changed |= {"on_demand": True, "limit_ms": job.on_demand_limit_ms or job.limit_ms}
        if self.priority is not None:
            changed |= {"priority": min(job.priority, self.priority), "requeues": job.requeues + 1}
        return changed


def accept(job: JobRecord, request: str) -> list[Write]:
    """A new job enters the line. Fails if a job of that name is in the queue."""
    stored = job.put()
    return [
        Put(item=stored.item, requires=Absent()),
        Put(item=request_item(job.job_name, request)),
        *(entry.put() for entry in job.line_entries()),
    ]


def start(
    job: JobRecord,
    attempt: AttemptRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    *,
    limited: TeamRecord | None = None,
) -> list[Write]:
    """The intent to launch: the job leaves the line and its attempt holds the instances.

    Fails if they are no longer free, or if one of their pools is paused, or if the job has changed since it was read,
    or if its team has a limit (``limited``) and another job of it was started since that was read.

    Raises:
        InvalidTransition: the job does not wait, or is held.
    """
    moved = _started(job, attempt, reason, now_ms)
    own = reservation.demand if reservation else {}
    return [
        moved.put(was=job.version),
        Put(item=attempt.put().item, requires=Absent()),
        *take_instances(minus(attempt.demand, own)),
        *([reservation.delete()] if reservation else []),
        *_leave_line(job),
        *([_count_start(limited)] if limited else []),
        *require_not_paused(attempt.demand),
    ]


def postpone(
    job: JobRecord,
    attempt: AttemptRecord,
    reason: Reason,
    not_before_ms: int,
    now_ms: int,
    *,
    name_is_free: bool,
) -> list[Write]:
    """The attempt was not launched; the job goes back to its place in the line.

    Args:
        job: the job.
        attempt: its attempt, launching.
        reason: what SageMaker said.
        not_before_ms: when to try again.
        now_ms: now.
        name_is_free: whether the next launch may use the same name.
    """
    moved = move_job(
        job,
        JobTrigger.POSTPONE,
        reason,
        now_ms,
        attempt=attempt.attempt_name,
        attempt_count=attempt.number - 1 if name_is_free else attempt.number,
        live_attempt=None,
        not_before_ms=not_before_ms,
        held_by="",
        usage=_usage_after(job, attempt, None),
    )
    return [
        moved.put(was=job.version),
        attempt.delete(),
        *return_instances(attempt.demand),
        *(entry.put() for entry in moved.line_entries()),
        *_give_up(attempt, now_ms),
    ]


def hold(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A waiting job leaves its lines until it is released; what is reserved for it becomes free."""
    moved = note_step(job, job.job_state, reason, now_ms, held=True)
    return moved, [moved.put(was=job.version), *_leave_line(job), *(free(reservation) if reservation else [])]


def release(job: JobRecord, team: TeamRecord | None, reason: Reason, now_ms: int) -> tuple[JobRecord, list[Write]]:
    """A held job stands in its lines again, at its old place.

    Args:
        job: the job.
        team: of the job; None if it has none, or if that is not known any more.
        reason: why.
        now_ms: now.
    """
    moved = note_step(job, job.job_state, reason, now_ms, held=False)
    return moved, [
        moved.put(was=job.version),
        *(entry.put() for entry in moved.line_entries()),
        *(_keep_team(job.team, team, now_ms) if job.team else []),
    ]


def stop_waiting(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int, expires_at: int
) -> list[Write]:
    """A waiting job leaves the line for good."""
    moved = move_job(job, JobTrigger.STOP, reason, now_ms, held=False, ended_ms=now_ms, expires_at=expires_at)
    return [
        moved.put(was=job.version),
        *_leave_line(job),
        *(free(reservation) if reservation else []),
        _expire_request(job, expires_at),
    ]


def end(
    job: JobRecord,
    attempt: AttemptRecord,
    trigger: JobTrigger,
    reason: Reason,
    *,
    sighting: Sighting | None,
    preemptor: JobRecord | None,
    reservation: ReservationRecord | None,
    now_ms: int,
    expires_at: int,
    retry: Retrial | None,
    vanished: bool,
) -> list[Write]:
    """The attempt has ended (or was never launched), and its instances are free, or reserved for the preemptor.

    Args:
        job: the job of the attempt.
        attempt: the attempt.
        trigger: what this means for the job.
        reason: why.
        sighting: the final status; None if the attempt was never launched.
        preemptor: the job that the attempt was stopped for, if that still stands in line.
        reservation: what is already reserved for the preemptor.
        now_ms: now.
        expires_at: when the table may forget the job if it has ended, s since the epoch.
        retry: how the job is tried again, if it is.
        vanished: whether SageMaker has it no more, and nobody knows how it ended.
    """
    ended = EndedAttempt(
        attempt_name=attempt.attempt_name,
        number=attempt.number,
        since_ms=attempt.since_ms,
        ended_ms=now_ms,
        training_job_status=sighting.status if sighting else None,
        secondary_status=sighting.secondary_status if sighting else None,
        failure_reason=sighting.failure_reason if sighting else None,
        reason=ReasonRecord.of(reason),
    )
    over = next_job_state(job.job_state, trigger) in TERMINAL
    moved = move_job(
        job,
        trigger,
        reason,
        now_ms,
        attempt=attempt.attempt_name,
        live_attempt=None,
        attempts=(*job.attempts, ended)[-MAX_ENDED_ATTEMPTS:],
        preemption_count=job.preemption_count + (trigger is JobTrigger.YIELD),
        interruptions=job.interruptions + max(attempt.interruptions, sighting.interruptions if sighting else 0),
        usage=_usage_after(job, attempt, now_ms if sighting else None),
        **(retry.changes(job) if retry else {}),
        ended_ms=now_ms if over else None,
        expires_at=expires_at if over else None,
    )
    kept = attempt.freed if preemptor else {}
    writes: list[Write] = [
        moved.put(was=job.version),
        attempt.delete(),
        *return_instances(minus(attempt.demand, kept)),
        *(entry.put() for entry in moved.line_entries()),
    ]
    if preemptor and kept:
        # Should the preemptor leave the line meanwhile, the next decision gives back what is reserved for it.
        writes.append(_reserve(preemptor.job_name, kept, reservation))
    if over:
        writes.append(_expire_request(job, expires_at))
    if vanished or sighting is None:
        writes += _give_up(attempt, now_ms, vanished=vanished)
    return writes


def change_priority(
    job: JobRecord, attempt: AttemptRecord | None, priority: int, reason: Reason, now_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A job that has not ended gets another priority; a waiting one moves in its lines."""
    moved = note_step(job, job.job_state, reason, now_ms, priority=priority)
    if job.held:
        # Why it waits is what it was.
        moved = moved.model_copy(update={"reason": job.reason})
    writes: list[Write] = [moved.put(was=job.version)]
    if attempt:
        writes.append(change_attempt(attempt, priority=priority).put(was=attempt.version))
    else:
        writes += [*_leave_line(job), *(entry.put() for entry in moved.line_entries())]
    return moved, writes


def adopt(
    job: JobRecord,
    attempt: AttemptRecord,
    rogue: RogueRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    *,
    limited: TeamRecord | None,
) -> list[Write]:
    """A training job that was charged as a rogue job becomes the live attempt of the job that waits for it.

    Fails if a pool then held more than its size, or if the job or the rogue job has changed since it was read, or if
    another job of a limited team was started. A pause does not matter: nothing is started.

    Args:
        job: the job.
        attempt: its next attempt, live.
        rogue: the training job as it is charged.
        reservation: what is reserved for the job; it becomes free.
        reason: why.
        now_ms: now.
        limited: the team of the job, if it has a limit.

    Raises:
        InvalidTransition: the job does not wait, or is held.
    """
    moved = _started(job, attempt, reason, now_ms)
    given = plus(rogue.charged, reservation.demand if reservation else {})
    return [
        moved.put(was=job.version),
        Put(item=attempt.put().item, requires=Absent()),
        rogue.delete(),
        *take_instances(minus(attempt.demand, given)),
        *([reservation.delete()] if reservation else []),
        *_leave_line(job),
        *([_count_start(limited)] if limited else []),
    ]


def _require_released(job: JobRecord) -> None:
    if job.held:
        raise InvalidTransition("held", JobTrigger.START)


def _started(job: JobRecord, attempt: AttemptRecord, reason: Reason, now_ms: int) -> JobRecord:
    """The job as it has this attempt."""
    _require_released(job)
    usage = job.usage
    return move_job(
        job,
        JobTrigger.START,
        reason,
        now_ms,
        attempt=attempt.attempt_name,
        attempt_count=attempt.number,
        live_attempt=attempt.attempt_name,
        not_before_ms=0,
        held_by="",
        usage=usage if usage.started_ms is not None else usage.model_copy(update={"started_ms": attempt.since_ms}),
    )


def _usage_after(job: JobRecord, attempt: AttemptRecord, ended_ms: int | None) -> Usage:
    """What a job has had of its pools once an attempt has ended; ``ended_ms`` is None if it was never launched."""
    if ended_ms is None:
        # If no attempt before it was launched either, the job has not been started yet.
        return job.usage if job.usage.instance_ms else Usage()
    ran_ms = max(0, ended_ms - attempt.since_ms)
    held = {pool: count * ran_ms for pool, count in attempt.demand.items()}
    return job.usage.model_copy(update={"instance_ms": plus(job.usage.instance_ms, held)})


def _keep_team(name: str, known: TeamRecord | None, now_ms: int) -> list[Write]:
    """The lines of a team are read for as long as after it has left. Fails if it is forgotten or comes back now."""
    if known is None:
        return [TeamRecord(team=name, left_ms=now_ms).put(requires=Absent())]
    if known.left_ms is None:
        return []
    return [known.model_copy(update={"left_ms": now_ms}).put(requires=Equals("leftMs", known.left_ms))]


def _give_up(attempt: AttemptRecord, now_ms: int, *, vanished: bool = False) -> list[Write]:
    """Note that a launch is over for the queue, if SageMaker might show its training job after all."""
    if attempt.unanswered_ms is None and not vanished:
        return []
    given_up = GivenUpRecord(
        attempt_name=attempt.attempt_name,
        job_name=attempt.job_name,
        mark=attempt.mark,
        given_up_ms=now_ms,
        expires_at=now_ms // 1000 + GIVEN_UP_KEPT_S,
    )
    return [given_up.put()]


def _leave_line(job: JobRecord) -> Sequence[Write]:
    return [Delete(key=key) for key in job.line_keys()]


def _count_start(team: TeamRecord) -> Write:
    return Change(key=TeamRecord.key(team.team), adds={"starts": 1}, requires=Equals("starts", team.starts))


def _reserve(job: str, demand: Mapping[str, int], known: ReservationRecord | None) -> Write:
    if known is None:
        return ReservationRecord(job_name=job, demand=dict(demand)).put(was=None)
    grown = ReservationRecord(job_name=job, demand=plus(known.demand, demand), version=known.version + 1)
    return grown.put(was=known.version)


def _expire_request(job: JobRecord, expires_at: int) -> Write:
    return Change(key=request_key(job.job_name), sets={"expiresAt": expires_at})
