"""The pools follow the configuration document, also when two apply it at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from headway.reasons import Reason, ReasonCode
from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.inprocess.queue_configuration import QueueConfiguration
from headway_service.actions.action import DEPLOYMENT
from headway_service.errors import Conflict, InvalidConfiguration, RetryLater
from headway_service.pools.apply_config import (
    TEAM_KEPT_MS,
    EffectiveConfig,
    apply_configuration,
    find_applied,
    get_effective,
)
from headway_service.pools.config_history import read_history
from headway_service.pools.edit_config import ConfigEditor
from headway_service.ports.table import Delete, Key, Put, Table, Write
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger, read_team_names
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.testing.memory_table import MemoryTable
from tests.service.stopped_clocks import clocks_at
from tests.service.world import P5, World

NOW_MS = int(START_S * 1000)
CLOCKS = clocks_at(NOW_MS)


TEAM_A: dict[str, Any] = {"pools": {P5: {"size": 2}}, "teams": {"a": {}}}
FIRST = json.dumps({"pools": {P5: {"size": 2}}})


class Overtaken:
    """A table on which another invocation does the same just before our first write."""

    def __init__(self, table: MemoryTable, other: Callable[[Table], object]) -> None:
        self._table = table
        self._other: Callable[[Table], object] | None = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Sequence[Write]) -> None:
        if self._other is not None:
            other, self._other = self._other, None
            other(self._table)
        self._table.write(writes)


def begin(table: Table) -> EffectiveConfig:
    return apply_configuration(table, FIRST, CLOCKS)


def test_the_first_two_callers_of_a_fresh_deployment_both_get_the_configuration() -> None:
    table = MemoryTable()
    found = begin(Overtaken(table, begin))
    assert (found.version, found.configuration.pools[P5].size) == (1, 2)
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(2, 2)]


def test_two_concurrent_equal_resizes_of_a_pool_resize_it_once() -> None:
    table = MemoryTable()
    begin(table)

    def resize(of: Table) -> EffectiveConfig:
        return ConfigEditor(table=of, first=FIRST, clocks=CLOCKS).resize(P5, 5)

    assert resize(Overtaken(table, resize)).version == 2
    assert [(pool.size, pool.free) for pool in read_ledger(table).pools] == [(5, 5)]


def test_the_first_document_counts_for_a_new_queue_only() -> None:
    table = MemoryTable()
    begin(table)
    changed = json.dumps({"pools": {P5: {"size": 9}}})
    assert apply_configuration(table, changed, CLOCKS) == get_effective(table, changed, CLOCKS) == begin(table)
    assert [pool.size for pool in read_ledger(table).pools] == [2]


def test_a_configuration_whose_item_is_lost_comes_into_force_again() -> None:
    table = MemoryTable()
    live = QueueConfiguration(table, {"pools": {P5: {"size": 2}}}, CLOCKS).write(TEAM_A)
    table.write([Delete(key=Key("config", "config"))])
    found = begin(table)
    assert (found.version, found.text, found.queue_teams) == (live.version + 1, live.text, ("", "a"))
    assert [(each.version, each.by) for each, _ in read_history(table, 5).records] == [
        (3, ""),
        (2, ""),
        (1, DEPLOYMENT.name),
    ]


def test_a_first_document_that_is_not_valid_is_refused_until_it_is() -> None:
    table = MemoryTable()
    for _ in range(2):
        with pytest.raises(InvalidConfiguration, match="pools"):
            get_effective(table, "{}", CLOCKS)
    assert begin(table).version == 1


def test_a_tick_completes_an_interrupted_change_of_the_pools() -> None:
    world = World(pools={P5: 2, "ml.g5.xlarge": 1})
    # An invocation added the first pool and crashed.
    with pytest.raises(RetryLater):
        apply_configuration(
            Failing(world.table, RetryLater("it died"), of="pool#ml.p5"), world.configuration.first, world.clocks
        )
    assert [pool.pool for pool in read_ledger(world.table).pools] == ["ml.g5.xlarge"]
    world.tick()
    assert {pool.pool: pool.size for pool in read_ledger(world.table).pools} == {P5: 2, "ml.g5.xlarge": 1}


def test_the_configuration_in_force_lists_teams_with_queues_until_removed_teams_are_deleted() -> None:
    table = MemoryTable()
    told = []
    for teams, later_ms in (({"a", "b"}, 0), ({"b"}, 0), ({"b", "c"}, 1), ({"c"}, TEAM_KEPT_MS + 1)):
        store = QueueConfiguration(table, {"pools": {P5: {"size": 2}}}, clocks_at(NOW_MS + later_ms))
        found = store.write({"pools": {P5: {"size": 2}}, "teams": {team: {} for team in sorted(teams)}})
        known = find_applied(table)
        assert known == found
        assert set(found.queue_teams or ()) == set(read_team_names(table))
        told.append(found.queue_teams)
    assert told == [("", "a", "b"), ("", "b", "a"), ("", "b", "c", "a"), ("", "c", "b")]


class Failing:
    """A table on which the first write of a record fails."""

    def __init__(self, table: Table, error: Exception, of: str = "team#b") -> None:
        self._table = table
        self._error: Exception | None = error
        self._of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Sequence[Write]) -> None:
        if self._error is not None and any(
            isinstance(each, Put) and each.item["sk"].startswith(self._of) for each in writes
        ):
            error, self._error = self._error, None
            raise error
        self._table.write(writes)


def not_brought_to_its_end() -> MemoryTable:
    """A configuration with a new team is in force, which has no queues yet, as its writer died."""
    table = MemoryTable()
    QueueConfiguration(table, {"pools": {P5: {"size": 2}}}, CLOCKS).write(TEAM_A)
    with pytest.raises(RetryLater):
        QueueConfiguration(Failing(table, RetryLater("it died")), {}, CLOCKS).write(
            {**TEAM_A, "teams": {"a": {}, "b": {}}}
        )
    assert [each.team for each in read_ledger(table).teams] == ["a"]
    return table


def test_the_queue_of_a_team_is_read_although_its_configuration_was_not_fully_applied() -> None:
    table = not_brought_to_its_end()
    editor = ConfigEditor(table=table, first=FIRST, clocks=CLOCKS)
    found = editor.replace(TEAM_A, made_from=3)
    assert (found.version, found.queue_teams) == (4, ("", "a", "b"))


def test_a_configuration_waits_for_the_end_of_the_one_before_it() -> None:
    table = not_brought_to_its_end()
    blocked = Failing(table, Conflict([0]))
    assert begin(blocked).queue_teams is None
    assert [each.team for each in read_ledger(table).teams] == ["a"]
    found = ConfigEditor(table=table, first=FIRST, clocks=CLOCKS).replace(TEAM_A, made_from=None)
    assert (found.version, found.queue_teams) == (4, ("", "a", "b"))


def test_a_job_requeued_during_the_check_of_its_team_keeps_the_team() -> None:
    world = World(pools={P5: 2})
    world.configuration.write({"pools": {P5: {"size": 2}}, "teams": {"b": {}}})
    world.tick()
    world.submit("j", Tags=[{"Key": "team", "Value": "b"}])
    world.tick()
    world.configuration.write({"pools": {P5: {"size": 2}}})
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
    later = clocks_at(NOW_MS + TEAM_KEPT_MS + 1)
    QueueConfiguration(GoesBack(), {}, later).write({"pools": {P5: {"size": 3}}})
    assert len(looked) == 2
    assert [team.team for team in read_ledger(world.table).teams] == ["b"], (
        "its line is read on, as its job waits there"
    )


def test_a_configuration_applied_without_a_record_of_removed_teams_has_no_list_of_queues() -> None:
    table = MemoryTable()
    begin(table)
    item = table.get(Key("config", "config")) or {}
    table.write([Put(item={name: value for name, value in item.items() if name != "left"})])
    assert get_effective(table, FIRST, CLOCKS).queue_teams is None
    assert begin(table).queue_teams == ("",)
