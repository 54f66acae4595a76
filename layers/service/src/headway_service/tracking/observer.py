"""Applies SageMaker's status of attempts. Repeated, late and out-of-order statuses change nothing."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from headway import reasons
from headway.jobpolicy.failure_kinds import LIMITS, FailureKind, failure_kind
from headway.jobpolicy.retry import Failure, decide_retry
from headway.jobpolicy.rules import violations
from headway.lifecycle import AttemptState, JobTrigger
from headway.reasons import Reason, ReasonCode
from headway.refusals import Cause, FailedLaunches, NoInstances, add
from headway.scheduling.lost_work.checkpoints import interval_ms, last_seen_ms
from headway_service.admission.checks.training_plans import plan_pools
from headway_service.admission.policy_view import fits_on_demand, job_for_rules
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.errors import Conflict, RetryLater
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs, TrainingJobStatus
from headway_service.sagemaker_api.status import STARTING
from headway_service.sagemaker_api.training_request import TrainingRequest
from headway_service.sagemaker_api.visibility import is_proven
from headway_service.store import policy_actions, transitions
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import (
    find_attempt,
    find_job,
    find_plans,
    find_request_of,
    find_reservation,
    pools_size,
    retry_on_conflict,
)
from headway_service.tracking.warm_pools import left_by

_BY_POLICY = {
    StopCause.POLICY: (JobTrigger.END_STOPPED, ReasonCode.STOPPED_BY_POLICY),
    StopCause.REQUEUE: (JobTrigger.RETRY, ReasonCode.REQUEUED),
    StopCause.ON_DEMAND: (JobTrigger.RETRY, ReasonCode.ON_DEMAND),
}
"""The next state of a job whose attempt the policy has stopped."""

LOSING = frozenset({JobTrigger.PREEMPTED_ENDED, JobTrigger.RETRY, JobTrigger.FAIL})
"""How an attempt ends that loses work: its job runs again, or has failed. A stop on request or at a limit does not."""


class StatusOutcome(Enum):
    """The effect of a status that SageMaker reports for a training job."""

    #: The status is known already.
    IGNORED = auto()
    #: It is written down; no decision depends on it.
    RECORDED = auto()
    #: Instances became free, or an attempt has to be stopped.
    TICK_DUE = auto()
    #: The training job is not known to be an attempt of the queue.
    NOT_OURS = auto()


class Observer:
    """Applies sightings to the table.

    Args:
        retention_s: how long an ended job is kept, s.
        configuration: what the policy does about jobs that run or fail.
        machine_clock: the machine time, ms.
    """

    def __init__(
        self,
        table: Table,
        retention_s: int,
        configuration: Callable[[], Configuration],
        machine_clock: Callable[[], int],
    ) -> None:
        self._table = table
        self._retention_s = retention_s
        self._configuration = configuration
        self._machine_clock = machine_clock

    def apply_status(self, sighting: TrainingJobStatus, now_ms: int, *, asked: bool = False) -> StatusOutcome:
        """Apply the status of a training job.

        Args:
            sighting: the status.
            asked: whether it is the response to a request made now, so that it is recorded even if it is unchanged.

        Returns:
            The effect on the queue.

        Raises:
            RetryLater: the table is; the same sighting may be taken again.
        """

        def apply() -> StatusOutcome:
            attempt = self._attempt(sighting.attempt)
            if attempt is None:
                # Ended already, or no training job of ours.
                return StatusOutcome.NOT_OURS
            if attempt.attempt_state is AttemptState.LAUNCHING:
                if sighting.ended and not self._touch_unsettled(attempt):
                    raise Conflict.stale()
                # Until the launch is reconciled, this may be another user's training job with that name.
                return StatusOutcome.NOT_OURS
            if sighting.created_ms is not None and sighting.created_ms < attempt.created_from_ms:
                # Of an earlier training job with that name, which was deleted.
                return StatusOutcome.IGNORED
            if not sighting.ended and not asked and not _is_news(attempt, sighting):
                return StatusOutcome.IGNORED
            if sighting.ended:
                trigger, reason, retry = self._outcome(attempt, sighting, now_ms)
                self.end(attempt, trigger, reason, sighting, now_ms, retry=retry)
                return StatusOutcome.TICK_DUE
            return self._record_live(attempt, sighting, now_ms, asked=asked)

        busy = RetryLater(f"`{sighting.attempt}` keeps changing; take the event again")
        return retry_on_conflict(apply, otherwise=busy)

    def refresh(self, attempt: str, training_jobs: TrainingJobs, now_ms: int) -> StatusOutcome:
        """Ask SageMaker about an attempt of ours and apply the answer.

        An attempt that SageMaker does not find has ended only if it still does not find it when it has had time to.

        Args:
            attempt: the name of the attempt.
            training_jobs: SageMaker.

        Returns:
            The effect on the queue, as of :meth:`take`.
        """
        sighting = training_jobs.describe(attempt)
        if sighting is not None:
            return self.apply_status(sighting, now_ms, asked=True)
        record = self._attempt(attempt)
        if record is None or record.attempt_state is AttemptState.LAUNCHING:
            return StatusOutcome.NOT_OURS
        if record.missing_since_ms is None:
            self._table.write(transitions.note_missing(record, self._machine_clock()))
            return StatusOutcome.RECORDED
        if not is_proven(record.missing_since_ms, self._machine_clock()):
            return StatusOutcome.IGNORED
        gone = TrainingJobStatus(attempt=attempt, status="Deleting", secondary_status="", modified_ms=now_ms)
        self.end(record, JobTrigger.FAIL, reasons.vanished(attempt), gone, now_ms, vanished=True)
        return StatusOutcome.TICK_DUE

    def end(
        self,
        attempt: AttemptRecord,
        trigger: JobTrigger,
        reason: Reason,
        sighting: TrainingJobStatus | None,
        now_ms: int,
        *,
        retry: transitions.RetryPlan | None = None,
        vanished: bool = False,
    ) -> None:
        """End an attempt: its instances become free, and its job moves on.

        Args:
            trigger: the transition of the job.
            reason: the reason of the end.
            sighting: the status in SageMaker; None if there is none.
            retry: when and how the job is retried; None if it is not.
            vanished: whether SageMaker no longer has the training job.

        Raises:
            Conflict: it was changed meanwhile.
        """
        job = self._job(attempt.job_name)
        if job is None or job.live_attempt != attempt.attempt_name:
            raise Conflict.stale()
        preemptor, reservation = self._preemptor(attempt)
        machine_ms = self._machine_clock()
        warm = left_by(attempt, sighting, now_ms)
        if warm is not None and warm.release_ms is None:
            reason = reasons.with_warm_pool(reason, warm.keep_s)
        failed = None
        if retry is not None and retry.kind is FailureKind.CAPACITY:
            failed = self._without_instances(job, attempt, sighting, now_ms)
        writes = transitions.end(
            job,
            attempt,
            trigger,
            reason,
            sighting=sighting,
            preemptor=preemptor,
            reservation=reservation,
            now_ms=now_ms,
            machine_ms=machine_ms,
            expires_at=machine_ms // 1000 + self._retention_s,
            retry=retry,
            vanished=vanished,
            warm=warm,
            lost_ms=self._lost_ms(attempt, trigger, now_ms) if sighting else 0,
            failed=failed,
        )
        self._table.write(writes)
        logger.info(
            "attempt ended",
            extra={"job": job.job_name, "attempt": attempt.attempt_name, "trigger": trigger, "reason": reason.code},
        )
        record([metrics.ended(trigger)])

    def _without_instances(
        self, job: JobRecord, attempt: AttemptRecord, sighting: TrainingJobStatus | None, now_ms: int
    ) -> FailedLaunches:
        """The launches of a job in a row that got no instances, with that of an attempt that had none to the end."""
        said, created_ms = (sighting.failure_reason, sighting.created_ms) if sighting is not None else (None, None)
        # SageMaker may have accepted the launch long after the attempt took its instances.
        launched_ms = attempt.since_ms if created_ms is None else max(attempt.since_ms, created_ms)
        launch = NoInstances(
            cause=Cause.CAPACITY,
            launched_ms=launched_ms,
            known_ms=now_ms,
            idled_ms=attempt.idled_ms(now_ms),
            text=said or f"none in {max(0, now_ms - launched_ms) // 60_000} min",
            pools_size=pools_size(self._table, attempt.demand),
        )
        return add(None if job.failed is None else job.failed.value(), launch)

    def _lost_ms(self, attempt: AttemptRecord, trigger: JobTrigger, now_ms: int) -> int:
        """How much of an attempt's time its job has lost, if it failed or runs again: at most since its checkpoint."""
        if trigger not in LOSING:
            return 0
        held_ms = max(0, now_ms - attempt.since_ms)
        if not attempt.checkpoints:
            return held_ms
        policy, allocation = self._configuration().policy(), attempt.allocation()
        seen_ms = last_seen_ms(allocation)
        since_ms = held_ms if seen_ms is None else max(0, now_ms - seen_ms)
        return min(held_ms, since_ms, interval_ms(allocation, policy) or policy.checkpoint_interval_ms)

    def _preemptor(self, attempt: AttemptRecord) -> tuple[JobRecord | None, ReservationRecord | None]:
        """The job that an attempt was stopped for, if it is still queued, and its reservation."""
        preemptor = self._job(attempt.freed_for) if attempt.freed_for else None
        if preemptor is None or not preemptor.is_queued:
            return None, None
        return preemptor, find_reservation(self._table, preemptor.job_name)

    def _touch_unsettled(self, attempt: AttemptRecord) -> bool:
        """Record for the reconciliation of a launch that a training job with its name has ended.

        The end is not reported again; the changed attempt makes the reconciliation describe the training job. Returns
        False if the launch was reconciled meanwhile.
        """
        try:
            self._table.write(transitions.touch(attempt, self._machine_clock()))
        except Conflict:
            return False
        return True

    def _record_live(
        self, attempt: AttemptRecord, sighting: TrainingJobStatus, now_ms: int, *, asked: bool
    ) -> StatusOutcome:
        """Note a status that does not end the attempt. A tick is due if the policy stops the attempt now.

        Both in one write, as the same status is not applied again.
        """
        measure, job = None, None
        ruled, runs = attempt.ruled, attempt.stop_cause is None
        if attempt.pending_limit_s and attempt.is_pending_too_long(now_ms) and not sighting.provisioned:
            job = self._require_job(attempt)
            measure = policy_actions.on_pending(attempt.pending_limit_s)
        elif runs and (not ruled or sighting.interruptions > attempt.interruptions):
            ruled = True
            job = self._require_job(attempt)
            measure = self._measure(job, attempt, sighting)
        # An event may be old.
        lacks_instances = attempt.lacks_instances or (asked and attempt.is_to_give_way(now_ms, sighting.created_ms))
        writes = transitions.record_status(
            attempt,
            sighting,
            now_ms,
            machine_ms=self._machine_clock(),
            ruled=ruled,
            lacks_instances=lacks_instances and not sighting.provisioned,
            action=measure,
            job=job,
        )
        self._table.write(writes)
        if measure is not None:
            log = {"job": attempt.job_name, "attempt": attempt.attempt_name, "reason": measure.reason.code}
            logger.info("a measure was taken", extra={**log, "cause": measure.cause})
        stops = measure is not None and measure.cause is not None
        return StatusOutcome.TICK_DUE if stops else StatusOutcome.RECORDED

    def _measure(self, job: JobRecord, attempt: AttemptRecord, sighting: TrainingJobStatus) -> PolicyAction | None:
        """What the policy does about an attempt that runs."""
        configuration = self._configuration()
        most = configuration.spot.max_interruptions if fits_on_demand(job.demand, job.team, configuration) else None
        measure = policy_actions.on_interruption(job, sighting.interruptions, most)
        if measure is not None or attempt.ruled or not configuration.rules:
            return measure
        request = find_request_of(self._table, attempt)
        if request is None:
            return None
        parsed = TrainingRequest.parse(request)
        ruled = job_for_rules(parsed.raw, parsed.tags, configuration, job.team or DEFAULT_TEAM)
        return policy_actions.on_start(violations(configuration.job_rules(), ruled))

    def _outcome(
        self, attempt: AttemptRecord, sighting: TrainingJobStatus, now_ms: int
    ) -> tuple[JobTrigger, Reason, transitions.RetryPlan | None]:
        """The effect of a final status on the job, and its next attempt, if any."""
        trigger, reason, retry = _end(attempt, sighting)
        if sighting.status == "Completed":
            return trigger, reason, retry
        pending_s = _pending_s(attempt, sighting)
        if pending_s is not None and sighting.provisioned:
            # They came between the decision to stop it and the stop, which shows no want of capacity.
            return JobTrigger.RETRY, reasons.instances_too_late(pending_s), transitions.RetryPlan()
        if pending_s is not None:
            return self._retried(FailureKind.CAPACITY, reasons.no_instances(pending_s), attempt, sighting, now_ms)
        if attempt.stop_cause is not None:
            return trigger, reason, retry
        plan = self._plan_that_ended(attempt, sighting)
        if plan is not None:
            return JobTrigger.RETRY, reasons.lost_plan_instances(plan), transitions.RetryPlan()
        kind = failure_kind(sighting.secondary_status, sighting.failure_reason)
        if sighting.secondary_status == "MaxWaitTimeExceeded" and self._moves_after_wait(attempt):
            return JobTrigger.RETRY, reasons.no_spot_instances(), transitions.RetryPlan(on_demand=True)
        if sighting.status != "Failed" and kind is not FailureKind.TIME:
            return trigger, reason, None
        return self._retried(kind, reason, attempt, sighting, now_ms, otherwise=trigger)

    def _retried(
        self,
        kind: FailureKind,
        reason: Reason,
        attempt: AttemptRecord,
        sighting: TrainingJobStatus,
        now_ms: int,
        *,
        otherwise: JobTrigger = JobTrigger.FAIL,
    ) -> tuple[JobTrigger, Reason, transitions.RetryPlan | None]:
        """The effect of a failure on the job: it is retried if the policy allows that."""
        verdict = decide_retry(self._failure(kind, attempt, sighting, now_ms), self._configuration().retry_rules())
        if verdict.wait_ms is None:
            return otherwise, reasons.not_retried(reason, verdict.sentence), None
        retry = transitions.RetryPlan(kind=kind, not_before_ms=now_ms + verdict.wait_ms)
        return JobTrigger.RETRY, reasons.retried(reason, verdict.sentence), retry

    def _plan_that_ended(self, attempt: AttemptRecord, sighting: TrainingJobStatus) -> str | None:
        """The training plan of which SageMaker has taken an attempt's instances, if that may be why it ended.

        AWS does not document whether such a training job is Stopped or Failed, nor the reason that it shows.
        """
        pools = plan_pools(attempt.demand)
        if not pools or sighting.secondary_status in LIMITS:
            return None
        plans = find_plans(self._table, pools)
        return next((each.name for each in plans if each.took_instances(attempt.since_ms, sighting.modified_ms)), None)

    def _moves_after_wait(self, attempt: AttemptRecord) -> bool:
        """Whether the job of an attempt that got no spot instances moves to on-demand instances."""
        configuration = self._configuration()
        return configuration.spot.after_wait and fits_on_demand(attempt.demand, attempt.team, configuration)

    def _failure(self, kind: FailureKind, attempt: AttemptRecord, sighting: TrainingJobStatus, now_ms: int) -> Failure:
        job = self._require_job(attempt)
        before = job.attempts[-1].failure_reason if job.attempts else None
        return Failure(
            kind=kind,
            # Without SageMaker's own figure, for how long the instances were held.
            ran_ms=now_ms - attempt.since_ms if sighting.trained_ms is None else sighting.trained_ms,
            retried=job.retried.get(kind, 0),
            repeated=before is not None and before == sighting.failure_reason,
        )

    def _require_job(self, attempt: AttemptRecord) -> JobRecord:
        job = self._job(attempt.job_name)
        if job is None:
            raise Conflict.stale()
        return job

    def _attempt(self, name: str) -> AttemptRecord | None:
        return find_attempt(self._table, name)

    def _job(self, name: str) -> JobRecord | None:
        return find_job(self._table, name)


def _is_news(attempt: AttemptRecord, sighting: TrainingJobStatus) -> bool:
    """Whether a status that does not end an attempt is relevant for a decision or a display.

    Each write costs money, and the steps of a start have no further effect.
    """
    if attempt.lacks_instances and sighting.provisioned:
        return True
    if sighting.modified_ms <= attempt.modified_ms:
        return False
    unruled = attempt.stop_cause is None and not attempt.ruled
    known = (attempt.training_job_status, _stage(attempt.secondary_status), attempt.training_since_ms)
    seen = (sighting.status, _stage(sighting.secondary_status), sighting.training_since_ms)
    return unruled or known != seen or sighting.interruptions > attempt.interruptions


def _stage(secondary_status: str | None) -> str | None:
    return "Starting" if secondary_status in STARTING else secondary_status


def _pending_s(attempt: AttemptRecord, sighting: TrainingJobStatus) -> int | None:
    """For how long an attempt that has ended waited for instances, if it ended for that, s; None otherwise."""
    if attempt.stop_cause is StopCause.NO_INSTANCES:
        stopped_ms = attempt.since_ms if attempt.stopping_since_ms is None else attempt.stopping_since_ms
        waited_s = (stopped_ms - attempt.since_ms) // 1000
        return waited_s if attempt.pending_limit_s is None else min(waited_s, attempt.pending_limit_s)
    unexplained = failure_kind(sighting.secondary_status, sighting.failure_reason) is FailureKind.UNKNOWN
    return sighting.pending_expired_s if attempt.stop_cause is None and unexplained else None


def _end(
    attempt: AttemptRecord, sighting: TrainingJobStatus
) -> tuple[JobTrigger, Reason, transitions.RetryPlan | None]:
    """What a final status means, unless the job is tried again after a failure."""
    if sighting.status == "Completed":
        return JobTrigger.COMPLETE, reasons.completed(), None
    if attempt.stop_cause in _BY_POLICY:
        # Also after a failure: a job that does not take SIGTERM well has failed because the queue stopped it. And if it
        # reached its own limit meanwhile, that is not why it ended.
        trigger, code = _BY_POLICY[attempt.stop_cause]
        if attempt.stops_early:
            code = ReasonCode.STOPPED_EARLY
        on_demand = attempt.stop_cause is StopCause.ON_DEMAND
        retry = transitions.RetryPlan(on_demand=on_demand, priority=attempt.requeue_priority)
        return trigger, Reason(code=code, message=attempt.stop_reason), retry if trigger is JobTrigger.RETRY else None
    limit = LIMITS.get(sighting.secondary_status)
    if limit is not None:
        return JobTrigger.END_STOPPED, reasons.stopped_at_limit(limit), None
    if attempt.stop_cause is StopCause.PREEMPTION:
        return JobTrigger.PREEMPTED_ENDED, reasons.requeued_after_preemption(attempt.freed_for or ""), None
    if sighting.status == "Failed":
        return JobTrigger.FAIL, reasons.failed(sighting.failure_reason), None
    if attempt.stop_cause is StopCause.REQUEST:
        return JobTrigger.END_STOPPED, reasons.stopped_on_request(attempt.stop_reason), None
    return JobTrigger.END_STOPPED, reasons.stopped_outside(sighting.status, sighting.failure_reason), None
