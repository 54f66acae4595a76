"""Adds what has ended to the sums of usage: follows the feed of events, and accounts for many jobs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.lifecycle import ACTIVE, TERMINAL, WAITING
from headway_service.accounting.accountant import Accountant
from headway_service.accounting.records import ProgressRecord
from headway_service.errors import RetryLater
from headway_service.feed.cursor import Cursor
from headway_service.feed.read import MAX_EVENTS, EventFilter, FeedReader
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store.records.feed import FeedEvent
from headway_service.store.repository import find_readable_jobs

MAX_JOBS_READ = 500
"""Jobs that have ended, after which no further page is read before they are added to the sums."""

MAX_PAGES_READ = 20
"""Pages of the feed that are read before that, and before the progress is stored."""

STORED_EACH_MS = 3_600_000
"""The progress is stored this often, ms, also if nothing has ended: a cursor that is not moved expires."""

_EVERYTHING = EventFilter()


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsumeResult:
    """The result of a run.

    Attributes:
        unaccounted: how many jobs could not be added to the sums, and are skipped; and 1 more if events have expired
            before they were read.
    """

    unaccounted: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A part of the feed: the jobs of which an attempt has ended in it, or that have, and where it ends."""

    jobs: Sequence[str]
    cursor: Cursor
    pages: int
    more: bool
    missed: bool


class UsageConsumer:
    """Keeps the sums up to date with the feed.

    The place in the feed is stored after the sums. So what is read again after a crash, or by two runs at once, is in
    the sums already, as the marks of its jobs say.

    Args:
        accountant: keeps the sums.
        machine_clock: the machine time, ms.
    """

    def __init__(
        self, table: Table, accountant: Accountant, feed: FeedReader, machine_clock: Callable[[], int]
    ) -> None:
        self._table = table
        self._accountant = accountant
        self._feed = feed
        self._machine_clock = machine_clock

    def consume(self, until_ms: int) -> ConsumeResult:
        """Add what has ended since the last run, as far as time allows. The next run continues.

        Args:
            until_ms: the machine time at which no further part of the feed is begun, ms.
        """
        unaccounted = 0
        try:
            cursor = self._stored()
            while True:
                part = self._read(cursor)
                if part.missed:
                    logger.error("events have expired before their jobs were added to the sums of usage")
                unaccounted += part.missed + self._account(part.jobs)
                if part.jobs or part.more or part.pages > 1 or cursor is None or _is_far(cursor, part.cursor):
                    self._table.write([ProgressRecord(cursor=str(part.cursor)).put()])
                cursor = part.cursor
                if not part.more or self._machine_clock() >= until_ms:
                    break
        except RetryLater as error:
            logger.warning("the sums of usage are not complete; the next run continues", extra={"error": str(error)})
        return ConsumeResult(unaccounted=unaccounted)

    def _stored(self) -> Cursor | None:
        item = self._table.get(ProgressRecord.KEY)
        return None if item is None else Cursor.parse(ProgressRecord.parse(item).cursor)

    def _read(self, cursor: Cursor | None) -> _Part:
        """Read on, until there are many jobs, or no more events."""
        jobs: dict[str, None] = {}
        missed = False
        pages = 0
        while True:
            page = self._feed.read(cursor, _EVERYTHING, MAX_EVENTS)
            cursor = page.cursor
            missed = missed or page.missed
            pages += 1
            jobs |= dict.fromkeys(name for _, event in page.events if (name := ended_in(event)) is not None)
            if not page.more or len(jobs) >= MAX_JOBS_READ or pages == MAX_PAGES_READ:
                return _Part(jobs=tuple(jobs), cursor=cursor, pages=pages, more=page.more, missed=missed)

    def _account(self, names: Sequence[str]) -> int:
        """Returns how many jobs are skipped."""
        jobs, unreadable = find_readable_jobs(self._table, names)
        skipped = len(unreadable)
        for name in unreadable:
            logger.error("a job is not in the sums of usage", extra={"job": name})
        try:
            self._accountant.account(jobs)
        except RetryLater:
            raise
        except Exception:  # noqa: BLE001 - one job must not keep the sums of the others from being kept
            logger.exception("the sums of several jobs cannot be kept; the jobs are taken one by one")
        else:
            return skipped
        for job in jobs:
            try:
                self._accountant.account([job])
            except RetryLater:
                raise
            except Exception:  # noqa: BLE001 - it must not keep later jobs from the sums
                skipped += 1
                logger.exception("a job is not in the sums of usage", extra={"job": job.job_name})
        return skipped


def ended_in(event: FeedEvent) -> str | None:
    """The job of which an attempt has ended with an event, or that has ended itself; None if nothing has."""
    document = event.document
    state, before = document.get("jobState"), document.get("previousState")
    if state in TERMINAL or (state in WAITING and before in ACTIVE):
        return str(document["jobName"])
    return None


def _is_far(stored: Cursor, reached: Cursor) -> bool:
    return reached.position - stored.position >= STORED_EACH_MS
