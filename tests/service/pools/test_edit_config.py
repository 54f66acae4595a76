"""No accepted change of the configuration is lost to another one without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_sandbox.sagemaker.request_builder import G5
from headway_service.errors import ConfigurationChanged, InvalidConfiguration, RetryLater
from headway_service.pools.apply_config import apply_configuration, find_applied
from headway_service.pools.config_history import ConfigRecord
from headway_service.pools.edit_config import MAX_TOLD_CHANGES, MAX_TRIES, ConfigEditor
from headway_service.ports.table import Delete, Key, Put, Table
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.cooperative_scheduler import Process
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault
from tests.service.world import P5, World

POOLS: dict[str, Any] = {"pools": {P5: {"size": 2}}}
OTHER: dict[str, Any] = {"pools": {P5: {"size": 2}}, "overheadSeconds": 7}
ANOTHER: dict[str, Any] = {"pools": {P5: {"size": 2}}, "priority": {"maximum": 7}}


class Broken(Exception):
    """The invocation dies."""


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 2})
    world.configured()
    return world


def editor(world: World, table: Table | None = None) -> ConfigEditor:
    return ConfigEditor(table=table or world.table, first=world.configuration.first, clocks=world.clocks)


def die() -> None:
    raise Broken


def known(world: World) -> Any:
    """The configuration in force."""
    found = find_applied(world.table)
    assert found is not None
    return found.configuration.model_dump(mode="json", exclude_unset=True)


def test_a_document_with_a_watch_that_is_refused_now_can_still_be_resized(world: World) -> None:
    document = {**POOLS, "watches": {"idle": {"periodSeconds": 10}}}
    world.configuration.write(document)
    assert known(world) == document
    editor(world).resize(P5, 3)
    assert known(world) == {**document, "pools": {P5: {"size": 3}}}
    with pytest.raises(InvalidConfiguration, match=r"watches\.idle\.periodSeconds: 10 must be 60"):
        editor(world).replace(document, made_from=None)


@pytest.mark.parametrize(("weight", "now"), [(10, {"order": "short", "maximum": 7}), (0, {"maximum": 7})])
def test_a_weight_of_limits_that_an_earlier_version_applied_stops_no_decision(
    world: World, weight: int, now: dict[str, Any]
) -> None:
    item = world.table.get(Key("config", "config"))
    assert item is not None
    document = json.dumps({**POOLS, "priority": {"limitWeight": weight, "maximum": 7}})
    world.table.write([Put(item={**item, "document": document})])
    world.submit("a")
    world.tick()
    world.pass_time(200)
    assert world.states("a") == {"a": "running"}
    assert known(world) == {**POOLS, "priority": now}
    editor(world).resize(P5, 3)
    assert known(world) == {"pools": {P5: {"size": 3}}, "priority": now}


def test_a_document_that_is_older_than_a_resize_does_not_undo_it(world: World) -> None:
    editor(world).resize(P5, 3)
    with pytest.raises(ConfigurationChanged) as raised:
        editor(world).replace(OTHER, made_from=1)
    assert [(each.field, each.message) for each in raised.value.fields] == [(f"pools.{P5}.size", "2 → 3")]
    assert f"has version 2, and this document was made from version 1: it changed pools.{P5}.size: 2 → 3" in str(
        raised.value
    )
    assert known(world) == {"pools": {P5: {"size": 3}}}


@pytest.mark.parametrize("made_from", [1, None])
def test_a_document_based_on_the_newest_version_or_unconditional_is_put_in_force(
    world: World, made_from: int | None
) -> None:
    found = editor(world).replace({**OTHER, "version": 1}, made_from)
    assert (found.version, found.configuration.overhead_seconds) == (2, 7)
    # The version belongs to the record, not to its text.
    assert known(world) == OTHER


@pytest.mark.parametrize("made_from", [1, 2, 9, None])
def test_a_document_that_equals_the_one_in_force_changes_nothing(world: World, made_from: int | None) -> None:
    assert editor(world).replace(OTHER, made_from=1).version == 2
    assert editor(world).replace(OTHER, made_from=made_from).version == 2
    assert editor(world).resize(P5, 2).version == 2


def test_an_unknown_version_conflicts_without_a_list_of_changes(world: World) -> None:
    with pytest.raises(ConfigurationChanged, match="made from version 9: what changed since then is not known"):
        editor(world).replace(OTHER, made_from=9)


def test_a_limited_number_of_changes_is_listed(world: World) -> None:
    teams = {f"t{i}": {"weight": 2.0} for i in range(18)}
    editor(world).replace({**POOLS, "teams": teams}, made_from=1)
    changed = {**POOLS, "teams": {name: {"weight": 3.0, "maxPriority": 1} for name in teams}}
    editor(world).replace(changed, made_from=2)
    with pytest.raises(ConfigurationChanged, match=r"and 16 more") as raised:
        editor(world).replace(OTHER, made_from=2)
    assert len(raised.value.fields) == MAX_TOLD_CHANGES


def test_a_version_whose_record_is_gone_conflicts_without_a_list_of_changes(world: World) -> None:
    editor(world).resize(P5, 3)
    world.table.write([Delete(key=ConfigRecord.key(1, 1))])
    with pytest.raises(ConfigurationChanged, match="made from version 1: what changed since then is not known"):
        editor(world).replace(OTHER, made_from=1)


def overtaken(world: World, *meanwhile: Callable[[], object]) -> Table:
    """A table on which other changes come just before the first writes."""
    table: Any = world.table
    for each in reversed(meanwhile):
        table = _Interrupted(table, 0, each)
    found: Table = table
    return found


def test_a_change_between_read_and_write_is_not_replaced(world: World) -> None:
    table = overtaken(world, lambda: editor(world).replace(ANOTHER, None))
    with pytest.raises(ConfigurationChanged, match=r"priority: not set → \{\"maximum\":7\}"):
        editor(world, table).replace(OTHER, made_from=1)
    assert known(world) == ANOTHER


def test_a_size_is_changed_again_in_a_document_that_was_changed_meanwhile(world: World) -> None:
    table = overtaken(world, lambda: editor(world).replace(ANOTHER, None))
    assert editor(world, table).resize(P5, 5).version == 3
    assert known(world) == {**ANOTHER, "pools": {P5: {"size": 5}}}


def test_an_unconditional_change_replaces_a_concurrent_one(world: World) -> None:
    table = overtaken(world, lambda: editor(world).replace(ANOTHER, None))
    assert editor(world, table).replace(OTHER, None).version == 3
    assert known(world) == OTHER


class _AlwaysOvertaken:
    """A table on which another change comes before each write of the configuration."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.times = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.table, name)

    def write(self, writes: Any) -> None:
        self.times += 1
        editor(self._world).resize(P5, 10 + self.times)
        self._world.table.write(writes)


@pytest.mark.parametrize(
    "change", [lambda editor: editor.resize(P5, 3), lambda editor: editor.replace(OTHER, None)], ids=["size", "all"]
)
def test_a_change_that_others_keep_coming_before_gives_up_after_some_tries(
    world: World, change: Callable[[ConfigEditor], object]
) -> None:
    table: Any = _AlwaysOvertaken(world)
    with pytest.raises(RetryLater, match="others keep changing the configuration"):
        change(editor(world, table))
    assert table.times == MAX_TRIES
    assert known(world) == {"pools": {P5: {"size": 10 + MAX_TRIES}}}


@pytest.mark.parametrize("writes", [1, 2, 3])
def test_a_crash_after_the_change_is_completed_by_the_next_tick(world: World, writes: int) -> None:
    document = {"pools": {P5: {"size": 5}}, "teams": {"a": {}}}
    table: Any = _Interrupted(world.table, writes, die)
    with pytest.raises(Broken):
        editor(world, table).replace(document, made_from=1)
    assert world.in_force().queue_teams is None
    # The caller, which got no response, may call again, or a tick comes first.
    if writes % 2:
        world.tick()
    assert editor(world).replace(document, made_from=1).version == 2
    assert {use.pool: use.size for use in world.capacity()} == {P5: 5}
    assert world.in_force().queue_teams == ("", "a")


def test_a_late_application_of_an_older_version_changes_nothing(world: World) -> None:
    """A document was put in force; before each further write, another call puts the next one in force."""
    for writes in (1, 2, 3):
        world = World(pools={P5: 2})
        world.configured()
        newer: Any = _Interrupted(world.table, writes, lambda world=world: editor(world).replace(POOLS, None))  # type: ignore[misc]
        editor(world, newer).replace({"pools": {P5: {"size": 5}}, "teams": {"a": {}}}, None)
        assert world.in_force().version == 3, writes
        world.tick()
        assert known(world) == POOLS, writes
        assert {use.pool: use.size for use in world.capacity()} == {P5: 2}, writes


class _Interrupted:
    """A table on which another actor acts once, after a number of writes."""

    def __init__(self, table: Any, writes: int, meanwhile: Callable[[], object]) -> None:
        self._table = table
        self._left = writes
        self._meanwhile: Callable[[], object] | None = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def write(self, writes: Any) -> None:
        if self._left == 0 and self._meanwhile is not None:
            meanwhile, self._meanwhile = self._meanwhile, None
            meanwhile()
        self._left -= 1
        self._table.write(writes)


# ------------------------------------------------------------------------------------------------------ the property

VALUES = {"overheadSeconds": 11, "window": 12, "size": 13, "by force": 14}


def _value(document: Any, editor_name: str) -> Any:
    match editor_name:
        case "size":
            return document["pools"][P5]["size"]
        case "window":
            return document.get("backfill", {}).get("window")
        case "by force":
            return document.get("limits", {}).get("waitingPerTeam")
        case _:
            return document.get("overheadSeconds")


class _Editors:
    """Each changes a separate part of the document, all at once, on a queue with accidents."""

    def __init__(self) -> None:
        self.queue = Deployment(Random(0), {P5: 2, G5: 2})
        self.queue.finish(self.queue.begin("schedule", {"Records": []}))
        self.accepted: set[str] = set()
        self.live: list[Process] = []
        self.versions = [0]

    def begin(self, name: str) -> None:
        queue = self.queue
        if name == "by force":
            queue.configuration.write({**queue.configuration.document, "limits": {"waitingPerTeam": VALUES[name]}})
            self.accepted.add(name)
        elif name == "tick":
            self.live.append(queue.begin("schedule", {"Records": []}))
        elif name == "time":
            queue.let_pass(40)
        elif name == "size":
            self._send(name, "PATCH", f"/pools/{P5}", {"size": VALUES[name]})
        else:
            shown: list[Any] = []
            queue.finish(queue.ask("GET", "/config", then=lambda _, answer: shown.append(answer)))
            if shown and "document" in shown[0]:
                change = {"backfill": {"window": VALUES[name]}} if name == "window" else {name: VALUES[name]}
                self._send(name, "PUT", "/config", {**shown[0]["document"], **change})

    def _send(self, name: str, method: str, path: str, body: Any) -> None:
        def then(status: int, _: Any) -> None:
            if status == 200:
                self.accepted.add(name)

        self.live.append(self.queue.ask(method, path, body, then=then))

    def step(self, choice: int) -> None:
        self.live = [process for process in self.live if not process.ended]
        if self.live:
            self.queue.advance(self.live[choice % len(self.live)])
        item = self.queue.table.get(Key("config", "config"))
        self.versions.append(int(item["version"]) if item else 0)

    def rest(self) -> Any:
        queue = self.queue
        queue.faults.planned = None
        for process in self.live:
            queue.finish(process)
        queue.let_pass(60)
        queue.finish(queue.begin("schedule", {"Records": []}))
        item = queue.table.get(Key("config", "config"))
        assert item is not None
        return json.loads(item["document"])


_FAULTS = st.sampled_from([Fault.NONE] * 3 + [each for each in Fault if each is not Fault.SLOW])


@settings(max_examples=150, deadline=None)
@given(
    order=st.permutations([*VALUES, "tick", "time"]),
    steps=st.lists(st.integers(0, 7), max_size=60),
    faults=st.lists(_FAULTS, max_size=6),
)
def test_no_accepted_change_is_lost_with_concurrent_changes_of_the_configuration(
    order: list[str], steps: list[int], faults: list[Fault]
) -> None:
    editors = _Editors()
    coming = iter(faults)
    editors.queue.faults.planned = lambda operation: (
        next(coming, Fault.NONE) if operation in {"PutItem", "TransactWriteItems"} else Fault.NONE
    )
    waiting = list(order)
    try:
        for choice in steps:
            if choice == 0 and waiting:
                editors.begin(waiting.pop())
            editors.step(choice)
        for name in waiting:
            editors.begin(name)
        document = editors.rest()
    finally:
        editors.queue.processes.kill_all()
    lost = {name for name in editors.accepted if _value(document, name) != VALUES[name]}
    assert not lost
    assert editors.versions == sorted(editors.versions)


def test_only_the_configuration_and_its_history_remain_after_a_change(world: World) -> None:
    editor(world).replace(OTHER, made_from=1)
    assert isinstance(world.table, MemoryTable)
    left = {item["sk"] for item in world.table.items() if item["pk"] == "config"}
    assert {each for each in left if not each.startswith("history#")} == {"config"}
    assert apply_configuration(world.table, "", world.clocks).version == 2
