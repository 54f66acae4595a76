"""Transitions of an attempt while it holds instances."""

from __future__ import annotations

from typing import Any

from headway.lifecycle import (
    AttemptTrigger,
    JobTrigger,
    next_attempt_state,
)
from headway.model import Demand, WaitingJob
from headway.plan import StopForSize
from headway.reasons import Reason
from headway.refusals import FailedLaunches
from headway.scheduling.alternatives import in_pools
from headway_service.errors import Conflict
from headway_service.ports.table import AllEqual, Check, Equals, Write
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.policy_actions import PolicyAction, on_drain
from headway_service.store.records.capacity.attempt import NOBODY, AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.job import (
    JobRecord,
)
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.transitions.shared import change_attempt, move_job, note_step, require_not_paused


def take_lease(attempt: AttemptRecord, holder: str, lease_until_ms: int) -> tuple[AttemptRecord, list[Write]]:
    """Take the lease of a launch, the right to settle it.

    A holder that did not return its lease may have called CreateTrainingJob until that ended, and the answer is lost.

    Args:
        attempt: the attempt, launching.
        holder: the invocation that takes the lease.
        lease_until_ms: when it ends.
    """
    returned = attempt.lease_holder == NOBODY
    moved = change_attempt(
        attempt,
        lease_holder=holder,
        lease_until_ms=lease_until_ms,
        unanswered_ms=attempt.unanswered_ms if returned else attempt.lease_until_ms,
        unanswered=attempt.unanswered + (not returned),
    )
    return moved, [moved.put(was=attempt.version)]


def return_lease(attempt: AttemptRecord, not_before_ms: int, *, refused: FailedLaunches | None = None) -> list[Write]:
    """Return the lease of a launch: the holder knows the outcome of each call that it made.

    Args:
        attempt: the attempt, launching.
        not_before_ms: when the lease may be taken again.
        refused: the refusal of the last call, if it proves nothing yet; None leaves what is known.
    """
    changes: dict[str, Any] = {"lease_holder": NOBODY, "lease_until_ms": not_before_ms}
    if refused is not None:
        changes["refused"] = FailedLaunchesRecord.of(refused)
    return [change_attempt(attempt, **changes).put(was=attempt.version)]


def confirm(
    attempt: AttemptRecord, machine_ms: int, *, created: bool = False, created_from_ms: int = 0
) -> tuple[AttemptRecord, list[Write]]:
    """SageMaker has accepted the attempt. If its stop was requested meanwhile, it is stopping.

    Args:
        created: whether that was a moment ago. A new training job is in progress and starting (API reference,
            DescribeTrainingJob), so the event for it need not be written.
        created_from_ms: the earliest time at which SageMaker can have created the training job, ms; 0 if an earlier
            call may have created it.
    """
    state = next_attempt_state(attempt.attempt_state, AttemptTrigger.CONFIRM)
    if attempt.stop_cause is not None:
        state = next_attempt_state(state, AttemptTrigger.STOP)
    begun = {"training_job_status": "InProgress", "secondary_status": "Starting"} if created else {}
    known: dict[str, Any] = {"seen_ms": machine_ms, "created_from_ms": created_from_ms}
    known |= {"unanswered_ms": None, "unanswered": 0, "refused": None}
    moved = change_attempt(attempt, attempt_state=state, **known, **begun)
    return moved, [moved.put(was=attempt.version)]


def preempt(
    job: JobRecord, attempt: AttemptRecord, preemptor: WaitingJob, freed: Demand, reason: Reason, now_ms: int
) -> tuple[AttemptRecord, list[Write]]:
    """Ask an attempt to stop for a waiting job. One that lacks its instances then counts as a launch without any.

    Fails if the preemptor has left its position in the queue or demands other instances, or waits for a paused pool.

    Args:
        job: the job of the attempt.
        preemptor: the waiting job.
        freed: the part of the attempt's instances that is reserved for the preemptor.
        reason: why.

    Returns:
        The attempt as it is then, and the writes.
    """
    cause = StopCause.NO_INSTANCES if attempt.lacks_instances else StopCause.PREEMPTION
    moved = move_job(job, JobTrigger.PREEMPT, reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(attempt, cause, now_ms, freed_for=preemptor.name, freed=dict(freed))
    # Of an attempt that is stopped for a team's limit, no instances are reserved for the job. As no two alternatives
    # share a pool, an entry there shows that the job may still run on this one.
    wanted = in_pools(preemptor, freed or attempt.demand)
    return stopping, [
        moved.put(was=job.version),
        stopping.put(was=attempt.version),
        Check(
            key=QueueEntry.key_of(wanted),
            requires=AllEqual((("jobName", preemptor.name), ("demand", dict(preemptor.demand)))),
        ),
        *require_not_paused(wanted.demand),
    ]


def stop_active(
    job: JobRecord, attempt: AttemptRecord, reason: Reason, now_ms: int, *, by: str = "", given: str = ""
) -> list[Write]:
    """Ask the attempt of a job to stop for good.

    If it is being preempted, the preemptor still gets its instances.

    Args:
        attempt: its live attempt.
        reason: why.
        by: who stops it, as in ``user/ada``; empty if that is the policy or an array.
        given: the caller's own reason, which the end of the attempt repeats.
    """
    moved = move_job(job, JobTrigger.STOP, reason, now_ms, attempt=attempt.attempt_name)
    # Also if the caller gave none: the policy's reason no longer applies.
    stopping = _stopping(attempt, StopCause.REQUEST, now_ms, stopped_by=by, stop_reason=given)
    return [moved.put(was=job.version), stopping.put(was=attempt.version)]


def stop_sent(attempt: AttemptRecord, now_ms: int) -> list[Write]:
    """SageMaker has accepted StopTrainingJob."""
    return [change_attempt(attempt, stop_sent_ms=now_ms).put(was=attempt.version)]


def record_status(
    attempt: AttemptRecord,
    sighting: TrainingJobStatus,
    now_ms: int,
    *,
    machine_ms: int,
    ruled: bool,
    lacks_instances: bool,
    unheard: bool,
    action: PolicyAction | None,
    job: JobRecord | None,
) -> list[Write]:
    """A newer status that does not end the attempt, and the policy action that follows from it.

    Args:
        sighting: the status.
        now_ms: the training time, ms.
        ruled: whether the rules have been checked.
        lacks_instances: whether it has no instances, and gives way to others that can use them.
        unheard: whether its last change was found by asking SageMaker.
        action: the policy action, if there is one; needs the job.
        job: the job of the attempt.
    """
    seen = attempt.model_copy(
        update={
            "training_job_status": sighting.status,
            "secondary_status": sighting.secondary_status,
            "training_since_ms": sighting.training_since_ms,
            "interruptions": max(attempt.interruptions, sighting.interruptions),
            "modified_ms": sighting.modified_ms,
            "seen_ms": machine_ms,
            "missing_since_ms": None,
            "ruled": ruled,
            "lacks_instances": lacks_instances,
            "unheard": unheard,
        }
    )
    if action is None or job is None:
        return [change_attempt(seen).put(was=attempt.version)]
    return apply_policy_action(job, seen, action, now_ms)


def touch(attempt: AttemptRecord, machine_ms: int, *, checkpoint_seen_ms: int | None = None) -> list[Write]:
    """SageMaker has reported the known status of the attempt again.

    Args:
        checkpoint_seen_ms: when a checkpoint was written that was seen since, ms; None if no newer one was.
    """
    known = {} if checkpoint_seen_ms is None else {"checkpoint_seen_ms": checkpoint_seen_ms}
    return [change_attempt(attempt, seen_ms=machine_ms, missing_since_ms=None, **known).put(was=attempt.version)]


def note_heard(attempt: AttemptRecord) -> list[Write]:
    """An event tells of what SageMaker was asked for before."""
    return [change_attempt(attempt, unheard=False).put(was=attempt.version)]


def note_missing(attempt: AttemptRecord, machine_ms: int) -> list[Write]:
    """SageMaker has no training job of the attempt, for the first time."""
    return [change_attempt(attempt, missing_since_ms=machine_ms).put(was=attempt.version)]


def apply_policy_action(job: JobRecord, attempt: AttemptRecord, action: PolicyAction, now_ms: int) -> list[Write]:
    """A policy action: stops a running attempt, or only adds a step to the history of its job.

    Args:
        attempt: its running attempt.
        action: the policy action.

    Raises:
        Conflict: the attempt no longer holds the job's instances; the job was requeued since the attempt was read.
    """
    if job.live_attempt != attempt.attempt_name:
        raise Conflict.stale()
    if action.cause is None:
        notified = (*attempt.notified, *([action.watch] if action.watch else []))
        moved = note_step(job, job.job_state, action.reason, now_ms, attempt=attempt.attempt_name)
        return [moved.put(was=job.version), change_attempt(attempt, notified=notified).put(was=attempt.version)]
    moved = move_job(job, JobTrigger.STOP, action.reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(
        attempt,
        action.cause,
        now_ms,
        stop_reason=action.ends,
        requeue_priority=action.priority,
        stops_early=action.early,
    )
    return [moved.put(was=job.version), stopping.put(was=attempt.version)]


def drain(job: JobRecord, attempt: AttemptRecord, pause: PauseRecord, now_ms: int) -> list[Write]:
    """Ask an attempt to stop, as its pool is drained; its job returns to the queue. Fails if the pool was resumed.

    Args:
        attempt: its running attempt.
        pause: the draining pause.
    """
    return [
        *apply_policy_action(job, attempt, on_drain(pause), now_ms),
        Check(key=PauseRecord.key(pause.pool), requires=Equals("sinceMs", pause.since_ms)),
    ]


def stop_for_size(
    job: JobRecord, attempt: AttemptRecord, pool: PoolRecord, action: StopForSize, now_ms: int
) -> tuple[AttemptRecord, list[Write]]:
    """Ask an attempt to stop, as its pool has become smaller; its job returns to the queue.

    Fails if the pool has another size, or another use, by then: what ends meanwhile may leave room for it.

    Args:
        attempt: its running attempt.
        pool: the pool as it was decided on.
        action: the decision.

    Returns:
        The attempt as it is then, and the writes.
    """
    if job.live_attempt != attempt.attempt_name:
        raise Conflict.stale()
    ends = f"waits again in its old place in the queue: {action.reason.message}"
    moved = move_job(job, JobTrigger.STOP, action.reason, now_ms, attempt=attempt.attempt_name)
    stopping = _stopping(attempt, StopCause.REQUEUE, now_ms, stop_reason=ends)
    return stopping, [
        moved.put(was=job.version),
        stopping.put(was=attempt.version),
        Check(key=PoolRecord.key(pool.pool), requires=AllEqual((("size", action.size), ("free", pool.free)))),
    ]


def _stopping(attempt: AttemptRecord, cause: StopCause, now_ms: int, **changes: Any) -> AttemptRecord:
    state = next_attempt_state(attempt.attempt_state, AttemptTrigger.STOP)
    since_ms = attempt.stopping_since_ms or now_ms
    return change_attempt(attempt, attempt_state=state, stop_cause=cause, stopping_since_ms=since_ms, **changes)
