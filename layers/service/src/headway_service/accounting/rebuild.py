"""Compares the sums with the jobs that are kept, and adds what they lack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.lifecycle import TERMINAL
from headway_service.accounting.accountant import Accountant
from headway_service.ports.table import Table
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import list_jobs
from headway_service.store.repository import find_readable_jobs

MAX_COMPARED = 50
"""Jobs that one request compares: each is read, and perhaps written, separately."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RebuildResult:
    """The result for a page of ended jobs.

    Attributes:
        compared: how many were compared with their marks.
        repaired: of how many the sums lacked something, which they have now.
        unreadable: the names of those that are damaged, so that the sums may lack what they used.
        token: where the next page begins; None at the end.
    """

    compared: int
    repaired: int
    unreadable: tuple[str, ...]
    token: str | None


def rebuild(table: Table, accountant: Callable[[], Accountant], token: str | None) -> RebuildResult:
    """Compare a page of ended jobs with the sums, the newest first. It may be repeated at any time.

    Args:
        accountant: keeps the sums.
        token: where to continue, from the page before.

    Raises:
        InvalidRequest: the token is not valid.
        RetryLater: the table is.
    """
    page, following = list_jobs(table, JobFilter(states=TERMINAL), MAX_COMPARED, token)
    # A listing does not have the ended attempts.
    jobs, unreadable = find_readable_jobs(table, [each.job_name for each in page])
    return RebuildResult(
        compared=len(jobs),
        repaired=accountant().account(jobs),
        unreadable=tuple(unreadable),
        token=following,
    )
