"""Reads the feed, page by page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headway_service.feed.committed import committed
from headway_service.feed.cursor import Cursor
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.store.records.feed import FEED, FEED_KEPT_S, LAG_MS, FeedEntry, FeedEvent, FeedHead

MAX_EVENTS = 100
"""Events in one page."""

_READ_ENTRIES = 25
"""Entries that one query reads."""

_MAX_QUERIES = 8
"""Most queries for one page, where a filter rejects most events."""

IDLE_MS = 3_600_000
"""A reader that has read everything continues no further back than this, ms: no append takes nearly as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EventFilter:
    """Which events are read: those that match every attribute.

    Attributes:
        job: the job, or the rogue training job.
        team: the team that is charged.
        codes: the reason is one of these; any if empty.
        since_ms: they happened no earlier, ms of the training time.
    """

    job: str | None = None
    team: str | None = None
    codes: frozenset[str] = frozenset()
    since_ms: int | None = None

    def matches(self, event: FeedEvent) -> bool:
        """Whether an event is read."""
        document = event.document
        return (
            (self.job is None or self.job in {document.get("jobName"), document.get("trainingJobName")})
            and (self.team is None or document.get("team") == self.team)
            and (not self.codes or document["code"] in self.codes)
            and (self.since_ms is None or datetime.fromisoformat(document["time"]).timestamp() * 1000 >= self.since_ms)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedPage:
    """A part of the feed.

    Attributes:
        events: the events that match, each with the cursor after it.
        cursor: where to continue.
        more: whether the feed may have further events now.
        missed: whether events that were to be read may have expired.
    """

    events: tuple[tuple[Cursor, FeedEvent], ...]
    cursor: Cursor
    more: bool
    missed: bool


class FeedReader:
    """Reads the feed.

    Args:
        clocks: training time and machine time.
    """

    def __init__(self, table: Table, clocks: Clocks) -> None:
        self._table = table
        self._clocks = clocks

    def read(self, after: Cursor | None, wanted: EventFilter, limit: int) -> FeedPage:
        """The events after a place.

        Args:
            after: the place; None for the first event that the filter may match.
            wanted: which events.
            limit: the most events.
        """
        now_ms = self._clocks.machine_ms()
        cursor = after or Cursor(self._first_position(wanted))
        # Entries after this place may have expired; a reader without a place was promised none of them.
        missed = after is not None and cursor.position < now_ms - FEED_KEPT_S * 1000
        found: list[tuple[Cursor, FeedEvent]] = []
        for _ in range(_MAX_QUERIES):
            entries, complete = self._entries_after(cursor)
            for entry in entries:
                for place, event in _events_after(cursor, entry):
                    cursor = place
                    if wanted.matches(event):
                        found.append((place, event))
                        if len(found) == limit:
                            return FeedPage(events=tuple(found), cursor=cursor, more=True, missed=missed)
                cursor = Cursor(entry.position)
            if complete:
                # The place of a reader must not expire only because nothing happens.
                cursor = max(cursor, Cursor(now_ms - IDLE_MS))
                return FeedPage(events=tuple(found), cursor=cursor, more=False, missed=missed)
        return FeedPage(events=tuple(found), cursor=cursor, more=True, missed=missed)

    def _first_position(self, wanted: EventFilter) -> int:
        """A position before everything that the filter may match."""
        if wanted.since_ms is None:
            return 0
        # Positions are of the machine time. No event is recorded before it happens, nor much later than its position.
        return max(0, self._clocks.machine_ms() - max(0, self._clocks.training_ms() - wanted.since_ms) - LAG_MS - 1)

    def _entries_after(self, cursor: Cursor) -> tuple[list[FeedEntry], bool]:
        """The next entries that count, and whether there are no more now."""
        after = FeedEntry.key(cursor.position).sk
        limit = _READ_ENTRIES
        while True:
            # The head is behind all entries of its partition.
            items = self._table.query(FEED, after=after, limit=limit)
            complete = len(items) < limit
            heads = [FeedHead.parse(item) for item in items[-1:] if item["sk"] == FeedHead.KEY.sk]
            entries = [FeedEntry.parse(item) for item in items[: len(items) - len(heads)]]
            found = committed(entries, heads[0].last if heads else None)
            if found or complete:
                return found, complete
            # So many writers in a row have stopped between an entry and the head.
            limit *= 4


def _events_after(cursor: Cursor, entry: FeedEntry) -> list[tuple[Cursor, FeedEvent]]:
    """The events of the first entry after a place that were not read, each with the place after it."""
    if entry.is_link:
        return []
    last = len(entry.events)
    # A part counts for the entry that it was read of only: that one may have expired.
    read = cursor.part if cursor.position == entry.position - 1 and cursor.part < last else 0
    places = [Cursor(entry.position - 1, number) for number in range(1, last)]
    return list(zip([*places, Cursor(entry.position)], entry.events, strict=True))[read:]
