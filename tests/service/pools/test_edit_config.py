"""No accepted change of the configuration is lost to another one without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway_sandbox.sagemaker.request_builder import G5
from headway_service.errors import ConfigurationChanged, InvalidConfiguration, RetryLater
from headway_service.invocation import LEASE_MARGIN_MS
from headway_service.pools import config_writes
from headway_service.pools.apply_config import CLOCK_MARGIN_MS, apply_configuration, find_applied, get_with_problem
from headway_service.pools.edit_config import MAX_TOLD_CHANGES, ConfigEditor
from headway_service.ports.config_store import ConfigurationText
from headway_service.ports.table import Key, Put
from headway_service.testing.memory_config import MemoryConfiguration
from headway_service.testing.memory_table import MemoryTable
from headway_verification.soak.cooperative_scheduler import Process
from headway_verification.soak.deployment import Deployment
from headway_verification.soak.faults.plan import Fault
from tests.service.world import INVOCATION_S, P5, World

POOLS: dict[str, Any] = {"pools": {P5: {"size": 2}}}
OTHER: dict[str, Any] = {"pools": {P5: {"size": 2}}, "overheadSeconds": 7}
BY_HAND: dict[str, Any] = {"pools": {P5: {"size": 2}}, "priority": {"maximum": 7}}


class Broken(Exception):
    """The invocation dies."""


LEASE_S = INVOCATION_S + LEASE_MARGIN_MS / 1000


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 2})
    world.configured()
    return world


def editor(world: World, holder: str = "me") -> ConfigEditor:
    invocation = replace(world.invocation(), holder=holder)
    return ConfigEditor(table=world.table, store=world.configuration, invocation=invocation)


def by_hand(world: World, document: Any = BY_HAND) -> None:
    """Edit the parameter itself."""
    world.configuration.write(document if isinstance(document, str) else json.dumps(document))


def around_the_write(
    world: World, *, before: Callable[[], object] = lambda: None, after: Callable[[], object] = lambda: None
) -> None:
    """Something happens just before and just after the next write of the parameter."""
    real = world.configuration.write

    def write(text: str) -> int:
        world.configuration.write = real  # type: ignore[method-assign]
        before()
        version = real(text)
        after()
        return version

    world.configuration.write = write  # type: ignore[method-assign]


def die() -> None:
    raise Broken


def nothing(version: int) -> ConfigurationText | None:
    """What a store shows that does not show a version."""
    return None


def stored(world: World) -> Any:
    return json.loads(world.configuration.text)


def notes(world: World) -> int:
    return len(config_writes.read_edits(world.table))


def known(world: World) -> Any:
    """The configuration in force."""
    found = find_applied(world.table)
    assert found is not None
    return found.configuration.model_dump(mode="json", exclude_unset=True)


def test_a_document_with_a_watch_that_is_refused_now_can_still_be_resized(world: World) -> None:
    document = {**POOLS, "watches": {"idle": {"periodSeconds": 10}}}
    by_hand(world, document)
    world.tick()
    assert known(world) == document
    editor(world).resize(P5, 3)
    assert stored(world) == {**document, "pools": {P5: {"size": 3}}}
    with pytest.raises(InvalidConfiguration, match=r"watches\.idle\.periodSeconds: 10 must be 60"):
        editor(world).replace(document, made_from=None)


@pytest.mark.parametrize(("weight", "now"), [(10, {"order": "short", "maximum": 7}), (0, {"maximum": 7})])
def test_a_weight_of_limits_that_an_earlier_version_applied_stops_no_decision(
    world: World, weight: int, now: dict[str, Any]
) -> None:
    world.tick()
    world.configuration.text = json.dumps({**POOLS, "priority": {"limitWeight": weight, "maximum": 7}})
    item = world.table.get(Key("config", "config"))
    assert item is not None
    world.table.write([Put(item={**item, "document": world.configuration.text})])
    world.submit("a")
    world.tick()
    world.pass_time(200)
    assert world.states("a") == {"a": "running"}
    assert known(world) == {**POOLS, "priority": now}
    told = get_with_problem(world.table, world.configuration, world.clocks)
    assert (told.problem or "").startswith("priority.limitWeight: does not exist any more: leave it out")
    editor(world).resize(P5, 3)
    assert stored(world) == known(world) == {"pools": {P5: {"size": 3}}, "priority": now}
    assert get_with_problem(world.table, world.configuration, world.clocks).problem is None


def test_a_document_that_is_older_than_a_resize_does_not_undo_it(world: World) -> None:
    editor(world).resize(P5, 3)
    with pytest.raises(ConfigurationChanged) as raised:
        editor(world).replace(OTHER, made_from=1)
    assert [(each.field, each.message) for each in raised.value.fields] == [(f"pools.{P5}.size", "2 → 3")]
    assert f"has version 2, and this document was made from version 1: it changed pools.{P5}.size: 2 → 3" in str(
        raised.value
    )
    assert (stored(world), known(world)) == ({"pools": {P5: {"size": 3}}}, {"pools": {P5: {"size": 3}}})
    assert notes(world) == 0


@pytest.mark.parametrize("made_from", [1, None])
def test_a_document_based_on_the_newest_version_or_unconditional_is_stored(world: World, made_from: int | None) -> None:
    found = editor(world).replace({**OTHER, "version": 1}, made_from)
    assert (found.version, found.configuration.overhead_seconds) == (2, 7)
    # The version belongs to the parameter, not to its text.
    assert stored(world) == OTHER
    assert notes(world) == 0


def test_a_repeated_call_has_the_answer_of_the_first(world: World) -> None:
    for _ in range(2):
        assert editor(world).replace(OTHER, made_from=1).version == 2
    assert world.configuration.version == 2


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


def test_an_edit_of_the_parameter_is_the_newest_version(world: World) -> None:
    by_hand(world)
    with pytest.raises(ConfigurationChanged, match=r"priority: not set → \{\"maximum\":7\}"):
        editor(world).replace(OTHER, made_from=1)
    editor(world).resize(P5, 5)
    assert stored(world) == {**BY_HAND, "pools": {P5: {"size": 5}}}


def test_an_invalid_edit_of_the_parameter_is_replaced_only_unconditionally(world: World) -> None:
    by_hand(world, "{")
    with pytest.raises(ConfigurationChanged, match="has version 2"):
        editor(world).replace(OTHER, made_from=1)
    assert world.configuration.text == "{"
    assert editor(world).replace(OTHER, made_from=2).version == 3


def test_an_edit_of_the_parameter_between_read_and_write_is_stored_again(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world))
    with pytest.raises(ConfigurationChanged, match="has version 4"):
        editor(world).replace(OTHER, made_from=1)
    assert (stored(world), known(world), world.configuration.version) == (BY_HAND, BY_HAND, 4)
    assert notes(world) == 0


def test_a_size_is_changed_again_in_a_document_that_was_edited_meanwhile(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world))
    editor(world).resize(P5, 5)
    assert stored(world) == known(world) == {**BY_HAND, "pools": {P5: {"size": 5}}}


def test_an_edit_of_the_parameter_that_a_tick_applies_before_the_writer_does_stays_in_force(world: World) -> None:
    def edited_and_applied() -> None:
        by_hand(world)
        world.tick()

    around_the_write(world, after=edited_and_applied)
    assert editor(world).replace(OTHER, made_from=1).version == 3
    assert stored(world) == known(world) == BY_HAND


def test_an_unconditional_write_also_replaces_a_concurrent_edit(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world))
    editor(world).replace(OTHER, None)
    assert stored(world) == known(world) == OTHER


def test_a_write_sent_twice_by_the_client_library_takes_effect_once(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world, json.dumps(OTHER, sort_keys=True, separators=(",", ":"))[:]))
    text = editor(world).replace(OTHER, made_from=1)
    assert (text.version, stored(world)) == (3, OTHER)


def test_a_crash_before_the_write_changes_nothing_and_blocks_others_only_briefly(world: World) -> None:
    around_the_write(world, before=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    world.tick()
    assert (stored(world), known(world)) == (POOLS, POOLS)
    editor(world, "other").resize(P5, 3)
    assert stored(world) == known(world) == {"pools": {P5: {"size": 3}}}


def test_a_crash_after_the_write_leaves_the_configuration_changed(world: World) -> None:
    around_the_write(world, after=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    world.tick()
    assert stored(world) == known(world) == OTHER
    # The caller, which got no response, calls again.
    assert editor(world, "again").replace(OTHER, made_from=1).version == 2


def test_an_edit_replaced_by_a_crashed_writer_is_in_force_and_stored_with_the_next_change(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world), after=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    assert stored(world) == OTHER
    world.tick()
    assert known(world) == BY_HAND
    told = get_with_problem(world.table, world.configuration, world.clocks)
    assert "replaced a newer one that it was not made from" in (told.problem or "")
    world.now_s += 86_400 * 2
    editor(world, "other").resize(P5, 4)
    assert stored(world) == known(world) == {**BY_HAND, "pools": {P5: {"size": 4}}}
    assert get_with_problem(world.table, world.configuration, world.clocks).problem is None


def test_a_late_write_does_not_replace_a_change_accepted_since(world: World) -> None:
    around_the_write(world, before=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    editor(world, "other").resize(P5, 3)
    world.configuration.write(json.dumps(OTHER, sort_keys=True, separators=(",", ":")))
    world.tick()
    assert known(world) == {"pools": {P5: {"size": 3}}}


def test_an_edit_of_the_parameter_equal_to_an_old_write_is_recognized(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    around_the_write(world, before=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    editor(world, "other").resize(P5, 3)
    world.now_s += LEASE_S + config_writes.LATE_MS / 1000 + 1
    by_hand(world, json.dumps(OTHER, sort_keys=True, separators=(",", ":")))
    real = world.configuration.read
    monkeypatch.setattr(world.configuration, "read", lambda: replace(real(), modified_ms=world.clock()))
    world.tick()
    assert known(world) == OTHER


def test_a_replaced_version_that_is_not_yet_readable_is_awaited(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world), after=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    real, world.configuration.read_version = world.configuration.read_version, nothing  # type: ignore[method-assign]
    world.tick()
    assert known(world) == POOLS
    with pytest.raises(RetryLater, match="not to be read now"):
        editor(world).replace(OTHER, made_from=1)
    world.configuration.read_version = real  # type: ignore[method-assign]
    world.tick()
    assert known(world) == BY_HAND


def test_a_replaced_version_that_stays_unreadable_does_not_block_the_queue_permanently(world: World) -> None:
    around_the_write(world, before=lambda: by_hand(world), after=die)
    with pytest.raises(Broken):
        editor(world).replace(OTHER, made_from=1)
    world.configuration.read_version = nothing  # type: ignore[method-assign]
    world.now_s += LEASE_S + config_writes.LATE_MS / 1000 + 1
    world.tick()
    assert known(world) == OTHER


def test_an_older_version_that_is_read_after_a_newer_one_is_not_applied(world: World) -> None:
    editor(world).replace(OTHER, made_from=1)
    world.configuration.lag = 1
    world.tick()
    assert known(world) == OTHER
    with pytest.raises(ConfigurationChanged, match="has version 2"):
        editor(world).replace(POOLS, made_from=1)
    editor(world).resize(P5, 4)
    assert stored(world) == known(world) == {**OTHER, "pools": {P5: {"size": 4}}}


def test_a_write_based_on_a_stale_read_is_reverted(world: World) -> None:
    by_hand(world)
    world.configuration.lag = 1
    with pytest.raises(ConfigurationChanged):
        editor(world).replace(OTHER, made_from=1)
    assert stored(world) == known(world) == BY_HAND


def test_a_recreated_parameter_is_in_force_despite_its_lower_version(world: World) -> None:
    editor(world).replace(OTHER, made_from=1)
    again = MemoryConfiguration(BY_HAND)

    def read(later_ms: int) -> ConfigurationText:
        return replace(MemoryConfiguration(BY_HAND).read(), modified_ms=world.clock() + later_ms)

    again.read = lambda: read(CLOCK_MARGIN_MS - 1)  # type: ignore[method-assign]
    assert apply_configuration(world.table, again, world.clocks).version == 2
    again.read = lambda: read(CLOCK_MARGIN_MS)  # type: ignore[method-assign]
    assert apply_configuration(world.table, again, world.clocks).version == 1
    assert known(world) == BY_HAND


def test_a_late_application_of_an_older_version_changes_nothing(world: World) -> None:
    """A tick has read a version; before its first, or second, write another invocation applies the next one."""
    for writes in (0, 1, 2):
        world = World(pools={P5: 2})
        world.configured()
        by_hand(world, {"pools": {P5: {"size": 5}}, "overheadSeconds": 5})
        table = _Interrupted(world.table, writes, lambda world=world: editor(world).replace(POOLS, None))  # type: ignore[misc]
        apply_configuration(table, world.configuration, world.clocks)
        assert get_with_problem(world.table, world.configuration, world.clocks).version == 3, writes
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

VALUES = {"overheadSeconds": 11, "window": 12, "size": 13, "by hand": 14}


def _value(document: Any, editor_name: str) -> Any:
    match editor_name:
        case "size":
            return document["pools"][P5]["size"]
        case "window":
            return document.get("backfill", {}).get("window")
        case "by hand":
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
        if name == "by hand":
            document = queue.store.document
            queue.store.edit({**document, "limits": {"waitingPerTeam": VALUES[name]}})
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
        queue.store.lag_s = 0
        queue.let_pass(60)
        queue.finish(queue.begin("schedule", {"Records": []}))
        item = queue.table.get(Key("config", "config"))
        assert item is not None
        return json.loads(item["document"])


_FAULTS = st.sampled_from([Fault.NONE] * 3 + [each for each in Fault if each is not Fault.SLOW])


# A crashed writer had replaced a manual edit, and the next writer reads late: it does not replace the newest version.
@example(
    order=["overheadSeconds", "time", "size", "tick", "by hand", "window"],
    steps=[0, 0, 1, 1, 1, 1, 0],
    faults=[],
    lag_s=1000,
)
@settings(max_examples=150, deadline=None)
@given(
    order=st.permutations([*VALUES, "tick", "time"]),
    steps=st.lists(st.integers(0, 7), max_size=60),
    faults=st.lists(_FAULTS, max_size=4),
    lag_s=st.sampled_from([0, 30, 1000]),
)
def test_no_accepted_change_is_lost_with_concurrent_changes_of_the_configuration(
    order: list[str], steps: list[int], faults: list[Fault], lag_s: int
) -> None:
    editors = _Editors()
    coming = iter(faults)
    editors.queue.faults.planned = lambda operation: (
        next(coming, Fault.NONE) if operation == "PutParameter" else Fault.NONE
    )
    editors.queue.store.lag_s = lag_s
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


def test_a_crash_while_pools_are_updated_leaves_the_rest_to_the_next_tick(world: World) -> None:
    by_hand(world, {"pools": {P5: {"size": 5}}, "teams": {"a": {}}})
    for _ in range(3):
        with pytest.raises(Broken):
            apply_configuration(_Interrupted(world.table, 1, die), world.configuration, world.clocks)
        assert world.in_force().queue_teams is None
    world.tick()
    assert {use.pool: use.size for use in world.capacity()} == {P5: 5}
    assert world.in_force().queue_teams == ("", "a")
