"""Every stored item carries its schema version, and code refuses an item of a schema version that it does not know."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.metering.dynamodb_units import WRITE_BYTES, item_bytes
from headway_service.errors import NewerSchema, OlderSchema, UnreadableRecord
from headway_service.ports.table import Item, Key, Put
from headway_service.store import schema_version
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PoolRecord, TeamRecord
from headway_service.store.records.job import JobRecord, request_in, request_key
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on

NAME = "bert-large-2026-11-22"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that calls the size of a pool ``size``, where earlier code called it ``count``."""

    def renamed(item: Item) -> Item:
        if not str(item["sk"]).startswith("pool#"):
            return item
        return {**{name: value for name, value in item.items() if name != "count"}, "size": item["count"]}

    monkeypatch.setattr(schema_version, "SCHEMA", 2)
    monkeypatch.setattr(schema_version, "UPGRADES", {1: renamed})


def test_every_item_carries_its_schema(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.submit("high", 5)
    world.submit("last", 0)
    world.tick()
    world.pass_time(130)
    assert isinstance(world.table, MemoryTable)
    kinds = set()
    for item in world.table.items():
        assert item["schemaVersion"] == 1, f"{item['pk']} {item['sk']}"
        kinds.add((item["pk"].split("#")[0], item["sk"].split("#")[0]))
    assert {("job", "job"), ("job", "request"), ("ledger", "pool"), ("ledger", "attempt"), ("config", "config")} < kinds


def test_defaults_are_not_written_unless_conditions_need_them() -> None:
    attempts = {
        "attempt_name": "a",
        "job_name": "a",
        "number": 1,
        "attempt_state": "live",
        "mark": "",
        "demand": {P5: 1},
    }
    attempt = AttemptRecord.model_validate(
        {
            **attempts,
            "priority": 0,
            "entry_time": 1,
            "since_ms": 1,
            "lease_holder": "",
            "lease_until_ms": 0,
            "seen_ms": 1,
        }
    )
    item = attempt.put().item
    assert item["version"] == 1
    assert item["priority"] == 0
    assert {"team", "notified", "freed", "preemptible", "onDemand"}.isdisjoint(item)
    assert AttemptRecord.parse(item) == attempt
    assert TeamRecord(team="a").fields()["starts"] == 0


def test_a_usual_job_stays_within_a_write_unit_until_it_ends(world: World) -> None:
    world.submit(NAME)
    world.tick()
    running = world.table.get(JobRecord.key(NAME))
    assert running is not None
    assert running["jobState"] == "running"
    assert item_bytes(running) <= WRITE_BYTES
    world.pass_time(3600)
    ended = world.table.get(JobRecord.key(NAME))
    assert ended is not None
    assert ended["jobState"] == "completed"
    # What its attempt held and what is billed take it past one unit.
    assert item_bytes(ended) <= 2 * WRITE_BYTES


@pytest.mark.parametrize(
    ("key", "meets_it"),
    [(JobRecord.key("a"), "show"), (Key("config", "config"), "tick")],
    ids=str,
)
def test_a_table_from_before_the_first_release_is_refused_and_left_alone(world: World, key: Key, meets_it: str) -> None:
    world.submit("a")
    item = world.table.get(key)
    assert item is not None
    old = {name: value for name, value in item.items() if name != "schemaVersion"} | {"schema": 1}
    world.table.write([Put(item=old)])
    calls: dict[str, Callable[[], object]] = {"tick": world.tick, "show": lambda: world.queries.show("a", ROOT)}
    with pytest.raises(OlderSchema, match=r"has schema version 0, .* does not read: deploy with another TableName"):
        calls[meets_it]()
    assert world.table.get(key) == old
    assert world.fleet.jobs(now=world.now_s) == []


def test_an_older_item_without_an_upgrade_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_version, "SCHEMA", 3)
    monkeypatch.setattr(schema_version, "UPGRADES", {2: lambda item: item})
    with pytest.raises(OlderSchema, match=r"has schema version 1, .* or deploy a version in between first"):
        schema_version.upgrade({"pk": "ledger", "sk": "pool#p5", "schemaVersion": 1})
    assert schema_version.upgrade({"pk": "ledger", "sk": "pool#p5", "schemaVersion": 2})["schemaVersion"] == 2


def test_an_older_item_is_upgraded_on_read_and_write(next_version: None) -> None:
    old = {"pk": "ledger", "sk": f"pool#{P5}", "pool": P5, "count": 2, "free": 1, "schemaVersion": 1}
    pool = PoolRecord.parse(old)
    assert pool.size == 2
    assert pool.put().item["schemaVersion"] == 2
    assert request_in({**old, "sk": "request", "jobDetails": "{}"}) == {}


@pytest.mark.parametrize(
    ("key", "meets_it"),
    [
        (Key("config", "config"), "tick"),
        (JobRecord.key("a"), "show"),
        (request_key("a"), "show"),
    ],
    ids=str,
)
def test_items_of_newer_code_are_refused_and_not_changed(world: World, key: Key, meets_it: str) -> None:
    world.submit("a")
    item = world.table.get(key)
    assert item is not None
    world.table.write([Put(item={**item, "schemaVersion": 2})])
    calls: dict[str, Callable[[], object]] = {"tick": world.tick, "show": lambda: world.queries.show("a", ROOT)}
    with pytest.raises(NewerSchema, match=r"has schema version 2 .* up to schema version 1: deploy"):
        calls[meets_it]()
    assert world.table.get(key) == {**item, "schemaVersion": 2}
    assert world.fleet.jobs(now=world.now_s) == []


@pytest.mark.parametrize("key", [PoolRecord.key(P5), JobRecord.key("a"), request_key("a")], ids=str)
@pytest.mark.parametrize("version", [0, 2])
def test_a_tick_leaves_items_of_other_versions_alone(world: World, key: Key, version: int) -> None:
    world.submit("a")
    item = world.table.get(key)
    assert item is not None
    world.table.write([Put(item={**item, "schemaVersion": version})])
    world.tick()
    assert world.table.get(key) == {**item, "schemaVersion": version}
    assert world.fleet.jobs(now=world.now_s) == []


@pytest.mark.parametrize("key", [PoolRecord.key(P5), JobRecord.key("a"), Key("ledger", "attempt#a")], ids=str)
def test_attributes_of_newer_code_are_ignored(world: World, key: Key) -> None:
    world.submit("a")
    world.tick()
    item = world.table.get(key)
    assert item is not None
    world.table.write([Put(item={**item, "addedLater": {"by": "newer code"}})])
    world.submit("b", 5)
    world.tick()
    assert world.states("a") == {"a": "running"}


@pytest.mark.parametrize("version", ["", "x", None, [], float("inf")], ids=repr)
def test_an_item_whose_version_is_none_is_damaged(version: object) -> None:
    with pytest.raises(UnreadableRecord, match="is damaged: schemaVersion"):
        schema_version.upgrade({"pk": "job#a", "sk": "job", "schemaVersion": version})


def test_items_of_unknown_newer_kinds_are_not_changed(world: World) -> None:
    unknown = {"pk": "ledger", "sk": f"tomorrow#{P5}", "pool": P5, "schemaVersion": 1}
    world.table.write([Put(item=unknown)])
    world.submit("a")
    world.tick()
    assert world.states("a") == {"a": "running"}
    assert world.table.get(Key("ledger", f"tomorrow#{P5}")) == unknown
