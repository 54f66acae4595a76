"""What is recorded of a launch after SageMaker has proven something about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from headway import reasons
from headway.lifecycle import AttemptState, JobState, JobTrigger
from headway.reasons import ReasonCode
from headway.refusals import FailedLaunches, add, add_of_outage
from headway_service.errors import Conflict
from headway_service.launching.backoff import PoolBackoff
from headway_service.launching.proofs import (
    Accepted,
    Found,
    Missing,
    NameInUse,
    NotLaunched,
    Open,
    Proof,
    Refused,
)
from headway_service.launching.stops import Stops
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobStatus
from headway_service.store import transitions
from headway_service.store.records.capacity.attempt import AttemptRecord, StopCause
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_attempt, find_job, find_rogue_job, retry_on_conflict
from headway_service.tracking.ends import End
from headway_service.tracking.observer import Observer

_PREEMPTED = (JobTrigger.PREEMPTED_ENDED, ReasonCode.RETURNED_TO_LINE)

_CANCELED: Mapping[StopCause, tuple[JobTrigger, ReasonCode]] = {
    StopCause.REQUEST: (JobTrigger.END_STOPPED, ReasonCode.STOPPED),
    # Its pool became smaller, or is drained: no other job has preempted it.
    StopCause.REQUEUE: (JobTrigger.RETRY, ReasonCode.REQUEUED),
}
"""What the end of a launch that is canceled means for its job, by the cause."""


class Conclusions:
    """Records what follows from what SageMaker proves.

    Args:
        observer: ends attempts.
        stops: asks about attempts, and stops them.
        backoff: the back-offs of pools.
        machine_clock: the machine time, ms.
    """

    def __init__(
        self, table: Table, observer: Observer, stops: Stops, backoff: PoolBackoff, machine_clock: Callable[[], int]
    ) -> None:
        self._table = table
        self._observer = observer
        self._stops = stops
        self._backoff = backoff
        self._machine_clock = machine_clock

    def record(self, attempt: AttemptRecord, proof: Proof, now_ms: int) -> bool:
        """Record a proof.

        Args:
            attempt: the attempt, launching, whose lease this invocation holds.
            proof: what is proven of it.
            now_ms: the training time, ms.

        Returns:
            Whether it went as it was decided.

        Raises:
            Conflict: it was changed meanwhile; nothing was decided.
            OutcomeUnknown: SageMaker gave no clear answer; the intent stays.
        """
        match proof:
            case Accepted():
                confirmed = self._confirm(attempt, proof, now_ms)
                # After a row, jobs that SageMaker did not answer about may start, too.
                return not self._backoff.accepted(attempt.demand, self._machine_clock()) and confirmed
            case Found():
                self._adopt(attempt, proof.status, now_ms)
            case Refused():
                end = End(trigger=JobTrigger.FAIL, reason=reasons.launch_refused(proof.error))
                self._observer.end(attempt, end, None, now_ms)
            case Missing() if attempt.stop_cause is not None:
                trigger, code = _CANCELED.get(attempt.stop_cause, _PREEMPTED)
                reason = reasons.stopped_before_launch(code, by=attempt.stopped_by, why=attempt.stop_reason)
                self._observer.end(attempt, End(trigger=trigger, reason=reason), None, now_ms)
            case Missing() | NameInUse() | NotLaunched():
                self._put_back(attempt, proof, now_ms)
            case Open():
                pass
        return False

    def _adopt(self, attempt: AttemptRecord, found: TrainingJobStatus, now_ms: int) -> None:
        """SageMaker has the attempt from an earlier call.

        After a restore its training job may be charged as a rogue one: the attempt then holds what that holds, as
        the request of its job may have been changed since the restored state, and before the launch.
        """
        logger.info("launched by an earlier call", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        rogue = find_rogue_job(self._table, attempt.attempt_name)
        if rogue is not None and rogue.charged and rogue.created_ms == found.created_ms:
            attempt, writes = transitions.adopt_rogue(attempt, rogue)
            self._table.write(writes)
        self._confirm(attempt, Accepted(created_from_ms=0, is_new=False), now_ms)
        self._backoff.accepted(attempt.demand, self._machine_clock())

    def _confirm(self, attempt: AttemptRecord, accepted: Accepted, now_ms: int) -> bool:
        """Record that SageMaker has the attempt, and stop it if a stop was requested meanwhile.

        Returns:
            Whether it went as it was decided.
        """
        created, created_from_ms = accepted.is_new, accepted.created_from_ms
        confirmed, writes = transitions.confirm(
            attempt, self._machine_clock(), created=created, created_from_ms=created_from_ms
        )
        try:
            self._table.write(writes)
        except Conflict:
            confirmed, created = self._confirm_changed(attempt, created_from_ms), False
        if confirmed.attempt_state is AttemptState.STOPPING:
            return self._stops.stop(confirmed, now_ms)
        # What is not new may have ended.
        return created or not self._stops.refresh(confirmed, now_ms)

    def _confirm_changed(self, attempt: AttemptRecord, created_from_ms: int) -> AttemptRecord:
        """Confirm an attempt that was changed since it was read: its job was stopped, or its end observed.

        SageMaker's acceptance is stored nevertheless, as only this invocation knows it.
        """

        def confirm() -> AttemptRecord | None:
            found = find_attempt(self._table, attempt.attempt_name)
            # If it is not launching, the answer to the write was lost, and its retry met its own effect.
            if found is None or found.attempt_state is not AttemptState.LAUNCHING:
                return found
            confirmed, writes = transitions.confirm(found, self._machine_clock(), created_from_ms=created_from_ms)
            self._table.write(writes)
            return confirmed

        confirmed = retry_on_conflict(confirm, otherwise=Conflict.stale())
        if confirmed is None:
            raise Conflict.stale()
        return confirmed

    def _put_back(self, attempt: AttemptRecord, proof: Missing | NameInUse | NotLaunched, now_ms: int) -> None:
        """Put the job of an attempt that is not launched back into its place in the queue.

        Raises:
            Conflict: the job or the attempt was changed meanwhile.
        """
        job = find_job(self._table, attempt.job_name)
        if job is None or job.job_state is not JobState.RUNNING:
            raise Conflict.stale()
        failed = None
        match proof:
            case Missing():
                reason = reasons.paused_before_launch()
            case NameInUse():
                logger.warning("name taken", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
                reason = reasons.name_taken(attempt.attempt_name)
            case _:
                failed = _counted(job, proof)
                launch = proof.launch
                answer = replace(failed, cause=launch.cause, code=launch.code, text=launch.text)
                reason = reasons.launch_postponed(answer, launch.known_ms)
        self._table.write(
            transitions.defer_launch(
                job,
                attempt,
                reason,
                now_ms,
                failed=failed,
                # Of a launch that is only taken for failed, SageMaker may still show a training job of that name.
                name_is_free=not isinstance(proof, NameInUse) and attempt.unanswered_ms is None,
                machine_ms=self._machine_clock(),
            )
        )


def _counted(job: JobRecord, proof: NotLaunched) -> FailedLaunches:
    """The launches in a row of a job that got no instances, with this one."""
    before = None if job.failed is None else job.failed.value()
    return add(before, proof.launch) if proof.in_a_row else add_of_outage(before, proof.launch)
