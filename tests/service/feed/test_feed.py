"""The feed: each event once, in an order in which a cursor misses nothing, however writers meet, stop and repeat."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_service.errors import Conflict, InvalidRequest, RetryLater
from headway_service.feed import append as appending
from headway_service.feed.append import CLOCKS_MS, EXPIRY_MARGIN_MS, MAX_ENTRY_BYTES, FeedAppender
from headway_service.feed.committed import committed
from headway_service.feed.cursor import Cursor
from headway_service.feed.read import IDLE_MS, EventFilter, FeedReader
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Item, Key, Put, Write
from headway_service.store.records.feed import FEED, FEED_KEPT_S, LAG_MS, FeedEntry, FeedEvent, FeedHead
from headway_service.store.repository import MAX_TRIES
from headway_service.testing.memory_table import MemoryTable

T0 = 1_795_000_000_000
DAY_MS = 86_400_000
EVERYTHING = EventFilter()


def event(name: str, version: int, *, at_ms: int = T0, padding: int = 0, **more: Any) -> FeedEvent:
    detail = {
        "id": f"{name}/{version}",
        "jobName": name,
        "code": "Entered",
        "team": None,
        "time": f"2026-11-18T11:06:{40 + (at_ms - T0) // 1000:02d}Z",
        "message": "x" * padding,
        **more,
    }
    return FeedEvent(id=detail["id"], detail_type="Headway Job Change", detail=json.dumps(detail))


def events(*ids: str) -> list[FeedEvent]:
    return [event(name, int(version)) for name, _, version in (each.partition("/") for each in ids)]


@pytest.fixture(autouse=True, params=[appending.OLDER_CODE_MS, 0], ids=["by the head", "in a chain"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether entries are a chain from the first one on."""
    monkeypatch.setattr(appending, "OLDER_CODE_MS", request.param)
    return request.param == 0


CALLS = {True: 3, False: 6}
"""Calls of the table for an append in a chain, and by the head."""


class Watched(MemoryTable):
    """A table that calls somebody before, and loses the answer of, a call.

    Attributes:
        before: what happens before the next calls.
        lose: whether the answer of the next write is lost.
    """

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Callable[[], None] | None] = []
        self.lose = False

    def _called(self) -> None:
        happens = self.before.pop(0) if self.before else None
        if happens is not None:
            waiting, self.before = self.before, []
            happens()
            self.before = waiting

    def get(self, key: Key) -> Item | None:
        self._called()
        return super().get(key)

    def last_before(self, pk: str, sk: str) -> Item | None:
        self._called()
        return super().last_before(pk, sk)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        self._called()
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        self._called()
        super().write(writes)
        if self.lose:
            self.lose = False
            raise RetryLater("the answer was lost")


class Feed:
    """A feed, its writers and a reader.

    Attributes:
        now_ms: the time of all clocks.
    """

    def __init__(self, table: MemoryTable | None = None) -> None:
        self.table = table or MemoryTable()
        self.now_ms = T0
        self.reader = FeedReader(self.table, Clocks(training_ms=lambda: self.now_ms, machine_ms=lambda: self.now_ms))

    def append(self, *ids: str, since_ms: int = T0, skew_ms: int = 0) -> None:
        FeedAppender(self.table, lambda: self.now_ms + skew_ms).append(events(*ids), since_ms)

    def read(
        self, after: Cursor | None = None, wanted: EventFilter = EVERYTHING, limit: int = 100
    ) -> tuple[list[str], Cursor]:
        """All events after a place, page by page, and the place after them."""
        found: list[str] = []
        while True:
            page = self.reader.read(after, wanted, limit)
            assert len(page.events) <= limit
            found += [each.id for _, each in page.events]
            after = page.cursor
            if not page.more:
                return found, after

    def entries(self) -> list[FeedEntry]:
        return [FeedEntry.parse(item) for item in self.table.query(FEED, prefix=FeedEntry.PREFIX, limit=10_000)]


def test_events_are_read_in_the_order_in_which_they_were_appended() -> None:
    feed = Feed()
    feed.append("a/1", "b/1")
    feed.append("a/2")
    assert feed.read()[0] == ["a/1", "b/1", "a/2"]


def test_a_reader_continues_after_its_cursor() -> None:
    feed = Feed()
    feed.append("a/1")
    _, cursor = feed.read()
    assert feed.read(cursor)[0] == []
    feed.append("a/2")
    assert feed.read(cursor)[0] == ["a/2"]


def test_each_event_has_the_cursor_after_it() -> None:
    feed = Feed()
    feed.append("a/1", "b/1", "c/1")
    feed.append("a/2")
    page = feed.reader.read(None, EVERYTHING, 100)
    assert [feed.read(cursor)[0] for cursor, _ in page.events] == [["b/1", "c/1", "a/2"], ["c/1", "a/2"], ["a/2"], []]


def test_a_batch_that_is_handed_over_again_is_appended_once() -> None:
    feed = Feed()
    feed.append("a/1", "b/1")
    feed.now_ms += 6 * 3_600_000
    feed.append("c/1", since_ms=feed.now_ms)
    feed.append("a/1", "b/1", "d/1")
    assert feed.read()[0] == ["a/1", "b/1", "c/1", "d/1"]


def test_an_append_with_a_lost_answer_is_not_repeated() -> None:
    table = Watched()
    feed = Feed(table)
    table.lose = True
    with pytest.raises(RetryLater):
        feed.append("a/1")
    feed.append("a/1", "b/1")
    assert feed.read()[0] == ["a/1", "b/1"]


@pytest.mark.parametrize("skew_ms", [-CLOCKS_MS, 0, CLOCKS_MS])
@pytest.mark.parametrize("call", range(6))
def test_two_writers_that_meet_lose_nothing_and_a_reader_between_them_misses_nothing(
    mode: bool, call: int, skew_ms: int
) -> None:
    table = Watched()
    feed = Feed(table)
    feed.append("z/1")
    _, cursor = feed.read()
    seen: list[str] = []

    def rival() -> None:
        nonlocal cursor
        feed.append("b/1", "shared/1", skew_ms=skew_ms)
        found, cursor = feed.read(cursor)
        seen.extend(found)

    table.before = [None] * (call % CALLS[mode]) + [rival]
    feed.append("a/1", "shared/1")
    assert seen == ["b/1", "shared/1"]
    assert feed.read(cursor)[0] == ["a/1"]
    assert feed.read()[0] == ["z/1", "b/1", "shared/1", "a/1"]


def test_a_write_that_conflicts_with_its_own_effect_is_not_repeated() -> None:
    """botocore sends a write again whose answer was lost; then its condition fails."""

    class Twice(Watched):
        def write(self, writes: Sequence[Write]) -> None:
            super().write(writes)
            if self.again:
                self.again -= 1
                raise Conflict([0])

        again = 0

    table = Twice()
    feed = Feed(table)
    feed.append("z/1")
    for again, since_ms in ((1, 0), (2, LAG_MS)):
        table.again = again
        feed.now_ms += since_ms
        feed.append(f"a/{again}")
    assert feed.read()[0] == ["z/1", "a/1", "a/2"]


def test_a_reader_does_not_pass_an_entry_that_may_still_count() -> None:
    """A query is no snapshot: it may have the head as of after an append, and the entries as of before it."""
    a, b = (FeedEntry(position=n, after=n - 1, events=(event("a", n),), expires_at=1) for n in (1, 2))
    assert [committed([a, b], last) for last in (2, 9, None)] == [[a, b], [a], [a]]


def test_all_entries_of_a_chain_count_and_say_nothing_of_the_entry_before_it() -> None:
    before = [FeedEntry(position=n, after=1, events=(event("a", n),), expires_at=1) for n in (2, 3)]
    chain = [
        FeedEntry(position=n, after=after, next=n + 1, events=(event("a", n),), expires_at=1)
        for n, after in ((4, 2), (5, None))
    ]
    assert committed([*before, *chain], None) == [before[0], *chain]
    assert committed([before[1], chain[1]], None) == [chain[1]]


def test_entries_of_older_code_count_and_so_do_those_before_them() -> None:
    old, new = (FeedEntry(position=n, events=(event("a", n),), expires_at=1) for n in (1, 4))
    between = [FeedEntry(position=n, after=1, events=(event("a", n),), expires_at=1) for n in (2, 3)]
    assert committed([old, *between, new], 4) == [old, between[1], new]
    assert committed([new], None) == [new]


@pytest.mark.parametrize("idle_ms", [1, LAG_MS, FEED_KEPT_S * 1000])
@pytest.mark.parametrize("lost", range(7))
def test_an_append_with_a_lost_answer_is_completed_and_not_repeated(mode: bool, idle_ms: int, lost: int) -> None:
    """After a moment, a while, and when the end of the chain has expired: the answer of any call."""
    table = Watched()
    feed = Feed(table)
    feed.append("z/1")
    _, cursor = feed.read()
    feed.now_ms += idle_ms

    def lose() -> None:
        table.lose = True

    table.before = [None] * lost + [lose]
    try:
        feed.append("a/1", since_ms=feed.now_ms)
    except RetryLater:
        assert feed.read(cursor)[0] in ([], ["a/1"])
    table.before, table.lose = [], False
    feed.append("a/1", "b/1", since_ms=feed.now_ms)
    assert feed.read(cursor)[0] == ["a/1", "b/1"]


@pytest.mark.parametrize("deleted", ["before", "meanwhile", "not yet"])
@pytest.mark.parametrize(
    "idle_ms",
    [0, LAG_MS, *(FEED_KEPT_S * 1000 - early_ms for early_ms in (EXPIRY_MARGIN_MS + 1, 1, 0))],
)
@pytest.mark.parametrize("call", range(7))
def test_writers_that_meet_after_a_while_lose_nothing(call: int, idle_ms: int, deleted: str) -> None:
    """Also if the end of the chain expires between the two, or has been deleted."""
    table = Watched()
    feed = Feed(table)
    feed.append("z/1")
    _, cursor = feed.read()
    feed.now_ms += idle_ms
    seen: list[str] = []

    def delete(when: str) -> None:
        if when == deleted and feed.now_ms >= T0 + FEED_KEPT_S * 1000:
            table._store(FeedEntry.key(T0), None)

    delete("before")

    def rival() -> None:
        nonlocal cursor
        feed.now_ms += 2
        delete("meanwhile")
        feed.append("b/1", since_ms=feed.now_ms)
        found, cursor = feed.read(cursor)
        seen.extend(found)

    table.before = [None] * call + [rival]
    feed.append("a/1", since_ms=feed.now_ms)
    table.before = []
    rest, _ = feed.read(cursor)
    assert sorted(seen + rest) == (["a/1", "b/1"] if seen else ["a/1"])


def test_a_table_that_is_restored_continues_after_all_cursors_that_were_given_out() -> None:
    """The last second that a table can be restored to is five minutes ago, when it is restored."""
    feed, restored = Feed(), MemoryTable()
    feed.append("a/1")
    for item in feed.table.items():
        restored.write([Put(item=item)])
    feed.now_ms += 1
    feed.append("b/1", since_ms=feed.now_ms)
    feed.append("b/2", since_ms=feed.now_ms)
    _, cursor = feed.read()
    after = Feed(restored)
    after.now_ms = feed.now_ms + 300_000
    after.append("c/1", since_ms=after.now_ms)
    assert after.read(cursor)[0] == ["c/1"]


def test_a_chain_begins_after_the_head_although_the_clock_is_behind_and_its_entry_has_expired() -> None:
    feed = Feed()
    feed.table.write([FeedHead(last=T0 + 5).put(None)])
    feed.append("a/1")
    assert feed.read(Cursor(T0 + 5))[0] == ["a/1"]


def test_many_writers_that_stop_before_they_continue_the_chain_stall_no_reader() -> None:
    feed = Feed()
    ends = [FeedEntry(position=n, next=n + 1, is_link=True, events=(), expires_at=1) for n in range(1, 60)]
    feed.table.write([each.put() for each in ends])
    feed.table.write([FeedEntry(position=60, next=61, events=(event("a", 1),), expires_at=1).put()])
    assert [each.id for _, each in feed.reader.read(None, EVERYTHING, 9).events] == ["a/1"]


def test_an_entry_that_only_continues_the_chain_has_an_event_for_older_code_which_readers_pass_over(
    mode: bool,
) -> None:
    feed = Feed()
    feed.append("z/1", "a/1")
    for version in (1, 2):
        feed.now_ms += LAG_MS + 1
        feed.append(f"b/{version}", since_ms=feed.now_ms)
    links = [[each.id for each in entry.events] for entry in feed.entries() if entry.is_link]
    assert links == ([["a/1"], ["b/1"]] if mode else [])
    assert feed.read()[0] == ["z/1", "a/1", "b/1", "b/2"]


def test_events_of_a_time_are_found_although_their_entry_is_a_moment_later_than_its_position() -> None:
    feed = Feed()
    feed.append("a/1")
    feed.now_ms += 15_000
    late = event("b", 1, at_ms=feed.now_ms)
    FeedAppender(feed.table, lambda: feed.now_ms).append([late], feed.now_ms)
    feed.now_ms += 5_000
    assert feed.read(None, EventFilter(since_ms=T0 + 15_000))[0] == ["b/1"]


class Counting(MemoryTable):
    """A table that notes how many items each write has."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, writes: Sequence[Write]) -> None:
        super().write(writes)
        self.sizes.append(len(writes))


def test_a_chain_begins_an_hour_after_newer_code_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "OLDER_CODE_MS", 3_600_000)
    table = Counting()
    feed = Feed(table)
    table.write([FeedHead(last=T0 - 1).put(None)])
    for late_ms in (0, 3_599_999, 1, 1, LAG_MS + 1):
        feed.now_ms += late_ms
        feed.append(f"a/{feed.now_ms}", since_ms=feed.now_ms)
    assert table.sizes == [1, 2, 2, 2, 1, 1, 1], "the last one has said first where the chain continues"
    assert [each.next is not None for each in feed.entries()] == [False, False, True, True, True, True]
    assert len(feed.read()[0]) == 5


@pytest.mark.parametrize("call", range(6))
def test_the_first_two_writers_of_all_lose_nothing(call: int) -> None:
    table = Watched()
    feed = Feed(table)
    table.before = [None] * call + [lambda: feed.append("b/1", skew_ms=1)]
    feed.append("a/1")
    assert feed.read()[0] == ["b/1", "a/1"]


def test_a_writer_that_always_meets_others_gives_up(mode: bool) -> None:
    table = Watched()
    feed = Feed(table)
    names = iter(f"r{number}/1" for number in range(100))
    feed.append("first/1")
    table.before = [*[None] * (CALLS[mode] - 1), lambda: feed.append(next(names))] * MAX_TRIES
    with pytest.raises(RetryLater):
        feed.append("a/1")
    assert len(feed.read()[0]) == MAX_TRIES + 1


def test_an_event_that_comes_hours_late_is_behind_the_cursor_of_a_reader() -> None:
    feed = Feed()
    feed.append("a/2", since_ms=T0 + 1000)
    _, cursor = feed.read()
    feed.now_ms += 6 * 3_600_000
    feed.append("late/1", since_ms=T0)
    assert feed.read(cursor)[0] == ["late/1"]


def test_a_clock_that_is_behind_does_not_put_an_event_before_others() -> None:
    feed = Feed()
    feed.append("a/1")
    _, cursor = feed.read()
    feed.append("b/1", skew_ms=-DAY_MS)
    assert feed.read(cursor)[0] == ["b/1"]


def test_events_that_exceed_an_entry_are_put_in_several() -> None:
    feed = Feed()
    large = [event("a", version, padding=MAX_ENTRY_BYTES // 3) for version in range(1, 6)]
    FeedAppender(feed.table, lambda: T0).append(large, T0)
    assert [len(entry.events) for entry in feed.entries()] == [2, 2, 1]
    assert feed.read()[0] == [each.id for each in large]


def test_the_search_for_repeated_events_is_bounded(mode: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "MAX_LOOK_BACK", 3)
    feed = Feed()
    for each in ("a/1", "b/1", "c/1", "d/1"):
        feed.append(each)
    feed.append("b/1", "c/1", "d/1")
    # By the head, whether the last entry of a search counts is not known without the next one.
    assert feed.read()[0] == ["a/1", "b/1", "c/1", "d/1", *([] if mode else ["c/1"]), "d/1"]


def test_an_entry_expires_a_week_after_it_was_written() -> None:
    feed = Feed()
    feed.append("a/1")
    (entry,) = feed.entries()
    assert entry.expires_at == T0 // 1000 + FEED_KEPT_S


def test_a_reader_whose_place_has_expired_is_notified_that_events_may_be_missing() -> None:
    feed = Feed()
    feed.append("a/1")
    _, cursor = feed.read()
    feed.now_ms += FEED_KEPT_S * 1000
    assert not feed.reader.read(cursor, EVERYTHING, 1).missed
    feed.now_ms += 1
    assert feed.reader.read(cursor, EVERYTHING, 1).missed
    assert not feed.reader.read(None, EVERYTHING, 1).missed


def test_a_reader_of_an_idle_queue_keeps_a_place_that_does_not_expire() -> None:
    feed = Feed()
    _, cursor = feed.read()
    for _ in range(30):
        feed.now_ms += DAY_MS
        page = feed.reader.read(cursor, EVERYTHING, 1)
        assert not page.missed
        cursor = page.cursor
    assert cursor == Cursor(feed.now_ms - IDLE_MS)
    feed.append("a/1", skew_ms=-IDLE_MS + 1)
    assert feed.read(cursor)[0] == ["a/1"]


def test_a_part_of_an_entry_that_has_expired_skips_no_other_event() -> None:
    feed = Feed()
    feed.append("a/1", "b/1", "c/1")
    feed.append("d/1", "e/1", "f/1")
    cursor = feed.reader.read(None, EVERYTHING, 2).cursor
    (expired, _) = feed.entries()
    key = expired.key(expired.position)
    feed.table._store(key, None)
    assert feed.read(cursor)[0] == ["d/1", "e/1", "f/1"]


FILTERS: list[tuple[str, EventFilter, list[str]]] = [
    ("everything", EVERYTHING, ["a/1", "a/2", "b/1", "beside/1"]),
    ("a job", EventFilter(job="a"), ["a/1", "a/2"]),
    ("a rogue training job", EventFilter(job="beside"), ["beside/1"]),
    ("a team", EventFilter(team="research"), ["b/1"]),
    ("codes", EventFilter(codes=frozenset({"Preempted", "Failed"})), ["a/2", "b/1"]),
    ("both", EventFilter(job="a", codes=frozenset({"Failed"})), ["a/2"]),
    ("a time", EventFilter(since_ms=T0 + 2000), ["b/1", "beside/1"]),
]


@pytest.mark.parametrize(("wanted", "found"), [row[1:] for row in FILTERS], ids=[row[0] for row in FILTERS])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_filter_selects_events(wanted: EventFilter, found: list[str], limit: int) -> None:
    feed = Feed()
    feed.now_ms = T0 + 3000
    several = [
        event("a", 1),
        event("a", 2, at_ms=T0 + 1000, code="Failed"),
        event("b", 1, at_ms=T0 + 2000, code="Preempted", team="research"),
        event("beside", 1, at_ms=T0 + 3000, jobName=None, trainingJobName="beside"),
    ]
    FeedAppender(feed.table, lambda: feed.now_ms).append(several, T0)
    assert feed.read(None, wanted, limit)[0] == found


def test_a_page_reads_a_bounded_number_of_entries_where_a_filter_rejects_all() -> None:
    feed = Feed()
    for number in range(500):
        feed.append(f"j{number}/1", since_ms=T0 + 10 * CLOCKS_MS)
    page = feed.reader.read(None, EventFilter(job="none"), 100)
    assert (page.events, page.more) == ((), True)
    assert page.cursor.position < feed.entries()[-1].position
    assert feed.read(page.cursor, EventFilter(job="j499"))[0] == ["j499/1"]


@pytest.mark.parametrize(
    "text", ["", "1", "1795000000000", "1795000000000.", "x795000000000.0", "1795000000000.0 ", "1.1"]
)
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Cursor.parse(text)


def test_a_cursor_beyond_the_events_of_its_entry_stalls_no_reader() -> None:
    feed = Feed()
    feed.append("a/1")
    (entry,) = feed.entries()
    assert feed.read(Cursor(entry.position - 1, 7))[0] == ["a/1"]


batches = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=4),
        st.integers(-4000, 4000),
        st.integers(0, 3),
        st.booleans(),
        st.integers(1, 3),
        st.sampled_from([1000, LAG_MS, 3_600_000, 8 * DAY_MS]),
        st.booleans(),
    ),
    max_size=12,
)


@given(batches)
def test_a_reader_sees_each_event_once_and_those_of_a_job_in_order(history: list[Any]) -> None:
    """Batches from writers with clocks of their own, some with lost answers, some again later; a reader in between."""
    table = Watched()
    feed = Feed(table)
    versions: dict[str, int] = {}
    handed_over: list[tuple[list[str], int]] = []
    seen: list[str] = []
    made: list[str] = []
    cursor: Cursor | None = None
    for names, skew_ms, again, lost, limit, later_ms, deletes in history:
        feed.now_ms += later_ms
        handed_over = [each for each in handed_over if each[1] > feed.now_ms - 6 * 3_600_000]
        for entry in feed.entries() if deletes else []:
            if entry.expires_at * 1000 < feed.now_ms:
                table._store(entry.key(entry.position), None)
        ids = []
        for name in names:
            versions[name] = versions.get(name, 0) + 1
            ids.append(f"{name}/{versions[name]}")
        handed_over.append((ids, feed.now_ms))
        made += ids
        table.lose = lost
        try:
            feed.append(*ids, since_ms=feed.now_ms, skew_ms=skew_ms)
        except RetryLater:
            feed.append(*ids, since_ms=feed.now_ms, skew_ms=-skew_ms)
        for old, since_ms in handed_over[-again:] if again else ():
            feed.append(*old, since_ms=since_ms, skew_ms=skew_ms)
        found, cursor = feed.read(cursor, limit=limit)
        seen += found
    assert sorted(seen) == sorted(made)
    for name, last in versions.items():
        assert [each for each in seen if each.startswith(f"{name}/")] == [f"{name}/{n}" for n in range(1, last + 1)]
