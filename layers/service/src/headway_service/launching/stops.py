"""Asks SageMaker to stop attempts that are decided to stop."""

from __future__ import annotations

from headway_service.errors import NothingToStop, OutcomeUnknown
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.ports.training_jobs import TrainingJobs
from headway_service.store import transitions
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.repository import find_attempt
from headway_service.tracking.observer import Observer, StatusOutcome


class Stops:
    """Stops attempts.

    Args:
        training_jobs: SageMaker.
        observer: applies SageMaker's status of an attempt.
    """

    def __init__(self, table: Table, training_jobs: TrainingJobs, observer: Observer) -> None:
        self._table = table
        self._training_jobs = training_jobs
        self._observer = observer

    def stop(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Ask SageMaker to stop an attempt.

        Args:
            attempt: the attempt, stopping.
            now_ms: the training time, ms.

        Returns:
            Whether it stops: otherwise it has ended.

        Raises:
            Conflict: it was changed meanwhile.
            OutcomeUnknown: SageMaker gave no clear answer, or has refused to stop it.
        """
        try:
            self._training_jobs.stop(attempt.attempt_name)
        except NothingToStop as error:
            # Ended, already stopping, or not shown yet: the description decides.
            if self.refresh(attempt, now_ms):
                return False
            found = find_attempt(self._table, attempt.attempt_name)
            if found is None:
                return False
            attempt = found
            if attempt.training_job_status != "Stopping":
                raise OutcomeUnknown(f"StopTrainingJob of `{attempt.attempt_name}` was refused: {error}") from error
        logger.info("asked to stop", extra={"job": attempt.job_name, "attempt": attempt.attempt_name})
        self._table.write(transitions.stop_sent(attempt, now_ms))
        return True

    def refresh(self, attempt: AttemptRecord, now_ms: int) -> bool:
        """Ask SageMaker about an attempt that is known to be the queue's, and apply the answer.

        Args:
            now_ms: the training time, ms.

        Returns:
            Whether it has ended.
        """
        outcome = self._observer.refresh(attempt.attempt_name, self._training_jobs, now_ms)
        return outcome is StatusOutcome.TICK_DUE
