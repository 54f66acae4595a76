"""Transitions of a job: it enters the queue, gets an attempt, loses it, and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from headway.errors import InvalidTransition
from headway.job_terms import Standing
from headway.jobpolicy.failure_kinds import FailureKind
from headway.lifecycle import (
    TERMINAL,
    JobTrigger,
    next_job_state,
)
from headway.reasons import Reason
from headway.refusals import FailedLaunches
from headway.scheduling.standing import standing_after
from headway.vectors import minus, plus
from headway_service.ports.table import Absent, Equals, Put, Update, Write
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord, GivenUpRecord
from headway_service.store.records.capacity.ledger import CalendarRecord, ReservationRecord, TeamRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.capacity.start_count import StartCountRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.job import (
    MAX_ENDED_ATTEMPTS,
    EndedAttempt,
    JobRecord,
    request_item,
)
from headway_service.store.records.listed_job import Usage
from headway_service.store.records.timer import set_timer
from headway_service.store.transitions.dependency import add_dependant
from headway_service.store.transitions.ledger import free
from headway_service.store.transitions.retry_plan import RetryPlan
from headway_service.store.transitions.shared import (
    allocate,
    change_attempt,
    expire_request,
    keep_for_preemptor,
    keep_team,
    leave_queue,
    move_job,
    note_launches,
    note_step,
    open_array,
    require_not_paused,
    return_instances,
    wake_array,
)
from headway_service.store.transitions.warm_pool import claim_warm_pool

GIVEN_UP_KEPT_S = 5_184_000
"""How long the record of a given-up launch is kept: longer than a training job may wait and run (API reference,
StoppingCondition)."""


def enqueue(
    job: JobRecord, request: str, alternatives: str = "", awaited: Sequence[JobRecord] = (), *, sweep: str = ""
) -> list[Write]:
    """A new job enters the queue, or waits to enter it; an array is opened, so that the next tick makes its members.

    Fails if there is a job of that name, or if one of the jobs that it waits for has changed since it was read: it may
    have ended.

    Args:
        request: its CreateTrainingJob request, as JSON.
        alternatives: see :func:`headway_service.store.records.job.request_item`.
        awaited: the jobs that it waits for.
        sweep: of an array, what its members differ in, as JSON.
    """
    stored = job.put()
    accepted_ms = job.accepted_time if job.array is not None else 0
    item = request_item(job.job_name, request, alternatives, sweep=sweep, accepted_ms=accepted_ms)
    return [
        Put(item=stored.item, requires=Absent()),
        Put(item=item),
        *(entry.put() for entry in job.queue_entries()),
        *([open_array(job)] if job.array is not None else []),
        *(add_dependant(each, job.job_name) for each in awaited),
        *set_timer(job, job.entry_time),
    ]


def start(
    job: JobRecord,
    attempt: AttemptRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    *,
    limited: TeamRecord | None = None,
    calendars: Sequence[CalendarRecord] = (),
    counts: Sequence[StartCountRecord] = (),
    warm: WarmPoolRecord | None = None,
    pauses: Mapping[str, int] | None = None,
) -> list[Write]:
    """The intent to launch: the job leaves the queue and its attempt holds the instances.

    In a warm pool it needs no free instances: both are charged until SageMaker tells which instances the attempt uses.

    Fails if the instances are no longer free, or the warm pool is no longer there, if one of the pools is paused, if
    the job has changed since it was read, or if another job of a limited team, in a pool with a calendar, or in one
    whose starts are counted, was started since that was read.

    Args:
        attempt: its next attempt, launching.
        reservation: the reservation of the job, which ends.
        reason: why it starts.
        limited: the team of the job, if it has a limit.
        calendars: the calendars of its pools.
        counts: how many jobs were started in its pools, as far as that is counted.
        warm: the warm pool that it is started in.
        pauses: how often its pools had been paused, for those in which that is counted.

    Raises:
        InvalidTransition: the job does not wait, or is held.
    """
    moved = _started(job, attempt, reason, now_ms)
    own = reservation.demand if reservation else {}
    takes = minus(attempt.demand, own)
    # Where instances are not taken, there is nothing to which the condition could belong.
    counted = {} if warm is not None or pauses is None else pauses
    return [
        moved.put(was=job.version),
        Put(item=attempt.put().item, requires=Absent()),
        *(allocate(takes, counted) if warm is None else return_instances(minus({}, takes))),
        *(claim_warm_pool(warm, attempt.attempt_name) if warm else []),
        *([reservation.delete()] if reservation else []),
        *leave_queue(job),
        *([_count_start(limited)] if limited else []),
        *(_count_start_in(calendar) for calendar in calendars),
        *(each.count() for each in counts),
        *require_not_paused(attempt.demand, counted),
    ]


def defer_launch(
    job: JobRecord,
    attempt: AttemptRecord,
    reason: Reason,
    now_ms: int,
    *,
    failed: FailedLaunches | None,
    name_is_free: bool,
    machine_ms: int,
) -> list[Write]:
    """The attempt was not launched; the job returns to its position in the queue.

    Args:
        attempt: its attempt, launching.
        reason: SageMaker's message.
        failed: the launches in a row that got no instances, with this one; None to leave them as they are.
        name_is_free: whether the next launch may use the same name.
    """
    moved = move_job(
        job,
        JobTrigger.LAUNCH_DEFERRED,
        reason,
        now_ms,
        attempt=attempt.attempt_name,
        attempt_count=attempt.number - 1 if name_is_free else attempt.number,
        live_attempt=None,
        not_before_ms=0,
        held_by="",
        usage=_usage_after(job, None),
        bound=job.bound or _binds(job, attempt, None, None),
    )
    if failed is not None:
        moved = moved.with_failed(failed)
    # It may choose again among its alternatives.
    moved = moved.on(0)
    return [
        moved.put(was=job.version),
        attempt.delete(),
        *return_instances(attempt.demand),
        *(entry.put() for entry in moved.queue_entries()),
        *note_launches(job, moved),
        *_recheck(job, moved, now_ms),
        *_give_up(attempt, now_ms, machine_ms),
    ]


def hold(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A waiting job leaves the queue until it is released; its reservation becomes free.

    Args:
        reason: why.
    """
    moved = note_step(job, job.job_state, reason, now_ms, held=True)
    reserved = free(reservation) if reservation else []
    # An equal job that waits for it may start before it now.
    recheck = [] if job.twin else job.recheck()
    return moved, [moved.put(was=job.version), *leave_queue(job), *reserved, *recheck]


def release(
    job: JobRecord, team: TeamRecord | None, reason: Reason, now_ms: int, *, machine_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A held job returns to its position in the queue, as if each of its launches had got instances.

    Args:
        team: the team of the job; None if the job has none, or the ledger no longer has it.
        reason: why.
    """
    moved = note_step(job.without_failed(), job.job_state, reason, now_ms, held=False)
    return moved, [
        moved.put(was=job.version),
        *moved.recheck(),
        *(entry.put() for entry in moved.queue_entries()),
        *note_launches(job, moved),
        *(keep_team(job.team, team, machine_ms) if job.team else []),
        *wake_array(job),
    ]


def give_up(
    job: JobRecord, reservation: ReservationRecord | None, reason: Reason, now_ms: int, expires_at: int
) -> list[Write]:
    """A waiting job that is not tried any more has failed.

    Args:
        reservation: its reservation, which becomes free.
        reason: why.
        expires_at: when the table may delete the job, s since the epoch.
    """
    moved = move_job(job, JobTrigger.GIVE_UP, reason, now_ms, held=False, ended_ms=now_ms, expires_at=expires_at)
    return _leave_for_good(job, moved, reservation)


def stop_waiting(
    job: JobRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    expires_at: int,
    **changes: Any,
) -> list[Write]:
    """A waiting job leaves the queue for good.

    Args:
        reservation: its reservation, which becomes free.
        reason: why.
        expires_at: when the table may delete the job, s since the epoch.
        changes: other fields of the job that change.
    """
    moved = move_job(
        job, JobTrigger.STOP, reason, now_ms, held=False, ended_ms=now_ms, expires_at=expires_at, **changes
    )
    writes = _leave_for_good(job, moved, reservation)
    if job.array is None:
        return writes
    # The request of a job expires when it is in the sums of usage. An array never is.
    return [*writes, *expire_request(job, expires_at), *wake_array(job)]


def _leave_for_good(job: JobRecord, moved: JobRecord, reservation: ReservationRecord | None) -> list[Write]:
    return [
        moved.put(was=job.version),
        *leave_queue(job),
        *(free(reservation) if reservation else []),
        *note_launches(job, moved),
        *moved.ended(),
    ]


def end(
    job: JobRecord,
    attempt: AttemptRecord,
    trigger: JobTrigger,
    reason: Reason,
    *,
    sighting: TrainingJobStatus | None,
    preemptor: JobRecord | None,
    reservation: ReservationRecord | None,
    now_ms: int,
    machine_ms: int,
    expires_at: int,
    retry: RetryPlan | None,
    vanished: bool,
    warm: WarmPoolRecord | None = None,
    lost_ms: int = 0,
    failed: FailedLaunches | None = None,
    remembers: bool = False,
) -> list[Write]:
    """The attempt has ended (or was never launched); its instances become free, or are reserved for the preemptor.

    Args:
        job: the job of the attempt.
        trigger: what this means for the job.
        reason: why.
        sighting: the final status; None if the attempt was never launched.
        preemptor: the job that the attempt was stopped for, if it is still queued.
        reservation: the reservation that the preemptor already has.
        now_ms: the training time, ms.
        expires_at: when the table may delete the job if it has ended, s since the epoch.
        retry: how the job continues, if it is retried.
        vanished: whether SageMaker no longer has the training job, so that its end is unknown.
        warm: the warm pool that it leaves. Its instances stay charged, and what is freed for the preemptor is reserved
            when it is gone.
        lost_ms: how much of the attempt's time its job has lost.
        failed: the launches in a row that got no instances, if it got none.
        remembers: whether what it has used counts among teams later.
    """
    spot = job.on_demand_limit_ms is not None and not attempt.on_demand
    trained_ms = sighting.trained_ms if sighting and spot else None
    ended = EndedAttempt(
        attempt_name=attempt.attempt_name,
        number=attempt.number,
        since_ms=attempt.since_ms,
        ended_ms=now_ms,
        training_job_status=sighting.status if sighting else None,
        secondary_status=sighting.secondary_status if sighting else None,
        failure_reason=sighting.failure_reason if sighting else None,
        reason=ReasonRecord.of(reason),
        # An attempt that was never launched has used nothing.
        demand=attempt.demand if sighting else {},
        spot=spot,
        lost_ms=lost_ms if sighting else 0,
        billable_s=sighting.billable_s if sighting else None,
        trained_s=None if trained_ms is None else trained_ms // 1000,
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
        metrics=sighting.metrics if sighting and trigger is JobTrigger.COMPLETE else None,
        preemption_count=job.preemption_count + (trigger is JobTrigger.PREEMPTED_ENDED),
        interruptions=job.interruptions + max(attempt.interruptions, sighting.interruptions if sighting else 0),
        usage=_usage_after(job, ended if sighting else None),
        bound=job.bound or _binds(job, attempt, sighting, retry, vanished=vanished),
        **asdict(_standing_after(attempt, sighting, lost_ms, now_ms)),
        **(retry.changes(job) if retry else {}),
        ended_ms=now_ms if over else None,
        expires_at=expires_at if over else None,
    )
    if sighting is not None and sighting.provisioned:
        moved = moved.with_failed(None)
    elif failed is not None:
        moved = moved.with_failed(failed)
    # Only what waits has something beside its run time.
    moved = moved.model_copy(update={"beside_s": None}) if over else moved.on(0)
    kept, reserves = keep_for_preemptor(attempt.freed, preemptor if warm is None else None, reservation)
    writes: list[Write] = [
        moved.put(was=job.version),
        attempt.delete(),
        *(return_instances(minus(attempt.demand, kept)) if warm is None else [warm.put()]),
        *(entry.put() for entry in moved.queue_entries()),
        *reserves,
        *note_launches(job, moved),
        *_recheck(job, moved, now_ms),
        *moved.ended(),
        *([attempt.used(now_ms).put()] if remembers else []),
    ]
    if vanished or sighting is None:
        writes += _give_up(attempt, now_ms, machine_ms, vanished=vanished)
    return writes


def _recheck(job: JobRecord, moved: JobRecord, now_ms: int) -> list[Put]:
    """An equal job that waits for one that is unlaunchable from now on may start before it.

    Args:
        job: the job before the end of a launch.
        moved: the job after it.
    """
    was_before = job.failed is not None and job.is_unlaunchable(job.failed.last_ms)
    return moved.recheck() if moved.is_unlaunchable(now_ms) and not was_before else []


def _standing_after(attempt: AttemptRecord, sighting: TrainingJobStatus | None, lost_ms: int, now_ms: int) -> Standing:
    """What is left of the limit of a job after an attempt, or its service, as its order compares it; and its handicap.

    Of the limit only what it trained before its stop counts, less what is lost of that: an attempt may hold its
    instances before it trains. As service all time until its stop counts, also if it was never launched: others could
    not use its instances. So its turn is not earlier than the decision that stopped it took it to be.

    Args:
        sighting: its final status; None if it was never launched.
        lost_ms: how much of its time is lost.
        now_ms: its end, ms.
    """
    until_ms = now_ms if attempt.stopping_since_ms is None else attempt.stopping_since_ms
    trained_ms = 0 if sighting is None else until_ms - attempt.since_ms
    if sighting is not None and sighting.trained_ms is not None:
        trained_ms = min(trained_ms, sighting.trained_ms)
    return standing_after(attempt.allocation(), until_ms, max(0, trained_ms - lost_ms))


def change_priority(
    job: JobRecord, attempt: AttemptRecord | None, priority: int, reason: Reason, now_ms: int
) -> tuple[JobRecord, list[Write]]:
    """A job that has not ended gets another priority; a waiting job moves in the queue.

    Args:
        attempt: its live attempt, if it has one.
        priority: the new priority.
        reason: why.
    """
    moved = note_step(job, job.job_state, reason, now_ms, priority=priority)
    if job.held:
        # It still waits for the same reason.
        moved = moved.model_copy(update={"reason": job.reason})
    if job.members is not None:
        # A tick gives it to the members, too.
        moved = moved.model_copy(update={"members": job.members.model_copy(update={"is_reprioritized": True})})
    writes: list[Write] = [moved.put(was=job.version)]
    if attempt:
        writes.append(change_attempt(attempt, priority=priority).put(was=attempt.version))
    else:
        writes += [*leave_queue(job), *(entry.put() for entry in moved.queue_entries()), *moved.recheck()]
    return moved, [*writes, *(wake_array(job) if job.members is not None else ())]


def comment(job: JobRecord, text: str) -> tuple[JobRecord, list[Write]]:
    """A job, in whichever state, gets another comment. No decision depends on it, so its history has no step.

    Args:
        text: the comment; empty for none.
    """
    moved = job.model_copy(update={"comment": text, "version": job.version + 1})
    return moved, [moved.put(was=job.version)]


def adopt(
    job: JobRecord,
    attempt: AttemptRecord,
    rogue: RogueJobRecord,
    reservation: ReservationRecord | None,
    reason: Reason,
    now_ms: int,
    *,
    limited: TeamRecord | None,
) -> list[Write]:
    """A rogue training job becomes the live attempt of the job that waits for it.

    Fails if a pool would then hold more than its size, if the job or the training job has changed since it was read, or
    if another job of a limited team was started. Pauses do not matter, as nothing is started.

    Args:
        attempt: its next attempt, live.
        rogue: the rogue training job as it is charged.
        reservation: the reservation of the job, which ends.
        reason: why.
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
        *allocate(minus(attempt.demand, given)),
        *([reservation.delete()] if reservation else []),
        *leave_queue(job),
        *([_count_start(limited)] if limited else []),
    ]


def _require_released(job: JobRecord) -> None:
    if job.held:
        raise InvalidTransition("held", JobTrigger.START)


def _require_no_dependency(job: JobRecord) -> None:
    if job.awaited:
        raise InvalidTransition("waiting for other jobs", JobTrigger.START)


def _require_begun(job: JobRecord) -> None:
    if job.begin_ms is not None:
        raise InvalidTransition("waiting for its time", JobTrigger.START)


def _require_entered(job: JobRecord) -> None:
    if job.is_set_aside:
        raise InvalidTransition("set aside", JobTrigger.START)


def _started(job: JobRecord, attempt: AttemptRecord, reason: Reason, now_ms: int) -> JobRecord:
    """The job with this attempt, on its alternative."""
    _require_released(job)
    _require_no_dependency(job)
    _require_begun(job)
    _require_entered(job)
    usage = job.usage
    return move_job(
        job.on(attempt.alternative),
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


def _usage_after(job: JobRecord, ended: EndedAttempt | None) -> Usage:
    """The instance time of a job after the end of an attempt; None if that was never launched."""
    usage = job.usage
    if ended is None:
        # If no earlier attempt was launched either, the job has not started yet.
        return usage if usage.instance_ms else Usage()
    changes = {
        "instance_ms": plus(usage.instance_ms, ended.held_ms),
        "lost_ms": usage.lost_ms + ended.lost_ms * sum(ended.demand.values()),
        "billed_ms": plus(usage.billed_ms, ended.billed_ms),
        "unbilled_ms": plus(usage.unbilled_ms, ended.unbilled_ms),
        "saved_ms": plus(usage.saved_ms, ended.saved_ms),
        "lost_billed_ms": plus(usage.lost_billed_ms, ended.lost_billed_ms),
        "lost_unbilled_ms": plus(usage.lost_unbilled_ms, ended.lost_unbilled_ms),
    }
    return usage.model_copy(update=changes)


def _binds(
    job: JobRecord,
    attempt: AttemptRecord,
    sighting: TrainingJobStatus | None,
    retry: RetryPlan | None,
    *,
    vanished: bool = False,
) -> bool:
    """Whether a job stays on the alternative of an attempt that has ended."""
    if not job.choices:
        return False
    if retry is not None and retry.on_demand:
        # Its next attempt has the on-demand instances in place of these spot instances.
        return True
    if job.portable_checkpoint:
        return False
    if sighting is None:
        # A launch whose answer is missing may have run.
        return vanished or attempt.unanswered_ms is not None
    # One that got no instances has written no checkpoint.
    return sighting.provisioned or retry is None or retry.kind is not FailureKind.CAPACITY


def _give_up(attempt: AttemptRecord, now_ms: int, machine_ms: int, *, vanished: bool = False) -> list[Write]:
    """Record that a launch was given up, if its training job may still appear in SageMaker."""
    if attempt.unanswered_ms is None and not vanished:
        return []
    given_up = GivenUpRecord(
        attempt_name=attempt.attempt_name,
        job_name=attempt.job_name,
        mark=attempt.mark,
        given_up_ms=now_ms,
        expires_at=machine_ms // 1000 + GIVEN_UP_KEPT_S,
    )
    return [given_up.put()]


def _count_start(team: TeamRecord) -> Write:
    return Update(key=TeamRecord.key(team.team), adds={"starts": 1}, requires=Equals("starts", team.starts))


def _count_start_in(calendar: CalendarRecord) -> Write:
    key = CalendarRecord.key(calendar.pool)
    return Update(key=key, adds={"version": 1}, requires=Equals("version", calendar.version))
