"""Appends events to the feed: each once, at a position after all that were there before (decisions 80 and 95).

Entries are a chain: each says at which position the next one is, and is written on condition that there is none at its
own. So of writers that have read the same newest entry one succeeds, and a write by itself is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headway_service.errors import RetryLater
from headway_service.feed.committed import committed
from headway_service.ports.table import Table
from headway_service.store.records.feed import FEED, FEED_KEPT_S, LAG_MS, FeedEntry, FeedEvent, FeedHead
from headway_service.store.repository import retry_on_conflict

MAX_ENTRY_BYTES = 65_536
"""The events of one entry, as JSON, in bytes. A single event is always smaller."""

MAX_LOOK_BACK = 1000
"""Entries that are searched for an event that is handed over again."""

OLDER_CODE_MS = 3_600_000
"""For this long, ms, after newer code has appended an entry, older code may run, which moves the head for each one."""

EXPIRY_MARGIN_MS = 3_600_000
"""No chain is continued after an entry that expires so soon, ms: others may not find it any more."""

CLOCKS_MS = 5000
"""How far the clock of a writer may be behind that of the table's stream, ms."""


class FeedAppender:
    """Appends events to the feed.

    Args:
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
        entries, newest = self._entries(since_ms)
        now_ms = self._machine_clock()
        if newest is None or newest.next is None or _expires_soon(newest, now_ms):
            self._begin(events, since_ms)
            return
        new = _unknown(events, entries, None)
        if not new:
            return
        at = newest.next
        if now_ms - at >= LAG_MS:
            # Nothing was appended for a while.
            self._table.write([_link(newest, at, now_ms).put()])
            at = _next(at, now_ms)
        self._table.write([_entry(at, new, now_ms).put()])

    def _begin(self, events: Sequence[FeedEvent], since_ms: int) -> None:
        """Append at the time of the write, and begin a chain there if no older code runs."""
        # The head is read first: what is appended after it makes the write fail, what was before is found below.
        item = self._table.get(FeedHead.KEY)
        head = None if item is None else FeedHead.parse(item)
        last = None if head is None else head.last
        entries, newest = self._entries(since_ms)
        now_ms = self._machine_clock()
        new = _unknown(events, entries, last)
        if not new:
            return
        # Entries that do not count keep their positions.
        taken = max(last or 0, 0 if newest is None else newest.next or newest.position)
        position = max(now_ms, taken + 1)
        from_ms = now_ms + OLDER_CODE_MS if head is None or head.chained_from_ms is None else head.chained_from_ms
        entry = _entry(position, new, now_ms).model_copy(update={"after": last})
        if from_ms > now_ms:
            entry = entry.model_copy(update={"next": None})
        # Who has read the end of an earlier chain, or of one that was begun meanwhile, may not continue it.
        ends = [] if newest is None or newest.next is None else [_link(newest, newest.next, now_ms).put()]
        self._table.write([FeedHead(last=position, chained_from_ms=from_ms).put(head), entry.put(), *ends])

    def _entries(self, since_ms: int) -> tuple[list[FeedEntry], FeedEntry | None]:
        """The entries that were written since then, perhaps after an earlier one, and the newest of all."""
        first = max(0, since_ms - CLOCKS_MS)
        # Of those with earlier positions only the last can have been written since.
        before = self._table.last_before(FEED, FeedEntry.key(first + 1).sk)
        after = FeedEntry.key(first).sk
        items = self._table.query(FEED, prefix=FeedEntry.PREFIX, after=after, limit=MAX_LOOK_BACK)
        found = [FeedEntry.parse(item) for item in ([before] if before else []) + [*items]]
        if len(items) < MAX_LOOK_BACK:
            return found, found[-1] if found else None
        newest = self._table.last_before(FEED, FeedHead.KEY.sk)
        return found, None if newest is None else FeedEntry.parse(newest)


def _entry(position: int, events: Sequence[FeedEvent], now_ms: int) -> FeedEntry:
    """An entry of a chain."""
    expires_at = now_ms // 1000 + FEED_KEPT_S
    return FeedEntry(position=position, next=_next(position, now_ms), events=tuple(events), expires_at=expires_at)


def _link(before: FeedEntry, position: int, now_ms: int) -> FeedEntry:
    """The entry of a chain that only says where it continues."""
    return _entry(position, before.events[-1:], now_ms).model_copy(update={"is_link": True})


def _next(position: int, now_ms: int) -> int:
    """The position after an entry that is written now."""
    return max(now_ms, position + 1)


def _expires_soon(entry: FeedEntry, now_ms: int) -> bool:
    return entry.expires_at * 1000 - now_ms <= EXPIRY_MARGIN_MS


def _unknown(events: Sequence[FeedEvent], entries: Sequence[FeedEntry], last: int | None) -> tuple[FeedEvent, ...]:
    """The events that none of the entries has that count."""
    known = {event.id for entry in committed(entries, last) for event in entry.events}
    return tuple(each for each in events if each.id not in known)


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
