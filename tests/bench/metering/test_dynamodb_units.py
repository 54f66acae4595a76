"""Units are counted as DynamoDB's developer guide has it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bench.metering.dynamodb_units import MeteredTable, index_units, item_bytes
from headway_service.errors import Conflict
from headway_service.ports.table import Absent, Check, Delete, Equals, Key, Put, Update, Write
from headway_service.testing.memory_table import MemoryTable

KEY = Key("p", "s")


def item(text: str = "", **more: Any) -> dict[str, Any]:
    return {"pk": KEY.pk, "sk": KEY.sk, "t": text, **more}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"a": "bc"}, 3),
        ({"a": "é"}, 3),
        ({"a": True}, 2),
        ({"a": None}, 2),
        ({"n": 1234}, 4),
        ({"l": ["a", "b"]}, 1 + 3 + 2 * 2),
        ({"m": {"k": "v"}}, 1 + 3 + 3),
    ],
)
def test_an_item_is_as_large_as_its_names_and_values(value: dict[str, Any], size: int) -> None:
    assert item_bytes(value) == size


def used(writes: list[Write], *, before: dict[str, Any] | None = None) -> Counter[str]:
    table = MemoryTable()
    if before:
        table.write([Put(item=before)])
    counted: Counter[str] = Counter()

    def count(kind: str, number: float) -> None:
        counted[kind] += int(number)

    MeteredTable(table, count).write(writes)
    return counted


@pytest.mark.parametrize(
    ("writes", "before", "units"),
    [
        ([Put(item=item())], None, 1),
        ([Put(item=item("x" * 1024))], None, 2),
        ([Update(key=KEY, sets={"t": ""})], item("x" * 3000), 3),
        ([Delete(key=KEY)], item("x" * 3000), 3),
        ([Delete(key=KEY)], None, 1),
        ([Check(key=KEY, requires=Equals("t", ""))], item(), 2),
        ([Put(item=item()), Put(item={"pk": "q", "sk": "s"})], None, 4),
        ([Put(item=item(listing="l", listingKey="k"))], None, 2),
    ],
)
def test_a_write_consumes_by_the_larger_item_and_twice_in_a_transaction(
    writes: list[Write], before: dict[str, Any] | None, units: int
) -> None:
    assert used(writes, before=before)["write units"] == units


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        ({}, {}, 0),
        ({}, {"listing": "l", "listingKey": "k"}, 1),
        ({"listing": "l", "listingKey": "k"}, {"listing": "l", "listingKey": "k", "history": ["x"]}, 0),
        ({"listing": "l", "listingKey": "k"}, {"listing": "l", "listingKey": "k", "team": "x"}, 1),
        ({"listing": "l", "listingKey": "k"}, {"listing": "m", "listingKey": "k"}, 2),
        ({"listing": "l", "listingKey": "k"}, {}, 1),
    ],
)
def test_the_index_is_written_where_what_it_holds_changes(
    before: dict[str, Any], after: dict[str, Any], units: int
) -> None:
    assert index_units(item(**before), item(**after)) == units


def test_a_write_that_is_refused_is_paid_for() -> None:
    counted: Counter[str] = Counter()
    table = MeteredTable(MemoryTable(), lambda kind, number: counted.update({kind: int(number)}))
    table.write([Put(item=item())])
    with pytest.raises(Conflict):
        table.write([Put(item=item(), requires=Absent())])
    assert counted["write units"] == 2


@pytest.mark.parametrize(("size", "units"), [(1, 1), (4096, 2), (9000, 3)])
def test_a_read_consumes_by_blocks_of_four_kilobytes(size: int, units: int) -> None:
    counted: Counter[str] = Counter()
    inner = MemoryTable()
    inner.write([Put(item=item("x" * size))])
    table = MeteredTable(inner, lambda kind, number: counted.update({kind: int(number)}))
    table.get(KEY)
    table.query(KEY.pk, limit=10)
    assert counted["read units"] == 2 * units


def test_a_read_of_nothing_consumes_a_unit() -> None:
    counted: Counter[str] = Counter()
    table = MeteredTable(MemoryTable(), lambda kind, number: counted.update({kind: int(number)}))
    assert table.get(KEY) is None
    assert table.query("p", limit=1) == ()
    assert counted["read units"] == 2


def test_each_item_of_a_batch_consumes_by_itself() -> None:
    counted: Counter[str] = Counter()
    inner = MemoryTable()
    inner.write([Put(item=item("x" * 9000))])
    table = MeteredTable(inner, lambda kind, number: counted.update({kind: number}))
    assert len(table.get_all([KEY, Key("p", "none")])) == 1
    assert (counted["calls"], counted["BatchGetItem"], counted["read units"]) == (1, 1, 3 + 1)


def test_what_need_not_be_consistent_consumes_half() -> None:
    counted: Counter[str] = Counter()
    inner = MemoryTable()
    inner.write([Put(item=item("x" * 9000))])
    table = MeteredTable(inner, lambda kind, number: counted.update({kind: number}))
    for read in (
        lambda: table.query_for_display("p", limit=9),
        lambda: table.count_before("p", "z", limit=9),
        lambda: table.keys_before("p", "z", limit=9),
        lambda: table.tally("p", Equals("t", ""), limit=9),
        lambda: table.tally("p", Equals("t", ""), before="z", limit=9),
        lambda: table.tail("p", "t", limit=9),
        lambda: table.get_listed([KEY]),
    ):
        counted.clear()
        read()
        assert counted["read units"] == 1.5


@pytest.mark.parametrize(
    ("writes", "call"),
    [
        ([Put(item=item())], "PutItem"),
        ([Update(key=KEY, sets={"t": ""})], "UpdateItem"),
        ([Delete(key=KEY)], "DeleteItem"),
        ([Check(key=KEY, requires=Equals("t", ""))], "TransactWriteItems"),
        ([Put(item=item()), Put(item={"pk": "q", "sk": "s"})], "TransactWriteItems"),
    ],
)
def test_calls_are_told_by_name(writes: list[Write], call: str) -> None:
    counted = used(writes, before=item())
    assert counted[call] == counted["calls"] == 1


def test_the_counting_is_timed_apart() -> None:
    table = MeteredTable(MemoryTable(), lambda _kind, _number: None)
    ticks = iter(range(0, 1000, 10))
    table.clock_ns = lambda: next(ticks)
    table.get(KEY)
    table.write([Put(item=item())])
    # A read is counted at one go, a write before and after it.
    assert table.metering_ns == 30
    assert table.table_ns == 20


def test_what_a_table_takes_to_refuse_a_write_is_its_own_time_too() -> None:
    table = MeteredTable(MemoryTable(), lambda _kind, _number: None)
    ticks = iter(range(0, 1000, 10))
    table.clock_ns = lambda: next(ticks)
    with pytest.raises(Conflict):
        table.write([Delete(key=KEY, requires=Equals("t", ""))])
    assert (table.metering_ns, table.table_ns) == (20, 10)
