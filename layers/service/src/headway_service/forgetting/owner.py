"""Forgets an owner, a page at a time.

The jobs and the sums stay, without the name: sums by team and pool, and comparisons with the jobs, remain right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from headway.lifecycle import ACTIVE, TERMINAL, WAITING
from headway_service.accounting.accountant import Accountant
from headway_service.config.authorization import name_of
from headway_service.errors import InvalidRequest, OwnerHasJobs, RetryLater
from headway_service.forgetting.jobs import forget_job
from headway_service.forgetting.sums import forget_sums
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store.job_filter import JobFilter
from headway_service.store.job_listing import list_jobs
from headway_service.store.records.dependency import EndedJobRecord
from headway_service.store.repository import find_readable_jobs, retry_on_conflict

MAX_JOBS = 25
"""Jobs of a page, each with a few writes."""

_COUNT, _FORGET = "count", "forget"
"""The two rounds through all ended jobs, as tokens begin."""

_MAX_NAMED = 5
"""Jobs that an error names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgotten:
    """What a page has forgotten.

    Attributes:
        jobs: ended jobs that no longer name the owner.
        unreadable: ended jobs that are damaged, and still name the owner.
        sums: sums of a month or a day that count for ``forgotten`` now; on the last page only.
        token: where the next page begins; None at the end.
    """

    jobs: int
    unreadable: int
    sums: int
    token: str | None


def forget_owner(
    table: Table, accountant: Callable[[], Accountant], owner: str, token: str | None, *, account: str, now_ms: int
) -> Forgotten:
    """Forget an owner as far as a page goes. It may be repeated, and interrupted, at any time.

    Args:
        accountant: keeps the sums; a job is in them before it loses its owner.
        owner: the ARN.
        token: where to continue, from the page before.
        account: of the queue, by which histories name the owner.
        now_ms: the training time, ms.

    Raises:
        OwnerHasJobs: jobs of the owner have not ended.
        InvalidRequest: the token is not valid.
        RetryLater: the table is busy.
    """
    if token is None:
        _require_no_live_jobs(table, owner)
    phase, _, place = (token or f"{_COUNT}:").partition(":")
    if phase not in {_COUNT, _FORGET}:
        raise InvalidRequest("nextToken is of no page of this call")
    wanted = JobFilter(states=TERMINAL, owners=frozenset({owner}))
    page, following = list_jobs(table, wanted, MAX_JOBS, place or None)
    names = [each.job_name for each in page]
    jobs, unreadable = find_readable_jobs(table, names)
    accountant().account(jobs)
    if phase == _COUNT:
        # All of them first: the tags of a member are in the request of its array.
        return Forgotten(jobs=0, unreadable=0, sums=0, token=f"{phase}:{following}" if following else f"{_FORGET}:")
    _require_no_news(table, names)
    busy = RetryLater("a job keeps changing; try again in a moment")
    for job in jobs:
        retry_on_conflict(partial(forget_job, table, job.job_name, owner, name_of(owner, account)), otherwise=busy)
    sums = forget_sums(table, owner, now_ms) if following is None else 0
    for name in unreadable:
        logger.error("a damaged job still names its owner, who is forgotten", extra={"job": name})
    # Without the name: the log is kept for longer than the jobs.
    logger.info("an owner is forgotten", extra={"jobs": len(jobs), "sums": sums, "more": following is not None})
    token = f"{phase}:{following}" if following else None
    return Forgotten(jobs=len(jobs), unreadable=len(unreadable), sums=sums, token=token)


def _require_no_news(table: Table, names: Iterable[str]) -> None:
    """Jobs that have ended, before the next tick has told others, are needed: a dependant fills in their outputs."""
    for name in names:
        if table.get(EndedJobRecord.key(name)) is not None:
            raise RetryLater(f"`{name}` has just ended, and its dependants do not know yet; try again in a minute")


def _require_no_live_jobs(table: Table, owner: str) -> None:
    token: str | None = None
    wanted = JobFilter(states=WAITING | ACTIVE, owners=frozenset({owner}))
    while True:
        page, token = list_jobs(table, wanted, _MAX_NAMED, token)
        if page:
            names = ", ".join(f"`{each.job_name}`" for each in page)
            raise OwnerHasJobs(
                f"these jobs of the owner have not ended: {names}; stop them, and try again when they have"
            )
        if token is None:
            return
