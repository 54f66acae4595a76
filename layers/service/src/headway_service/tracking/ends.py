"""What the end of an attempt means for its job. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway import reasons
from headway.durations import in_words
from headway.jobpolicy.failure_kinds import LIMITS, FailureKind, failure_kind
from headway.jobpolicy.retry import Failure, decide_retry
from headway.lifecycle import JobTrigger
from headway.policy import Policy
from headway.reasons import Reason, ReasonCode
from headway.refusals import Cause, FailedLaunches, NoInstances, add
from headway.scheduling.lost_work.checkpoints import interval_ms, last_seen_ms
from headway_service.admission.policy_view import fits_on_demand
from headway_service.config.document import Configuration
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.transitions import RetryPlan

_BY_POLICY = {
    StopCause.POLICY: (JobTrigger.END_STOPPED, ReasonCode.STOPPED_BY_POLICY),
    StopCause.REQUEUE: (JobTrigger.RETRY, ReasonCode.REQUEUED),
    StopCause.ON_DEMAND: (JobTrigger.RETRY, ReasonCode.ON_DEMAND),
}
"""The next state of a job whose attempt the policy has stopped."""

LOSING = frozenset({JobTrigger.PREEMPTED_ENDED, JobTrigger.RETRY, JobTrigger.FAIL})
"""How an attempt ends that loses work: its job runs again, or has failed. A stop on request or at a limit does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """How an attempt ends, and what its job does then.

    Attributes:
        trigger: the transition of the job.
        reason: why.
        retry: when and how the job is retried; None if it is not.
        vanished: whether SageMaker no longer has the training job.
    """

    trigger: JobTrigger
    reason: Reason
    retry: RetryPlan | None = None
    vanished: bool = False


def end_of(
    attempt: AttemptRecord,
    sighting: TrainingJobStatus,
    job: JobRecord,
    plans: Callable[[], Iterable[PlanRecord]],
    configuration: Callable[[], Configuration],
    now_ms: int,
) -> End:
    """What the final status of an attempt means.

    Args:
        plans: the training plans that its pools follow; asked only where they matter.
        configuration: what the policy does about jobs that fail; asked only where it matters.
        now_ms: the training time, ms.
    """
    end = _by_itself(attempt, sighting)
    if sighting.status == "Completed":
        return end
    pending_s = _pending_s(attempt, sighting)
    if pending_s is not None and sighting.provisioned:
        # They came between the decision to stop it and the stop, which shows no want of capacity.
        return End(trigger=JobTrigger.RETRY, reason=reasons.instances_too_late(pending_s), retry=RetryPlan())
    failure = _Failed(attempt, sighting, job, configuration, now_ms)
    if pending_s is not None:
        return failure.retried(FailureKind.CAPACITY, reasons.no_instances(pending_s))
    if attempt.stop_cause is not None:
        return end
    if sighting.secondary_status not in LIMITS:
        # AWS does not document whether such a training job is Stopped or Failed, nor the reason that it shows.
        took = (each.name for each in plans() if each.took_instances(attempt.since_ms, sighting.modified_ms))
        if (plan := next(took, None)) is not None:
            return End(trigger=JobTrigger.RETRY, reason=reasons.lost_plan_instances(plan), retry=RetryPlan())
    kind = failure_kind(sighting.secondary_status, sighting.failure_reason)
    if sighting.secondary_status == "MaxWaitTimeExceeded" and _moves_after_wait(attempt, configuration()):
        return End(trigger=JobTrigger.RETRY, reason=reasons.no_spot_instances(), retry=RetryPlan(on_demand=True))
    if sighting.status != "Failed" and kind is not FailureKind.TIME:
        return End(trigger=end.trigger, reason=end.reason)
    return failure.retried(kind, end.reason, otherwise=end.trigger)


@dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt that has failed, which the policy may retry."""

    attempt: AttemptRecord
    sighting: TrainingJobStatus
    job: JobRecord
    configuration: Callable[[], Configuration]
    now_ms: int

    def retried(self, kind: FailureKind, reason: Reason, *, otherwise: JobTrigger = JobTrigger.FAIL) -> End:
        """What the job does: it is retried if the policy allows that.

        Args:
            reason: why the attempt has failed.
            otherwise: the transition of a job that is not retried.
        """
        before = self.job.attempts[-1].failure_reason if self.job.attempts else None
        trained_ms = self.sighting.trained_ms
        failure = Failure(
            kind=kind,
            # Without SageMaker's own figure, for how long the instances were held.
            ran_ms=self.now_ms - self.attempt.since_ms if trained_ms is None else trained_ms,
            retried=self.job.retried.get(kind, 0),
            repeated=before is not None and before == self.sighting.failure_reason,
        )
        verdict = decide_retry(failure, self.configuration().retry_rules(), most=self.job.max_retries)
        if verdict.wait_ms is None:
            return End(trigger=otherwise, reason=reasons.not_retried(reason, verdict.sentence))
        retry = RetryPlan(kind=kind, not_before_ms=self.now_ms + verdict.wait_ms)
        return End(trigger=JobTrigger.RETRY, reason=reasons.retried(reason, verdict.sentence), retry=retry)


def _moves_after_wait(attempt: AttemptRecord, configuration: Configuration) -> bool:
    """Whether the job of an attempt that got no spot instances moves to on-demand instances."""
    return configuration.spot.after_wait and fits_on_demand(attempt.demand, attempt.team, configuration)


def _pending_s(attempt: AttemptRecord, sighting: TrainingJobStatus) -> int | None:
    """For how long an attempt that has ended waited for instances, if it ended for that, s; None otherwise."""
    if attempt.stop_cause is StopCause.NO_INSTANCES:
        stopped_ms = attempt.since_ms if attempt.stopping_since_ms is None else attempt.stopping_since_ms
        waited_s = (stopped_ms - attempt.since_ms) // 1000
        return waited_s if attempt.pending_limit_s is None else min(waited_s, attempt.pending_limit_s)
    unexplained = failure_kind(sighting.secondary_status, sighting.failure_reason) is FailureKind.UNKNOWN
    return sighting.pending_expired_s if attempt.stop_cause is None and unexplained else None


def _by_itself(attempt: AttemptRecord, sighting: TrainingJobStatus) -> End:
    """What a final status means, unless the job is tried again after a failure."""
    if sighting.status == "Completed":
        return End(trigger=JobTrigger.COMPLETE, reason=reasons.completed())
    if attempt.stop_cause in _BY_POLICY:
        # Also after a failure: a job that does not take SIGTERM well has failed because the queue stopped it. And if it
        # reached its own limit meanwhile, that is not why it ended.
        trigger, code = _BY_POLICY[attempt.stop_cause]
        if attempt.stops_early:
            code = ReasonCode.STOPPED_EARLY
        reason = Reason(code=code, message=attempt.stop_reason)
        on_demand = attempt.stop_cause is StopCause.ON_DEMAND
        retry = RetryPlan(on_demand=on_demand, priority=attempt.requeue_priority)
        return End(trigger=trigger, reason=reason, retry=retry if trigger is JobTrigger.RETRY else None)
    limit = LIMITS.get(sighting.secondary_status)
    if limit is not None:
        return End(trigger=JobTrigger.END_STOPPED, reason=reasons.stopped_at_limit(limit))
    if attempt.stop_cause is StopCause.PREEMPTION:
        reason = reasons.requeued_after_preemption(attempt.freed_for or "")
        return End(trigger=JobTrigger.PREEMPTED_ENDED, reason=reason)
    if sighting.status == "Failed":
        return End(trigger=JobTrigger.FAIL, reason=reasons.failed(sighting.failure_reason))
    if attempt.stop_cause is StopCause.REQUEST:
        reason = reasons.stopped_on_request(attempt.stopped_by, attempt.stop_reason)
        return End(trigger=JobTrigger.END_STOPPED, reason=reason)
    return End(trigger=JobTrigger.END_STOPPED, reason=reasons.stopped_outside(sighting.status, sighting.failure_reason))


def left_behind(attempt: AttemptRecord, now_ms: int) -> tuple[End, TrainingJobStatus]:
    """The end of an attempt whose training job is out of reach: the queue has moved to another account or region.

    Args:
        now_ms: the training time, ms.

    Returns:
        How it ends, and its training job as it counts from now on.
    """
    left = TrainingJobStatus(attempt=attempt.attempt_name, status="Stopped", secondary_status="", modified_ms=now_ms)
    if attempt.stop_cause in {None, StopCause.NO_INSTANCES}:
        return End(trigger=JobTrigger.RETRY, reason=reasons.left_behind(attempt.attempt_name), retry=RetryPlan()), left
    return _by_itself(attempt, left), left


def failed_launches(
    job: JobRecord, attempt: AttemptRecord, sighting: TrainingJobStatus | None, now_ms: int, *, pools_size: int
) -> FailedLaunches:
    """The launches of a job in a row that got no instances, with that of an attempt that had none to the end.

    Args:
        sighting: its status in SageMaker; None if there is none.
        now_ms: the training time, ms.
        pools_size: the instances of its pools together.
    """
    said, created_ms = (sighting.failure_reason, sighting.created_ms) if sighting is not None else (None, None)
    # SageMaker may have accepted the launch long after the attempt took its instances.
    launched_ms = attempt.since_ms if created_ms is None else max(attempt.since_ms, created_ms)
    launch = NoInstances(
        cause=Cause.CAPACITY,
        launched_ms=launched_ms,
        known_ms=now_ms,
        idled_ms=attempt.idled_ms(now_ms),
        accepted=True,
        text=said or f"none in {in_words(now_ms - launched_ms)}",
        pools_size=pools_size,
    )
    return add(None if job.failed is None else job.failed.value(), launch)


def lost_ms(attempt: AttemptRecord, trigger: JobTrigger, policy: Callable[[], Policy], now_ms: int) -> int:
    """How much of an attempt's time its job has lost, ms, if it failed or runs again: at most since its checkpoint.

    Args:
        trigger: the transition of the job.
        policy: asked only where it matters.
        now_ms: the training time, ms.
    """
    if trigger not in LOSING:
        return 0
    held_ms = max(0, now_ms - attempt.since_ms)
    if not attempt.checkpoints:
        return held_ms
    rules, allocation = policy(), attempt.allocation()
    seen_ms = last_seen_ms(allocation)
    since_ms = held_ms if seen_ms is None else max(0, now_ms - seen_ms)
    return min(held_ms, since_ms, interval_ms(allocation, rules) or rules.checkpoint_interval_ms)
