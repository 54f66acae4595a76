"""The check of the feed finds what readers miss."""

from __future__ import annotations

import pytest

from headway_service.ports.table import Put
from headway_service.store.records.feed import FeedEntry, FeedEvent, FeedHead
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.invariants.feed import FeedFollower, check_feed
from headway_verification.soak.violations import Violated

NOW_MS = 1_800_000_000_000
DETAIL = '{"time": "2027-01-15T08:00:00Z", "code": "x"}'


def append(table: MemoryTable, position: int, name: str, last: int | None = None) -> None:
    """Append an event at a position, and move the head to it, or elsewhere."""
    event = FeedEvent(id=name, detail_type="x", detail=DETAIL)
    entry = FeedEntry(position=NOW_MS + position, events=(event,), expires_at=0)
    head = FeedHead(last=NOW_MS + (last or position)).put(None)
    table.write([entry.put(), Put(item=head.item)])


def test_a_reader_that_has_read_all_events_has_missed_none() -> None:
    table = MemoryTable()
    follower = FeedFollower(table, lambda: NOW_MS)
    append(table, 5, "a/1")
    follower.read()
    append(table, 6, "a/2")
    follower.read()
    check_feed(table, ["a/1", "a/2"], follower.ids)


def test_an_entry_behind_a_reader_is_found() -> None:
    table = MemoryTable()
    follower = FeedFollower(table, lambda: NOW_MS)
    append(table, 5, "a/1")
    follower.read()
    append(table, 4, "b/1", last=5)
    follower.read()
    with pytest.raises(Violated, match="a reader of the feed missed b/1"):
        check_feed(table, ["a/1", "b/1"], follower.ids)


def test_after_a_restore_a_reader_begins_again() -> None:
    table = MemoryTable()
    follower = FeedFollower(table, lambda: NOW_MS)
    append(table, 5, "a/1")
    follower.read()
    append(table, 4, "b/1", last=5)
    follower.begin_again()
    assert follower.ids == set()
    follower.read()
    check_feed(table, ["a/1", "b/1"], follower.ids)
