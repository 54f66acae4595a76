"""Applies SageMaker's status of attempts. Repeated, late and out-of-order statuses change nothing."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from headway import reasons
from headway.jobpolicy.failure_kinds import FailureKind
from headway.jobpolicy.rules import violations
from headway.lifecycle import AttemptState, JobTrigger
from headway.policy import Policy
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
from headway_service.store.records.capacity.attempt import AttemptRecord
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
from headway_service.tracking.ends import End, end_of, failed_launches, lost_ms
from headway_service.tracking.warm_pools import left_by


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
                if attempt.unheard and sighting.modified_ms >= attempt.modified_ms:
                    # The event comes late, but it comes.
                    self._table.write(transitions.note_heard(attempt))
                    return StatusOutcome.RECORDED
                return StatusOutcome.IGNORED
            if sighting.ended:
                job, plans = self._require_job(attempt), partial(find_plans, self._table, plan_pools(attempt.demand))
                end = end_of(attempt, sighting, job, plans, self._configuration, now_ms)
                self._end(job, attempt, end, sighting, now_ms)
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
            The effect on the queue, as of :meth:`apply_status`.
        """
        return self.apply_answer(attempt, training_jobs.describe(attempt), now_ms)

    def apply_answer(self, attempt: str, sighting: TrainingJobStatus | None, now_ms: int) -> StatusOutcome:
        """Apply what SageMaker answers about an attempt of ours; see :meth:`refresh`.

        Args:
            attempt: the name of the attempt.
            sighting: its status; None if SageMaker does not find it.

        Returns:
            The effect on the queue, as of :meth:`apply_status`.
        """
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
        end = End(trigger=JobTrigger.FAIL, reason=reasons.vanished(attempt), vanished=True)
        self.end(record, end, gone, now_ms)
        return StatusOutcome.TICK_DUE

    def end(self, attempt: AttemptRecord, end: End, sighting: TrainingJobStatus | None, now_ms: int) -> None:
        """End an attempt: its instances become free, and its job moves on.

        Args:
            end: how.
            sighting: the status in SageMaker; None if there is none.

        Raises:
            Conflict: it was changed meanwhile.
        """
        self._end(self._require_job(attempt), attempt, end, sighting, now_ms)

    def _end(
        self, job: JobRecord, attempt: AttemptRecord, end: End, sighting: TrainingJobStatus | None, now_ms: int
    ) -> None:
        if job.live_attempt != attempt.attempt_name:
            raise Conflict.stale()
        preemptor, reservation = self._preemptor(attempt)
        machine_ms, reason = self._machine_clock(), end.reason
        warm = left_by(attempt, sighting, now_ms)
        if warm is not None and warm.release_ms is None:
            reason = reasons.with_warm_pool(reason, warm.keep_s)
        failed = None
        if end.retry is not None and end.retry.kind is FailureKind.CAPACITY:
            size = pools_size(self._table, attempt.demand)
            failed = failed_launches(job, attempt, sighting, now_ms, pools_size=size)
        writes = transitions.end(
            job,
            attempt,
            end.trigger,
            reason,
            sighting=sighting,
            preemptor=preemptor,
            reservation=reservation,
            now_ms=now_ms,
            machine_ms=machine_ms,
            expires_at=machine_ms // 1000 + self._retention_s,
            retry=end.retry,
            vanished=end.vanished,
            warm=warm,
            lost_ms=lost_ms(attempt, end.trigger, self._policy, now_ms) if sighting else 0,
            failed=failed,
            remembers=_was_provisioned(attempt, sighting) and _remembers(self._policy()),
        )
        self._table.write(writes)
        logger.info(
            "attempt ended",
            extra={"job": job.job_name, "attempt": attempt.attempt_name, "trigger": end.trigger, "reason": reason.code},
        )
        record([metrics.ended(end.trigger)])

    def _policy(self) -> Policy:
        return self._configuration().policy()

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
            unheard=asked if _is_news(attempt, sighting) else attempt.unheard,
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


def _was_provisioned(attempt: AttemptRecord, sighting: TrainingJobStatus | None) -> bool:
    """Whether an attempt had instances: one without has used nothing."""
    return attempt.has_had_instances or (sighting is not None and sighting.provisioned)


def _remembers(policy: Policy) -> bool:
    """Whether what an attempt has used counts later: among teams, or of a budget."""
    return policy.fair_share is not None or bool(policy.budgets)
