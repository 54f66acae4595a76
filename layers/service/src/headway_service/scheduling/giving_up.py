"""Ends jobs that only their own requests have kept from starting for too long."""

from __future__ import annotations

from collections.abc import Iterable

from headway import reasons
from headway.model import WaitingJob
from headway.refusals import FailedLaunches, gives_up
from headway.scheduling.alternatives import choices
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.repository import find_job

MAX_GIVEN_UP = 20
"""Jobs that one tick ends like this: each takes a transaction."""


def given_up(waiting: Iterable[WaitingJob], after_ms: int, now_ms: int) -> list[tuple[str, FailedLaunches]]:
    """The jobs that are not tried any more, with their launches on the first preference.

    A job with alternatives is one only if that holds for each of them.

    Args:
        waiting: the waiting jobs.
        after_ms: for how long they are tried, ms.
    """
    return [
        (job.name, job.failed)
        for job in waiting
        if job.failed is not None and all(gives_up(each.failed, after_ms, now_ms) for each in choices(job))
    ]


def give_up(
    table: Table, job_name: str, failed: FailedLaunches, ledger: Ledger, *, after_ms: int, now_ms: int, expires_at: int
) -> bool:
    """End a job. Returns whether it has ended: it may have left its queues since it was read.

    Args:
        failed: its launches.
        ledger: the ledger, with its reservation.
        after_ms: for how long it was tried, ms.
        expires_at: when the table may delete the job, s since the epoch.

    Raises:
        Conflict: it was changed meanwhile.
    """
    job, reason = find_job(table, job_name), reasons.given_up(failed, after_ms)
    if job is None or not job.is_queued:
        return False
    table.write(transitions.give_up(job, ledger.reservation_of(job_name), reason, now_ms, expires_at))
    logger.warning("a job is not tried any more", extra={"job": job_name, "code": failed.code, "tries": failed.count})
    return True
