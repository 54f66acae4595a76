"""Appends events to the feed: each once, at a position after all that were there before (decision 80)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headway_service.errors import RetryLater
from headway_service.ports.table import Table
from headway_service.store.records.feed import FEED, FEED_KEPT_S, FeedEntry, FeedEvent, FeedHead
from headway_service.store.repository import retry_on_conflict

MAX_ENTRY_BYTES = 65_536
"""The events of one entry, as JSON, in bytes. A single event is always smaller."""

MAX_LOOK_BACK = 1000
"""Entries that are searched for an event that is handed over again."""

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
        known = self._known(since_ms)
        new = tuple(each for each in events if each.id not in known)
        if not new:
            return
        now_ms = self._machine_clock()
        position = now_ms if head is None else max(now_ms, head.last + 1)
        entry = FeedEntry(position=position, events=new, expires_at=now_ms // 1000 + FEED_KEPT_S)
        self._table.write([FeedHead(last=position).put(head), entry.put()])

    def _known(self, since_ms: int) -> frozenset[str]:
        """The ids of the events that were appended since then."""
        after = FeedEntry.key(max(0, since_ms - CLOCKS_MS)).sk
        items = self._table.query(FEED, prefix=FeedEntry.PREFIX, after=after, limit=MAX_LOOK_BACK)
        return frozenset(each.id for item in items for each in FeedEntry.parse(item).events)


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
