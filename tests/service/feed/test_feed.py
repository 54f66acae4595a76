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
from headway_service.feed.append import CLOCKS_MS, MAX_ENTRY_BYTES, FeedAppender
from headway_service.feed.committed import committed
from headway_service.feed.cursor import Cursor
from headway_service.feed.read import IDLE_MS, EventFilter, FeedReader
from headway_service.ports.table import Item, Key, Write
from headway_service.store.records.feed import FEED, FEED_KEPT_S, FeedEntry, FeedEvent, FeedHead
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


@pytest.fixture(autouse=True, params=[appending.OLDER_CODE_MS, 0], ids=["in a transaction", "alone"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether entries are written alone from the second one on."""
    monkeypatch.setattr(appending, "OLDER_CODE_MS", request.param)
    return request.param == 0


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
        self.reader = FeedReader(self.table, lambda: self.now_ms, lambda: self.now_ms)

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
@pytest.mark.parametrize("call", range(3))
def test_two_writers_that_meet_lose_nothing_and_a_reader_between_them_misses_nothing(call: int, skew_ms: int) -> None:
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

    table.before = [None] * call + [rival]
    feed.append("a/1", "shared/1")
    assert seen == ["b/1", "shared/1"]
    assert feed.read(cursor)[0] == ["a/1"]
    assert feed.read()[0] == ["z/1", "b/1", "shared/1", "a/1"]


def test_a_writer_that_meets_another_one_between_its_entry_and_the_head_appends_again(mode: bool) -> None:
    """Its first entry does not count for a reader, whose cursor misses nothing."""
    table = Watched()
    feed = Feed(table)
    feed.append("z/1")
    _, cursor = feed.read()
    read: list[tuple[list[str], Cursor]] = []

    def rival() -> None:
        read.append(feed.read(cursor))
        feed.append("b/1", "shared/1")
        read.append(feed.read(read[0][1]))

    table.before = [None] * (3 if mode else 2) + [rival]
    feed.append("a/1", "shared/1")
    assert [found for found, _ in read] == [[], ["b/1", "shared/1"]]
    assert feed.read(read[1][1])[0] == ["a/1"]
    assert feed.read()[0] == ["z/1", "b/1", "shared/1", "a/1"]
    assert len(feed.entries()) == (4 if mode else 3)


@pytest.mark.parametrize("lost", [3, 4])
def test_an_append_alone_with_a_lost_answer_is_completed_and_not_repeated(mode: bool, lost: int) -> None:
    """The answer of the entry, or that of the head."""
    table = Watched()
    feed = Feed(table)
    feed.append("z/1")

    def lose() -> None:
        table.lose = True

    table.before = [None] * (lost - 1 if mode else 2) + [lose]
    with pytest.raises(RetryLater):
        feed.append("a/1")
    feed.append("a/1", "b/1")
    assert feed.read()[0] == ["z/1", "a/1", "b/1"]


def test_a_head_that_conflicts_with_its_own_effect_is_not_repeated(mode: bool) -> None:
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
    table.again = 2 if mode else 1
    feed.append("a/1")
    assert feed.read()[0] == ["z/1", "a/1"]


def test_many_writers_that_stop_before_the_head_hide_nothing() -> None:
    feed = Feed()
    feed.append("z/1")
    last = feed.entries()[-1].position
    stopped = [
        FeedEntry(position=last + n, after=last, events=(event(f"s{n}", 1),), expires_at=1) for n in range(1, 60)
    ]
    feed.table.write([each.put() for each in stopped])
    assert feed.read()[0] == ["z/1"]
    feed.append("a/1", "s1/1")
    assert feed.read()[0] == ["z/1", "a/1", "s1/1"]


def test_a_reader_does_not_pass_an_entry_that_may_still_count() -> None:
    """A query is no snapshot: it may have the head as of after an append, and the entries as of before it."""
    feed = Feed()
    feed.append("a/1")
    feed.append("b/1")
    (a, b), head = feed.entries(), FeedHead(last=T0 + 9)
    assert [committed([a, b], last) for last in (b.position, head.last, None)] == [[a, b], [a], [a]]


def test_entries_of_older_code_count_and_so_do_those_before_them() -> None:
    old, new = (FeedEntry(position=n, events=(event("a", n),), expires_at=1) for n in (1, 4))
    between = [FeedEntry(position=n, after=1, events=(event("a", n),), expires_at=1) for n in (2, 3)]
    assert committed([old, *between, new], 4) == [old, between[1], new]
    assert committed([new], None) == [new]


def test_entries_are_written_alone_an_hour_after_newer_code_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "OLDER_CODE_MS", 3_600_000)
    sizes: list[int] = []

    class Counting(MemoryTable):
        def write(self, writes: Sequence[Write]) -> None:
            super().write(writes)
            sizes.append(len(writes))

    feed = Feed(Counting())
    feed.table.write([FeedHead(last=T0 - 1).put(None)])
    for late_ms in (0, 3_599_999, 1):
        feed.now_ms += late_ms
        feed.append(f"a/{feed.now_ms}", since_ms=feed.now_ms)
    assert sizes == [1, 2, 2, 1, 1]


@pytest.mark.parametrize("call", range(3))
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
    table.before = [None, None, *([None] if mode else []), lambda: feed.append(next(names))] * MAX_TRIES
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


def test_the_search_for_repeated_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "MAX_LOOK_BACK", 3)
    feed = Feed()
    for each in ("a/1", "b/1", "c/1", "d/1"):
        feed.append(each)
    feed.append("b/1", "c/1", "d/1")
    # Whether the last entry of a search counts is not known without the next one.
    assert feed.read()[0] == ["a/1", "b/1", "c/1", "d/1", "c/1", "d/1"]


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
    ("an unmanaged training job", EventFilter(job="beside"), ["beside/1"]),
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
    cursor: Cursor | None = None
    for names, skew_ms, again, lost, limit in history:
        feed.now_ms += 1000
        ids = []
        for name in names:
            versions[name] = versions.get(name, 0) + 1
            ids.append(f"{name}/{versions[name]}")
        handed_over.append((ids, feed.now_ms))
        table.lose = lost
        try:
            feed.append(*ids, since_ms=feed.now_ms, skew_ms=skew_ms)
        except RetryLater:
            feed.append(*ids, since_ms=feed.now_ms, skew_ms=-skew_ms)
        for old, since_ms in handed_over[-again:] if again else ():
            feed.append(*old, since_ms=since_ms, skew_ms=skew_ms)
        found, cursor = feed.read(cursor, limit=limit)
        seen += found
    assert sorted(seen) == sorted(each for ids, _ in handed_over for each in ids)
    for name, last in versions.items():
        assert [each for each in seen if each.startswith(f"{name}/")] == [f"{name}/{n}" for n in range(1, last + 1)]
