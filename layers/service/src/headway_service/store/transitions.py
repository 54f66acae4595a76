"""Every change of state, as the writes of one transaction. Pure: records in, writes out.

Each function returns the writes that move a job, its line entries, its attempt, reservations and the pool
ledgers together. All are conditional on what was read, so that whoever comes second finds a
:class:`headway_service.errors.Conflict` and nothing half done (promises 1 and 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.errors import InvalidTransition
from headway.jobpolicy.failure_kinds import FailureKind
from headway.lifecycle import (
    TERMINAL,
    AttemptTrigger,
    JobState,
    JobTrigger,
    next_attempt_state,
    next_job_state,
)
from headway.model import Demand, WaitingJob
from headway.reasons import Reason
from headway.vectors import minus, plus
from headway_service.ports.table import Absent, AllEqual, AtLeast, Change, Check, Delete, Equals, Put, Write
from headway_service.ports.training_jobs import Sighting
from headway_service.store.policy_actions import Measure, on_drain
from headway_service.store.records.attempt import NOBODY, AttemptRecord, GivenUpRecord, StopCause
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.job import (
    MAX_ENDED_ATTEMPTS,
    MAX_HISTORY,
    EndedAttempt,
    JobRecord,
    Step,
    Usage,
    request_item,
    request_key,
)
from headway_service.store.records.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.queue_entry import LineEntry
from headway_service.store.records.unmanaged_job import RogueRecord

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
        *_take(minus(attempt.demand, own)),
        *([reservation.delete()] if reservation else []),
        *_leave_line(job),
        *([_count_start(limited)] if limited else []),
        *_require_no_pause(attempt.demand),
    ]


def take_lease(attempt: AttemptRecord, holder: str, lease_until_ms: int) -> tuple[AttemptRecord, list[Write]]:
    """Take the right to settle a launch.

    A holder that did not give the right back may have called CreateTrainingJob until its lease ended, and the answer
    is lost with it.
    """
    unanswered_ms = attempt.unanswered_ms if attempt.lease_holder == NOBODY else attempt.lease_until_ms
    moved = _changed(attempt, lease_holder=holder, lease_until_ms=lease_until_ms, unanswered_ms=unanswered_ms)
    return moved, [moved.put(was=attempt.version)]


def return_lease(attempt: AttemptRecord, not_before_ms: int) -> list[Write]:
    """Give back the right to settle a launch: the holder knows what came of each call that it made.

    Args:
        attempt: the attempt, launching.
        not_before_ms: when somebody may settle it again.
    """
    return [_changed(attempt, lease_holder=NOBODY, lease_until_ms=not_before_ms).put(was=attempt.version)]


def confirm(attempt: AttemptRecord, now_ms: int, *, created: bool = False) -> tuple[AttemptRecord, list[Write]]:
    """SageMaker has accepted the attempt. If it was asked to stop meanwhile, it is stopping now.

    Args:
        attempt: the attempt.
        now_ms: now.
        created: whether that was a moment ago. Then it is in progress and starts, as any new training job (API
            reference, DescribeTrainingJob), and the event that says so need not be written.
    """
    state = next_attempt_state(attempt.attempt_state, AttemptTrigger.CONFIRM)
    if attempt.stop_cause is not None:
        state = next_attempt_state(state, AttemptTrigger.STOP)
    begun = {"training_job_status": "InProgress", "secondary_status": "Starting"} if created else {}
    moved = _changed(attempt, attempt_state=state, seen_ms=now_ms, unanswered_ms=None, **begun)
    return moved, [moved.put(was=attempt.version)]


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
    moved = _step(
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
        *_give(attempt.demand),
        *(entry.put() for entry in moved.line_entries()),
        *_give_up(attempt, now_ms),
    ]


def preempt(
    job: JobRecord, attempt: AttemptRecord, preemptor: WaitingJob, freed: Demand, reason: Reason, now_ms: int
) -> tuple[AttemptRecord, list[Write]]:
    """Ask an attempt to stop for a waiting job, which gets ``freed`` of what it frees. Gives the attempt as it is then.

    Fails if the preemptor no longer stands in line where the decision saw it, or waits for a pool that is paused.
    """
    moved = _step(job, JobTrigger.PREEMPT, reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(attempt, StopCause.PREEMPTION, now_ms, freed_for=preemptor.name, freed=dict(freed))
    return stopping, [
        moved.put(was=job.version),
        stopping.put(was=attempt.version),
        Check(key=LineEntry.key_of(preemptor), requires=Equals("jobName", preemptor.name)),
        *_require_no_pause(preemptor.demand),
    ]


def hold(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A waiting job leaves its lines until it is released; what is reserved for it becomes free."""
    moved = _noted(job, job.job_state, reason, now_ms, held=True)
    return moved, [moved.put(was=job.version), *_leave_line(job), *(free(reservation) if reservation else [])]


def release(job: JobRecord, team: TeamRecord | None, reason: Reason, now_ms: int) -> tuple[JobRecord, list[Write]]:
    """A held job stands in its lines again, at its old place.

    Args:
        job: the job.
        team: of the job; None if it has none, or if that is not known any more.
        reason: why.
        now_ms: now.
    """
    moved = _noted(job, job.job_state, reason, now_ms, held=False)
    return moved, [
        moved.put(was=job.version),
        *(entry.put() for entry in moved.line_entries()),
        *(_keep_team(job.team, team, now_ms) if job.team else []),
    ]


def stop_waiting(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int, expires_at: int
) -> list[Write]:
    """A waiting job leaves the line for good."""
    moved = _step(job, JobTrigger.STOP, reason, now_ms, held=False, ended_ms=now_ms, expires_at=expires_at)
    return [
        moved.put(was=job.version),
        *_leave_line(job),
        *(free(reservation) if reservation else []),
        _expire_request(job, expires_at),
    ]


def stop_holding(job: JobRecord, attempt: AttemptRecord, reason: Reason, now_ms: int) -> list[Write]:
    """Ask the attempt of a job to stop for good. A preemption under way becomes a stop; its earmark stays."""
    moved = _step(job, JobTrigger.STOP, reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(attempt, StopCause.REQUEST, now_ms)
    return [moved.put(was=job.version), stopping.put(was=attempt.version)]


def stop_sent(attempt: AttemptRecord, now_ms: int) -> list[Write]:
    """StopTrainingJob has been answered."""
    return [_changed(attempt, stop_sent_ms=now_ms).put(was=attempt.version)]


def sighted(
    attempt: AttemptRecord,
    sighting: Sighting,
    now_ms: int,
    *,
    ruled: bool,
    measure: Measure | None,
    job: JobRecord | None,
) -> list[Write]:
    """A newer status that does not end the attempt, and what the policy does about it.

    Args:
        attempt: the attempt.
        sighting: what was seen.
        now_ms: now.
        ruled: whether the rules were looked at.
        measure: what is done; with it the job has to be given.
        job: of the attempt.
    """
    seen = attempt.model_copy(
        update={
            "training_job_status": sighting.status,
            "secondary_status": sighting.secondary_status,
            "training_since_ms": sighting.training_since_ms,
            "interruptions": max(attempt.interruptions, sighting.interruptions),
            "modified_ms": sighting.modified_ms,
            "seen_ms": now_ms,
            "missing_since_ms": None,
            "ruled": ruled,
        }
    )
    if measure is None or job is None:
        return [_changed(seen).put(was=attempt.version)]
    return take_measure(job, seen, measure, now_ms)


def still(attempt: AttemptRecord, now_ms: int) -> list[Write]:
    """SageMaker has said again what is known of the attempt."""
    return [_changed(attempt, seen_ms=now_ms, missing_since_ms=None).put(was=attempt.version)]


def miss(attempt: AttemptRecord, now_ms: int) -> list[Write]:
    """SageMaker says that there is no training job of the attempt, for the first time."""
    return [_changed(attempt, missing_since_ms=now_ms).put(was=attempt.version)]


def take_measure(job: JobRecord, attempt: AttemptRecord, measure: Measure, now_ms: int) -> list[Write]:
    """The policy has a running attempt stopped, or only tells the job something."""
    if measure.cause is None:
        told = (*attempt.told, *([measure.watch] if measure.watch else []))
        moved = _noted(job, job.job_state, measure.reason, now_ms, attempt=attempt.attempt_name)
        return [moved.put(was=job.version), _changed(attempt, told=told).put(was=attempt.version)]
    moved = _step(job, JobTrigger.STOP, measure.reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(attempt, measure.cause, now_ms, stop_reason=measure.ends, requeue_priority=measure.priority)
    return [moved.put(was=job.version), stopping.put(was=attempt.version)]


def drain(job: JobRecord, attempt: AttemptRecord, pause: PauseRecord, now_ms: int) -> list[Write]:
    """Ask an attempt to stop, as its pool is drained; its job goes back into the line. Fails if that was resumed."""
    return [
        *take_measure(job, attempt, on_drain(pause), now_ms),
        Check(key=PauseRecord.key(pause.pool), requires=Equals("sinceMs", pause.since_ms)),
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
    moved = _step(
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
        *_give(minus(attempt.demand, kept)),
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
    moved = _noted(job, job.job_state, reason, now_ms, priority=priority)
    if job.held:
        # Why it waits is what it was.
        moved = moved.model_copy(update={"reason": job.reason})
    writes: list[Write] = [moved.put(was=job.version)]
    if attempt:
        writes.append(_changed(attempt, priority=priority).put(was=attempt.version))
    else:
        writes += [*_leave_line(job), *(entry.put() for entry in moved.line_entries())]
    return moved, writes


def free(reservation: ReservationRecord) -> list[Write]:
    """What is reserved becomes free."""
    return [reservation.delete(), *_give(reservation.demand)]


def see_rogue(rogue: RogueRecord) -> list[Write]:
    """A live training job that did not come through the queue is charged. Fails if it is known already."""
    return [rogue.put(requires=Absent()), *_give(minus({}, rogue.charged))]


def change_rogue(rogue: RogueRecord, **changes: Any) -> tuple[RogueRecord, list[Write]]:
    """Something else is known of a rogue job; its pools are charged as it says now."""
    moved = rogue.model_copy(update={"version": rogue.version + 1, **changes})
    put = moved.put(requires=Equals("version", rogue.version))
    return moved, [put, *_give(minus(rogue.charged, moved.charged))]


def ask_to_stop(rogue: RogueRecord, by: str) -> tuple[RogueRecord, list[Write]]:
    """An operator wants a rogue job stopped. It is tried at once, also if a stop for another reason failed lately."""
    return change_rogue(rogue, stop=True, stop_asked_by=by, stop_sent_ms=None, stop_problem="")


def forget_rogue(rogue: RogueRecord) -> list[Write]:
    """A rogue job has ended: what it was charged is free."""
    return [rogue.delete(), *_give(rogue.charged)]


def add_pool(pool: str, size: int) -> list[Write]:
    """A pool appears in the configuration."""
    return [Put(item=PoolRecord(pool=pool, size=size, free=size).put().item, requires=Absent())]


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
        *_take(minus(attempt.demand, given)),
        *([reservation.delete()] if reservation else []),
        *_leave_line(job),
        *([_count_start(limited)] if limited else []),
    ]


def resize_pool(pool: PoolRecord, size: int) -> list[Write]:
    """A pool gets another size. What is in use stays in use, so ``free`` may become negative."""
    key = PoolRecord.key(pool.pool)
    return [Change(key=key, sets={"size": size}, adds={"free": size - pool.size}, requires=Equals("size", pool.size))]


def back_off(pool: PoolRecord) -> list[Write]:
    """Nothing is launched in a pool for a while. Fails if the pool was removed."""
    sets = {"pausedUntilMs": pool.backs_off_until_ms, "pauses": pool.back_offs, "pauseCause": pool.back_off_cause}
    return [Change(key=PoolRecord.key(pool.pool), sets=sets, requires=Equals("pool", pool.pool))]


def pause(record: PauseRecord) -> list[Write]:
    """A pool, or everything, is paused. Fails if it is so already."""
    return [record.put(requires=Absent())]


def change_pause(record: PauseRecord, changed: PauseRecord) -> list[Write]:
    """Something else is said of a pause. Fails if it is over."""
    return [changed.put(requires=Equals("sinceMs", record.since_ms))]


def resume(record: PauseRecord) -> list[Write]:
    """The pause of a pool, or of everything, is over. Fails if it is another one by now."""
    return [Delete(key=PauseRecord.key(record.pool), requires=Equals("sinceMs", record.since_ms))]


def end_restore(record: PauseRecord) -> list[Write]:
    """The training jobs since the restore are known. What somebody had paused before stays so. Fails if it is over."""
    # Somebody may have paused everything meanwhile, so that the pause stays.
    restored = AllEqual((("restoredMs", record.restored_ms or 0), ("sinceMs", record.since_ms)))
    if not record.stays:
        return [Delete(key=PauseRecord.key(record.pool), requires=restored)]
    return [record.model_copy(update={"restored_ms": None, "stays": False}).put(requires=restored)]


def remove_pool(pool: PoolRecord) -> list[Write]:
    """An empty pool of size 0 leaves the ledger. Fails if anybody uses it.

    Both numbers: where the pool has come back meanwhile, with as many instances as are still held, nothing is free.
    """
    return [Delete(key=PoolRecord.key(pool.pool), requires=AllEqual((("size", 0), ("free", 0))))]


def add_team(team: str, known: TeamRecord | None) -> list[Write]:
    """A team appears in the configuration, or comes back.

    Fails if a start of one of its jobs is counted now: a count that went back would let a decision pass that was made
    before.

    Args:
        team: its name.
        known: the team as it had left; None if it is new.
    """
    if known is None:
        return [TeamRecord(team=team).put(requires=Absent())]
    return [known.model_copy(update={"left_ms": None}).put(requires=Equals("starts", known.starts))]


def take_out_team(team: TeamRecord, now_ms: int) -> list[Write]:
    """A team is taken out of the configuration; the lines of its waiting jobs are still read.

    Fails if a start of one of its jobs is counted now, as :func:`add_team`.
    """
    return [team.model_copy(update={"left_ms": now_ms}).put(requires=Equals("starts", team.starts))]


def remove_team(team: TeamRecord) -> list[Write]:
    """A team that has left, and whose lines are empty, is forgotten. Fails if it has come back."""
    return [Delete(key=TeamRecord.key(team.team), requires=Equals("leftMs", team.left_ms or 0))]


def _step(
    job: JobRecord,
    trigger: JobTrigger,
    reason: Reason,
    now_ms: int,
    *,
    attempt: str | None = None,
    **changes: Any,
) -> JobRecord:
    return _noted(job, next_job_state(job.job_state, trigger), reason, now_ms, attempt=attempt, **changes)


def _noted(
    job: JobRecord,
    state: JobState,
    reason: Reason,
    now_ms: int,
    *,
    attempt: str | None = None,
    **changes: Any,
) -> JobRecord:
    """The job in its next version, with the step in its history."""
    noted = ReasonRecord.of(reason)
    step = Step(time_ms=now_ms, job_state=state, reason=noted, attempt_name=attempt)
    history = (*job.history, step)
    if len(history) > MAX_HISTORY:
        history = (history[0], *history[-(MAX_HISTORY - 1) :])
    update = {"job_state": state, "reason": noted, "history": history, "version": job.version + 1, **changes}
    return job.model_copy(update=update)


def _require_released(job: JobRecord) -> None:
    if job.held:
        raise InvalidTransition("held", JobTrigger.START)


def _started(job: JobRecord, attempt: AttemptRecord, reason: Reason, now_ms: int) -> JobRecord:
    """The job as it has this attempt."""
    _require_released(job)
    usage = job.usage
    return _step(
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


def _changed(attempt: AttemptRecord, **changes: Any) -> AttemptRecord:
    return attempt.model_copy(update={"version": attempt.version + 1, **changes})


def _stopping(attempt: AttemptRecord, cause: StopCause, now_ms: int, **changes: Any) -> AttemptRecord:
    state = next_attempt_state(attempt.attempt_state, AttemptTrigger.STOP)
    since_ms = attempt.stopping_since_ms or now_ms
    return _changed(attempt, attempt_state=state, stop_cause=cause, stopping_since_ms=since_ms, **changes)


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


def _take(demand: Demand) -> list[Write]:
    """Take instances from the ledgers. A negative count gives back, what a reservation held beyond the demand."""
    return [
        Change(key=PoolRecord.key(pool), adds={"free": -count}, requires=AtLeast("free", count))
        for pool, count in sorted(demand.items())
    ]


def _give(demand: Demand) -> list[Write]:
    return [
        # The ledger of a pool outlives all that it holds, so its absence would be a fault: better no write at all.
        Change(key=PoolRecord.key(pool), adds={"free": count}, requires=Equals("pool", pool))
        for pool, count in sorted(demand.items())
        if count
    ]


def _leave_line(job: JobRecord) -> Sequence[Write]:
    return [Delete(key=key) for key in job.line_keys()]


def _require_no_pause(demand: Demand) -> list[Write]:
    """So what is decided before a pause is answered takes effect before that, or not at all."""
    return [Check(key=PauseRecord.key(pool), requires=Absent()) for pool in (*sorted(demand), PauseRecord.EVERYTHING)]


def _count_start(team: TeamRecord) -> Write:
    return Change(key=TeamRecord.key(team.team), adds={"starts": 1}, requires=Equals("starts", team.starts))


def _reserve(job: str, demand: Mapping[str, int], known: ReservationRecord | None) -> Write:
    if known is None:
        return ReservationRecord(job_name=job, demand=dict(demand)).put(was=None)
    grown = ReservationRecord(job_name=job, demand=plus(known.demand, demand), version=known.version + 1)
    return grown.put(was=known.version)


def _expire_request(job: JobRecord, expires_at: int) -> Write:
    return Change(key=request_key(job.job_name), sets={"expiresAt": expires_at})
