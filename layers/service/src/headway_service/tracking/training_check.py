"""Does an attempt still train? The record does not say it: the begin of an upload is not written."""

from __future__ import annotations

from headway_service.errors import OutcomeUnknown
from headway_service.observability.logging import logger
from headway_service.ports.training_jobs import TrainingJobs


def still_trains(training_jobs: TrainingJobs, attempt: str) -> bool:
    """Ask SageMaker before an attempt is judged by what it does now: while it uploads, its instances are idle.

    Args:
        training_jobs: SageMaker. If it does not answer, the attempt is not judged now; the next run asks again.
        attempt: the name of an attempt that trains by its record.
    """
    try:
        found = training_jobs.describe(attempt)
    except OutcomeUnknown as error:
        logger.warning("not judged now", extra={"attempt": attempt, "error": str(error)})
        return False
    return found is not None and found.training_since_ms is not None
