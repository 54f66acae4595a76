"""The reads of the soak's table that may be stale, and how stale they may be."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from headway_service.ports.table import Equals, Key, Put, Table
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.faults.injection import FaultInjector
from headway_verification.soak.faults.plan import FaultPlan
from headway_verification.soak.faults.replica import MAX_LAG, Replica
from headway_verification.soak.faults.table import FaultyTable

WRITES = 60


def put(number: int) -> Put:
    return Put(item={"pk": "p", "sk": f"{number:03}", "text": "x", "listing": "l", "listingKey": f"{number:03}"})


def test_a_replica_lacks_a_few_of_the_last_writes_and_never_gets_older() -> None:
    replica, found = Replica(Random(1)), []
    for number in range(WRITES):
        replica.note([put(number)])
        found.append(len(replica.read().items()))
    lacking = [number + 1 - seen for number, seen in enumerate(found)]
    assert found == sorted(found)
    assert min(lacking) == 0
    assert max(lacking) > 1
    assert max(lacking) <= MAX_LAG


READS: list[tuple[str, Callable[[Table], int], bool]] = [
    ("get", lambda table: sum(table.get(Key("p", f"{i:03}")) is not None for i in range(WRITES)), False),
    ("query", lambda table: len(table.query("p", limit=100)), False),
    ("scan", lambda table: len(table.scan(("000", "001", "002"), after=None, limit=100).items), False),
    ("last_before", lambda table: int((table.last_before("p", "~") or {})["sk"]) + 1, False),
    ("query for display", lambda table: len(table.query_for_display("p", limit=100)), True),
    ("count_before", lambda table: table.count_before("p", "~", limit=100), True),
    ("keys_before", lambda table: len(table.keys_before("p", "~", limit=100)), True),
    ("tail", lambda table: len(table.tail("p", "text", limit=100)), True),
    ("tally", lambda table: table.tally("p", Equals("text", "x"), limit=100).matching, True),
    ("get_all", lambda table: len(table.get_all([Key("p", sk) for sk in ("000", "001", "002")])), False),
    ("get_listed", lambda table: len(table.get_listed([Key("p", sk) for sk in ("000", "001", "002")])), True),
    ("listing", lambda table: len(table.listing("l", where=(), after=None, limit=100).items), True),
]


@pytest.mark.parametrize(("read", "may_be_old"), [row[1:] for row in READS], ids=[row[0] for row in READS])
def test_only_eventually_consistent_reads_may_be_stale(read: Callable[[Table], Any], may_be_old: bool) -> None:
    lacking = set()
    for seed in range(20):
        random = Random(seed)
        table = FaultyTable(MemoryTable(), FaultInjector(FaultPlan(random), lambda *_: None, lambda: 0.0), random)
        for number in range(3):
            table.write([put(number)])
        lacking.add(3 - read(table))
    assert (max(lacking) > 0) is may_be_old
    assert min(lacking) == 0
