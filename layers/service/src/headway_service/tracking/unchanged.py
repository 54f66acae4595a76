"""The attempts whose status has not changed, by ListTrainingJobs for all of them at once.

The list is trusted only where it shows no change. It may lag behind, which delays statuses; but
it never frees instances.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from headway_service.errors import ListingExpired, OutcomeUnknown
from headway_service.observability.logging import logger
from headway_service.ports.training_jobs import AllTrainingJobs, TrainingJobSummary
from headway_service.store.records.attempt import AttemptRecord
from headway_service.tracking.training_job_scan import MAX_PAGES, PAGE_INTERVAL_S

CLOCKS_MS = 60_000
"""SageMaker's clock may be behind the one by which an attempt was written down, ms."""


def skip_unchanged(
    attempts: Collection[AttemptRecord], training_jobs: AllTrainingJobs, *, sleep: Callable[[float], None]
) -> list[AttemptRecord]:
    """Those of the attempts that SageMaker lists as live and just as they are known.

    Pages begin with the newest training jobs and end with the oldest of the attempts. Of those that are on none, as
    SageMaker did not respond or there are too many pages, none is returned.

    Args:
        attempts: the attempts to check.
        training_jobs: SageMaker.
        sleep: sleeps for a time, s.
    """
    unlisted = {each.attempt_name: each for each in attempts}
    found: list[AttemptRecord] = []
    after_ms = min((each.since_ms for each in attempts), default=0) - CLOCKS_MS
    token = None
    try:
        for number in range(MAX_PAGES if attempts else 0):
            if number:
                sleep(PAGE_INTERVAL_S)
            page = training_jobs.live(after_ms, token)
            for listed in page.jobs:
                attempt = unlisted.pop(listed.name, None)
                if attempt is not None and says_nothing_new(listed, attempt):
                    found.append(attempt)
            token = page.token
            if token is None or not unlisted:
                break
    except (OutcomeUnknown, ListingExpired) as error:
        logger.warning("the list ends early", extra={"unlisted": len(unlisted), "error": str(error)})
    return found


def says_nothing_new(listed: TrainingJobSummary, attempt: AttemptRecord) -> bool:
    """Whether the list shows the known status of an attempt.

    Both times are SageMaker's own, of a change of the same training job, so no clock of ours takes part. The statuses
    are compared too: two changes may have the same time if it is rounded to seconds.
    """
    return (
        listed.modified_ms <= attempt.modified_ms
        and listed.status == attempt.training_job_status
        and listed.secondary_status in (None, attempt.secondary_status)
    )
