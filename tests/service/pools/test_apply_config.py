"""The pools follow the configuration document, also when two apply it at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headway.reasons import Reason, ReasonCode
from headway_sandbox.inprocess.deployment import START_S
from headway_service.errors import Conflict, RetryLater
from headway_service.pools.apply_config import TEAM_KEPT_MS, apply_configuration, find_applied, get_effective
from headway_service.ports.table import Key, Put, Write
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger, read_team_names
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.testing.memory_config import MemoryConfiguration
from headway_service.testing.memory_table import MemoryTable
from tests.service.stopped_clocks import clocks_at
from tests.service.world import P5, World

NOW_MS = int(START_S * 1000)
CLOCKS = clocks_at(NOW_MS)


class Overtaken:
    """A table on which another invocation applies the configuration just before our first write."""

    def __init__(self, table: MemoryTable, store: MemoryConfiguration) -> None:
        self._table = table
        self._store = store
        self._overtaken = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Sequence[Write]) -> None:
        if not self._overtaken:
            self._overtaken = True
            apply_configuration(self._table, self._store, CLOCKS)
        self._table.write(writes)


def test_the_first_two_callers_of_a_fresh_deployment_both_get_the_configuration() -> None:
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}})
    found = get_effective(Overtaken(table, store), store, CLOCKS)
    assert found.configuration.pools[P5].size == 2
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(2, 2)]


def test_two_concurrent_equal_resizes_of_a_pool_resize_it_once() -> None:
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}})
    apply_configuration(table, store, CLOCKS)
    store.write('{"pools": {"ml.p5.48xlarge": {"size": 5}}}')
    apply_configuration(Overtaken(table, store), store, CLOCKS)
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(5, 5)]


def test_a_tick_completes_an_interrupted_change_of_the_pools() -> None:
    world = World(pools={P5: 2, "ml.g5.xlarge": 1})
    # An invocation added the first pool and crashed.
    one = MemoryConfiguration({"pools": {P5: {"size": 2}}})
    one.version = 0
    apply_configuration(world.table, one, CLOCKS)
    world.tick()
    assert {pool.pool: pool.size for pool in read_ledger(world.table).pools} == {P5: 2, "ml.g5.xlarge": 1}


def test_the_configuration_in_force_lists_teams_with_queues_until_removed_teams_are_deleted() -> None:
    table = MemoryTable()
    store = MemoryConfiguration({"pools": {P5: {"size": 2}}, "teams": {"a": {}, "b": {}}})
    told = []
    for teams, later_ms in (({"a", "b"}, 0), ({"b"}, 0), ({"b", "c"}, 1), ({"c"}, TEAM_KEPT_MS + 1)):
        store.write(json.dumps({"pools": {P5: {"size": 2}}, "teams": {team: {} for team in sorted(teams)}}))
        found = apply_configuration(table, store, clocks_at(NOW_MS + later_ms))
        known = find_applied(table)
        assert known == found
        assert set(found.queue_teams or ()) == set(read_team_names(table))
        told.append(found.queue_teams)
    assert told == [("", "a", "b"), ("", "b", "a"), ("", "b", "c", "a"), ("", "c", "b")]


class Failing:
    """A table on which the first write of a team fails."""

    def __init__(self, table: MemoryTable, error: Exception) -> None:
        self._table = table
        self._error: Exception | None = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Sequence[Write]) -> None:
        if self._error is not None and any(isinstance(each, Put) and "team#b" in each.item["sk"] for each in writes):
            error, self._error = self._error, None
            raise error
        self._table.write(writes)


def not_brought_to_its_end() -> tuple[MemoryTable, MemoryConfiguration]:
    """A configuration with a new team is in force, which has no lines yet; the stored one does not name it any more."""
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}, "teams": {"a": {}}})
    apply_configuration(table, store, CLOCKS)
    store.write(json.dumps({"pools": {P5: {"size": 2}}, "teams": {"a": {}, "b": {}}}))
    with pytest.raises(RetryLater):
        apply_configuration(Failing(table, RetryLater("it died")), store, CLOCKS)
    assert [each.team for each in read_ledger(table).teams] == ["a"]
    store.write(json.dumps({"pools": {P5: {"size": 2}}, "teams": {"a": {}}}))
    return table, store


def test_the_queue_of_a_team_is_read_although_its_configuration_was_not_fully_applied() -> None:
    table, store = not_brought_to_its_end()
    found = apply_configuration(table, store, CLOCKS)
    assert (found.version, found.queue_teams) == (3, ("", "a", "b"))


def test_a_configuration_waits_for_the_end_of_the_one_before_it() -> None:
    table, store = not_brought_to_its_end()
    assert apply_configuration(Failing(table, Conflict([0])), store, CLOCKS).version == 2
    found = apply_configuration(table, store, CLOCKS)
    assert (found.version, found.queue_teams) == (3, ("", "a", "b"))


def test_a_job_requeued_during_the_check_of_its_team_keeps_the_team() -> None:
    world = World(pools={P5: 2})
    world.configuration.write(json.dumps({"pools": {P5: {"size": 2}}, "teams": {"b": {}}}))
    world.tick()
    world.submit("j", Tags=[{"Key": "team", "Value": "b"}])
    world.tick()
    world.configuration.write(json.dumps({"pools": {P5: {"size": 2}}}))
    world.tick()
    (attempt,) = read_ledger(world.table).attempts
    line = QueueEntry.partition(P5, "b")
    looked: list[str] = []

    class GoesBack(MemoryTable):
        """Its job is requeued after the queue was read, and before the ledger is read for its attempt."""

        def query(self, pk: str, **options: Any) -> Any:
            found = real.query(pk, **options)
            if pk == line:
                looked.append(pk)
                if len(looked) == 1:
                    assert found == ()
                    job = JobRecord.parse(real.get(JobRecord.key("j")) or {})
                    back = transitions.defer_launch(
                        job,
                        attempt,
                        Reason(code=ReasonCode.LAUNCH_POSTPONED, message="?"),
                        0,
                        failed=None,
                        name_is_free=True,
                        machine_ms=0,
                    )
                    real.write(back)
            return found

        def __getattribute__(self, name: str) -> Any:
            return object.__getattribute__(self, name) if name == "query" else getattr(real, name)

    real = world.table
    world.configuration.write(json.dumps({"pools": {P5: {"size": 3}}}))
    apply_configuration(GoesBack(), world.configuration, clocks_at(NOW_MS + TEAM_KEPT_MS + 1))
    assert len(looked) == 2
    assert [team.team for team in read_ledger(world.table).teams] == ["b"], (
        "its line is read on, as its job waits there"
    )


def test_a_configuration_applied_without_a_record_of_removed_teams_has_no_list_of_queues() -> None:
    table, store = MemoryTable(), MemoryConfiguration({"pools": {P5: {"size": 2}}})
    apply_configuration(table, store, CLOCKS)
    item = table.get(Key("config", "config")) or {}
    table.write([Put(item={name: value for name, value in item.items() if name != "left"})])
    assert get_effective(table, store, CLOCKS).queue_teams is None
