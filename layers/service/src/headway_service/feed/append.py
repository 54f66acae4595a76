"""Appends events to the feed: each once, at a position after all that were there before (decision 80)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headway_service.errors import RetryLater
from headway_service.feed.committed import committed
from headway_service.ports.table import Table
from headway_service.store.records.feed import FEED, FEED_KEPT_S, FeedEntry, FeedEvent, FeedHead
from headway_service.store.repository import retry_on_conflict

MAX_ENTRY_BYTES = 65_536
"""The events of one entry, as JSON, in bytes. A single event is always smaller."""

MAX_LOOK_BACK = 1000
"""Entries that are searched for an event that is handed over again."""

OLDER_CODE_MS = 3_600_000
"""For this long, ms, after newer code has appended an entry, readers may run older code: for it, all entries count."""

CLOCKS_MS = 5000
"""How far the clock of a writer may be behind that of the table's stream, ms."""


class FeedAppender:
    """Appends events to the feed.

    Args:
        table: the table.
        machine_clock: the machine time, ms.
    """

    def __init__(self, table: Table, machine_clock: Callable[[], int]) -> None:
        self._table = table
        self._machine_clock = machine_clock

    def append(self, events: Sequence[FeedEvent], since_ms: int) -> None:
        """Append the events that the feed does not have yet, in their order.

        Args:
            events: the events, those of one job in the order of their versions.
            since_ms: when the oldest of the changes was made, ms: none of them can be in the feed before.

        Raises:
            RetryLater: the table did not answer, or too many others append. Some of the events may be in the feed.
        """
        busy = RetryLater("the feed is busy with other events; try again in a moment")
        for some in _in_entries(events):
            retry_on_conflict(lambda some=some: self._append(some, since_ms), otherwise=busy)  # type: ignore[misc]

    def _append(self, events: Sequence[FeedEvent], since_ms: int) -> None:
        # The head is read first: what is appended after it makes the write fail, what was before is found below.
        item = self._table.get(FeedHead.KEY)
        head = None if item is None else FeedHead.parse(item)
        last = None if head is None else head.last
        entries = self._entries(since_ms)
        known = {event.id for entry in committed(entries, last) for event in entry.events}
        new = tuple(each for each in events if each.id not in known)
        if not new:
            return
        now_ms = self._machine_clock()
        # Entries that do not count keep their positions.
        newest = max([last or 0, *(each.position for each in entries[-1:])])
        entry = FeedEntry(
            position=max(now_ms, newest + 1), after=last, events=new, expires_at=now_ms // 1000 + FEED_KEPT_S
        )
        alone_from_ms = now_ms + OLDER_CODE_MS if head is None or head.alone_from_ms is None else head.alone_from_ms
        moves = FeedHead(last=entry.position, alone_from_ms=alone_from_ms).put(head)
        if head is not None and alone_from_ms <= now_ms:
            # Two writes alone cost half of a transaction of both. If the head does not move, the entry does not count.
            self._table.write([entry.put()])
            self._table.write([moves])
        else:
            self._table.write([moves, entry.put()])

    def _entries(self, since_ms: int) -> list[FeedEntry]:
        """The entries that were written since then."""
        after = FeedEntry.key(max(0, since_ms - CLOCKS_MS)).sk
        items = self._table.query(FEED, prefix=FeedEntry.PREFIX, after=after, limit=MAX_LOOK_BACK)
        return [FeedEntry.parse(item) for item in items]


def _in_entries(events: Sequence[FeedEvent]) -> Iterator[list[FeedEvent]]:
    """Groups of events that fit an entry each."""
    some: list[FeedEvent] = []
    size = 0
    for each in events:
        own = len(each.detail.encode())
        if some and size + own > MAX_ENTRY_BYTES:
            yield some
            some, size = [], 0
        some.append(each)
        size += own
    if some:
        yield some
