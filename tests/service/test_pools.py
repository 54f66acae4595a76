"""The pools follow the configuration document, also when two apply it at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway_sandbox.memory_configuration import MemoryConfiguration
from headway_service.ledger import read_ledger
from headway_service.memory import MemoryTable
from headway_service.pools import apply_configuration, in_force
from headway_service.ports import Write
from tests.service.world import P5, START_S, World


def now_ms() -> int:
    return int(START_S * 1000)


class Overtaken:
    """A table on which somebody else applies the configuration just before our first write."""

    def __init__(self, table: MemoryTable, store: MemoryConfiguration) -> None:
        self._table = table
        self._store = store
        self._overtaken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Sequence[Write]) -> None:
        if not self._overtaken:
            self._overtaken = True
            apply_configuration(self._table, self._store, now_ms)
        self._table.write(writes)


def test_the_first_two_callers_of_a_fresh_deployment_both_get_the_configuration() -> None:
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}})
    found = in_force(Overtaken(table, store), store, now_ms)
    assert found.configuration.pools[P5].size == 2
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(2, 2)]


def test_two_that_resize_a_pool_at_once_resize_it_once() -> None:
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}})
    apply_configuration(table, store, now_ms)
    store.write('{"pools": {"ml.p5.48xlarge": {"size": 5}}}')
    apply_configuration(Overtaken(table, store), store, now_ms)
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(5, 5)]


def test_a_tick_finishes_what_a_broken_off_change_of_the_pools_left_undone() -> None:
    world = World(pools={P5: 2, "ml.g5.xlarge": 1})
    # Somebody added the first pool and died.
    one = MemoryConfiguration({"pools": {P5: {"size": 2}}})
    one.version = 0
    apply_configuration(world.table, one, now_ms)
    world.tick()
    assert {pool.pool: pool.size for pool in read_ledger(world.table).pools} == {P5: 2, "ml.g5.xlarge": 1}
