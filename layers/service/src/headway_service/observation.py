"""Takes in what SageMaker says of attempts. Repeated, late and out-of-order news change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.failures import LIMITS, FailureKind, failure_kind
from headway.lifecycle import WAITING, AttemptState, JobTrigger
from headway.reasons import Reason, ReasonCode
from headway.retries import Failure, Retry, judge
from headway_service import transitions
from headway_service.errors import Busy, Conflict
from headway_service.log import logger
from headway_service.ports import Sighting, Table, TrainingJobs
from headway_service.records import AttemptRecord, JobRecord, ReservationRecord, StopCause

MAX_TRIES = 5
"""How often a change is tried again after somebody else was faster."""


class Observer:
    """Applies sightings to the table.

    Args:
        table: the table.
        retention_s: how long an ended job is kept, s.
        retries: after which failures a job is tried again.
    """

    def __init__(self, table: Table, retention_s: int, retries: Callable[[], Mapping[FailureKind, Retry]]) -> None:
        self._table = table
        self._retention_s = retention_s
        self._retries = retries

    def take(self, sighting: Sighting, now_ms: int, *, asked: bool = False) -> bool:
        """Apply what was seen of a training job.

        Args:
            sighting: what was seen.
            now_ms: now.
            asked: whether it answers a question asked now, so that it is noted even if it says nothing new.

        Returns:
            Whether instances became free, so that a tick is due.

        Raises:
            Busy: the table is; the same sighting may be taken again.
        """
        for _ in range(MAX_TRIES):
            attempt = self._attempt(sighting.attempt)
            if attempt is None:
                # Ended already, or no training job of ours.
                return False
            if attempt.attempt_state is AttemptState.LAUNCHING:
                # As long as the launch is not settled, this may be somebody else's training job of that name.
                return False
            if not sighting.ended and sighting.modified_ms <= attempt.modified_ms and not asked:
                return False
            try:
                if sighting.ended:
                    trigger, reason, retry = self._outcome(attempt, sighting, now_ms)
                    self.end(attempt, trigger, reason, sighting, now_ms, retry=retry)
                else:
                    self._table.write(transitions.sighted(attempt, sighting, now_ms))
            except Conflict:
                continue
            return sighting.ended
        raise Busy(f"`{sighting.attempt}` keeps changing; take the event again")

    def look(self, attempt: str, training_jobs: TrainingJobs, now_ms: int) -> bool:
        """Ask SageMaker about an attempt of ours and apply the answer.

        Returns:
            As :meth:`take`.
        """
        sighting = training_jobs.describe(attempt)
        if sighting is not None:
            return self.take(sighting, now_ms, asked=True)
        record = self._attempt(attempt)
        if record is None or record.attempt_state is AttemptState.LAUNCHING:
            return False
        reason = Reason(
            code=ReasonCode.VANISHED,
            message=f"the training job `{attempt}` was deleted outside the queue, so how it ended is not known",
        )
        gone = Sighting(attempt=attempt, status="Deleting", secondary_status="", modified_ms=now_ms)
        self.end(record, JobTrigger.FAIL, reason, gone, now_ms)
        return True

    def end(
        self,
        attempt: AttemptRecord,
        trigger: JobTrigger,
        reason: Reason,
        sighting: Sighting | None,
        now_ms: int,
        *,
        retry: transitions.Retrial | None = None,
    ) -> None:
        """End an attempt: its instances become free, and its job moves on.

        Raises:
            Conflict: somebody else changed it meanwhile.
        """
        job = self._job(attempt.job_name)
        if job is None or job.live_attempt != attempt.attempt_name:
            raise Conflict([0])
        preemptor = self._job(attempt.freed_for) if attempt.freed_for else None
        if preemptor is not None and preemptor.job_state not in WAITING:
            preemptor = None
        reservation = None
        if preemptor is not None:
            item = self._table.get(ReservationRecord.key(preemptor.job_name))
            reservation = ReservationRecord.parse(item) if item else None
        writes = transitions.end(
            job,
            attempt,
            trigger,
            reason,
            sighting=sighting,
            preemptor=preemptor,
            reservation=reservation,
            now_ms=now_ms,
            expires_at=now_ms // 1000 + self._retention_s,
            retry=retry,
        )
        self._table.write(writes)
        logger.info(
            "attempt ended",
            extra={"job": job.job_name, "attempt": attempt.attempt_name, "trigger": trigger, "reason": reason.code},
        )

    def _outcome(
        self, attempt: AttemptRecord, sighting: Sighting, now_ms: int
    ) -> tuple[JobTrigger, Reason, transitions.Retrial | None]:
        """What a final status means for the job, and how it is tried again, if it is."""
        trigger, reason = _end(attempt, sighting)
        failed = sighting.status == "Failed" or sighting.secondary_status in LIMITS
        if attempt.stop_cause is not None or not failed:
            return trigger, reason, None
        kind = failure_kind(sighting.secondary_status, sighting.failure_reason)
        verdict = judge(self._failure(kind, attempt, sighting, now_ms), self._retries())
        message = f"{reason.message}; {verdict.sentence}"
        if verdict.wait_ms is None:
            return trigger, Reason(code=reason.code, message=message), None
        retry = transitions.Retrial(kind=kind, not_before_ms=now_ms + verdict.wait_ms)
        return JobTrigger.RETRY, Reason(code=ReasonCode.RETRIED, message=message), retry

    def _failure(self, kind: FailureKind, attempt: AttemptRecord, sighting: Sighting, now_ms: int) -> Failure:
        job = self._job(attempt.job_name)
        if job is None:
            raise Conflict([0])
        before = job.attempts[-1].failure_reason if job.attempts else None
        return Failure(
            kind=kind,
            ran_ms=now_ms - attempt.since_ms,
            retried=job.retried.get(kind, 0),
            repeated=before is not None and before == sighting.failure_reason,
        )

    def _attempt(self, name: str) -> AttemptRecord | None:
        item = self._table.get(AttemptRecord.key(name))
        return AttemptRecord.parse(item) if item else None

    def _job(self, name: str) -> JobRecord | None:
        item = self._table.get(JobRecord.key(name))
        return JobRecord.parse(item) if item else None


def _end(attempt: AttemptRecord, sighting: Sighting) -> tuple[JobTrigger, Reason]:
    """What a final status means, if the job is not tried again."""
    if sighting.status == "Completed":
        return JobTrigger.COMPLETE, Reason(code=ReasonCode.COMPLETED, message="completed")
    limit = LIMITS.get(sighting.secondary_status)
    if limit is not None:
        message = f"SageMaker stopped it at its {limit}; submit it again with a higher limit if it needs more"
        return JobTrigger.END_STOPPED, Reason(code=ReasonCode.STOPPED, message=message)
    if attempt.stop_cause is StopCause.PREEMPTION:
        # Also after a failure: a job that does not take SIGTERM well has failed because the queue stopped it.
        message = f"gave way to `{attempt.freed_for}` and waits again, in its old place in line"
        return JobTrigger.YIELD, Reason(
            code=ReasonCode.RETURNED_TO_LINE, message=message, jobs=(attempt.freed_for or "",)
        )
    if sighting.status == "Failed":
        return JobTrigger.FAIL, Reason(code=ReasonCode.FAILED, message=f"failed{_told(sighting)}")
    if attempt.stop_cause is StopCause.REQUEST:
        return JobTrigger.END_STOPPED, Reason(code=ReasonCode.STOPPED, message="stopped on request")
    message = f"stopped outside the queue (status {sighting.status}){_told(sighting)}"
    return JobTrigger.END_STOPPED, Reason(code=ReasonCode.STOPPED_OUTSIDE, message=message)


def _told(sighting: Sighting) -> str:
    return f": {sighting.failure_reason}" if sighting.failure_reason else ""


def sighting_of_event(detail: Mapping[str, Any]) -> Sighting:
    """The sighting in the ``detail`` of a SageMaker Training Job State Change event.

    Times are epoch milliseconds, sometimes as text (EventBridge reference, SageMaker events).
    """
    reason = detail.get("FailureReason")
    return Sighting(
        attempt=detail["TrainingJobName"],
        status=detail["TrainingJobStatus"],
        secondary_status=detail.get("SecondaryStatus", ""),
        modified_ms=int(float(detail.get("LastModifiedTime") or detail.get("CreationTime") or 0)),
        failure_reason=str(reason) if reason else None,
    )
