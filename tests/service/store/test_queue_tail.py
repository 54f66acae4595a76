"""A queue is read once, in few queries, which give the number of jobs ahead of each rank, or None."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench.metering.dynamodb_units import MeteredTable
from headway_service.ports.table import Put
from headway_service.store.queue_tail import MAX_PLACE, MAX_TAIL, read_queue_tail
from headway_service.testing.memory_table import MemoryTable

LINE, MARK, LIMIT = "line#p", "mine", 1000
LONG = 3 * MAX_TAIL


def rank(number: int) -> str:
    return f"{number:04d}"


def line_of(number: int) -> MemoryTable:
    """Entries of the even ranks; every third is of the owner, and some are of a time before owners were kept."""
    table = MemoryTable()
    for i in range(number):
        owner: dict[str, Any] = {} if i % 5 == 4 else {"ownedBy": MARK if i % 3 == 0 else "other"}
        table.write([Put(item={"pk": LINE, "sk": rank(2 * i), **owner})])
    return table


def mine(number: int) -> int:
    return sum(i % 3 == 0 and i % 5 != 4 for i in range(number))


@pytest.mark.parametrize(("number", "calls"), [(0, 1), (1, 1), (MAX_TAIL - 1, 1), (MAX_TAIL, 2), (LONG, 2)])
def test_a_short_queue_is_read_by_one_query_and_a_longer_one_by_two(number: int, calls: int) -> None:
    counted: Counter[str] = Counter()
    table = MeteredTable(line_of(number), lambda kind, count: counted.update({kind: int(count)}))
    line = read_queue_tail(table, LINE, MARK, limit=LIMIT)
    assert (line.items, line.matching, counted["calls"]) == (number, mine(number), calls)


@pytest.mark.parametrize("number", [0, 1, MAX_TAIL - 1, MAX_TAIL, LONG])
def test_the_jobs_ahead_of_a_rank_are_counted_in_a_short_queue_and_at_the_end_of_a_long_one(number: int) -> None:
    line = read_queue_tail(line_of(number), LINE, MARK, limit=LIMIT)
    told = [asked for asked in range(2 * number + 1) if line.covers(rank(asked), MAX_PLACE)]
    whole = number < MAX_TAIL
    assert told == list(range(0 if whole else 2 * (number - MAX_TAIL), 2 * number + 1))
    assert [line.ahead(rank(asked)) for asked in told] == [(asked + 1) // 2 for asked in told]


@pytest.mark.parametrize("number", [2, MAX_TAIL - 1, MAX_TAIL, LONG])
def test_added_jobs_count_at_their_places(number: int) -> None:
    line = read_queue_tail(line_of(number), LINE, MARK, limit=LIMIT)
    for joins in (1, 2 * number - 1, 2 * number + 1):
        line.join(rank(joins))
    assert (line.items, line.matching) == (number + 3, mine(number) + 3)
    assert line.ahead(rank(2 * number + 2)) == number + 3
    assert line.ahead(rank(2 * number)) == number + 2


@pytest.mark.parametrize("number", [2, MAX_TAIL, LONG])
@pytest.mark.parametrize("at_the_end", [True, False])
def test_an_added_job_is_taken_back_wherever_its_place_is(number: int, *, at_the_end: bool) -> None:
    line = read_queue_tail(line_of(number), LINE, MARK, limit=LIMIT)
    joins = rank(2 * number + 1) if at_the_end else rank(1)
    line.join(joins)
    line.leave(joins)
    assert (line.items, line.matching) == (number, mine(number))
    assert line.ahead(rank(2 * number)) == number


@pytest.mark.parametrize(("limit", "items"), [(4, MAX_TAIL), (MAX_TAIL, MAX_TAIL), (MAX_TAIL + 5, MAX_TAIL + 5)])
def test_a_queue_longer_than_the_count_limit_has_no_places(limit: int, items: int) -> None:
    line = read_queue_tail(line_of(LONG), LINE, MARK, limit=limit)
    assert line.items == items
    assert not any(line.covers(rank(asked), MAX_PLACE) for asked in range(2 * LONG + 1))


@pytest.mark.parametrize(
    ("limit", "matching", "counted"),
    [
        (LONG + 3, mine(LONG) + 2, True),
        (LONG + 2, mine(LONG) + 2, False),
        # Two jobs are counted before the end.
        (MAX_TAIL + 4, mine(LONG) - mine(LONG - MAX_TAIL - 2) + 2, False),
    ],
)
def test_a_queue_is_counted_again_without_its_end(limit: int, matching: int, *, counted: bool) -> None:
    calls: Counter[str] = Counter()
    table = MeteredTable(line_of(LONG), lambda kind, count: calls.update({kind: int(count)}))
    line = read_queue_tail(table, LINE, MARK, limit=MAX_TAIL + 1)
    assert not line.is_counted
    # Two jobs of the same call enter at the end, and one before it, where only what the table has counts.
    line.join(rank(2 * LONG + 1))
    line.join(rank(2 * LONG - 1))
    line.join(rank(1))
    calls.clear()
    again = line.recounted(table, LINE, MARK, limit=limit)
    assert (again.is_counted, calls["calls"]) == (counted, 1)
    assert (again.items, again.matching) == (min(limit, LONG + 2), matching)
    assert again.covers(rank(2 * LONG), MAX_PLACE) is counted
