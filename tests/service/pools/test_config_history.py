"""Each document that comes into force is recorded with its author, and none that never was."""

from __future__ import annotations

import json

import pytest

from headway_service.actions.action import DEPLOYMENT, Author
from headway_service.errors import ConfigurationChanged, InvalidRequest, RetryLater, VersionNotFound
from headway_service.pools import apply_config
from headway_service.pools.config_history import (
    KEPT_S,
    ConfigRecord,
    changes_since,
    get_record,
    read_history,
    record_before,
)
from headway_service.ports.table import Delete, Key, Put
from tests.service.pools.test_edit_config import OTHER, POOLS, Broken, die, editor, overtaken
from tests.service.world import P5, World

ADA = Author(name="user/ada", address="10.0.0.7", reason="more room")
BOB = Author(name="user/bob")


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 2})
    world.configured()
    return world


def records(world: World, limit: int = 500) -> list[ConfigRecord]:
    return [record for record, _ in read_history(world.table, limit).records]


def authors(world: World) -> list[tuple[int, str]]:
    """Versions with their authors, the newest one first."""
    return [(each.version, each.by) for each in records(world)]


def test_a_change_is_recorded_with_who_made_it_when_from_where_and_why(world: World) -> None:
    world.now_s += 60
    editor(world).replace(OTHER, made_from=1, author=ADA)
    newest, first = records(world)
    assert (newest.version, newest.by, newest.address, newest.reason) == (2, "user/ada", "10.0.0.7", "more room")
    assert newest.changed_ms == world.clock()
    assert newest.expires_at == world.machine_clock() // 1000 + KEPT_S
    assert (first.version, first.by) == (1, DEPLOYMENT.name)
    assert [(each.field, each.message) for each in changes_since(first, newest)] == [("overheadSeconds", "not set → 7")]


def test_a_resize_is_recorded_with_its_author(world: World) -> None:
    editor(world).resize(P5, 3, BOB)
    assert authors(world) == [(2, "user/bob"), (1, DEPLOYMENT.name)]


def test_a_repeated_call_is_recorded_once(world: World) -> None:
    editor(world).replace(OTHER, made_from=1, author=ADA)
    editor(world).replace(OTHER, made_from=1, author=BOB)
    assert authors(world) == [(2, "user/ada"), (1, DEPLOYMENT.name)]


def test_a_change_whose_caller_dies_is_recorded_with_its_author(world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply_config, "_apply_to_ledger", lambda *_: die())
        with pytest.raises(Broken):
            editor(world).replace(OTHER, made_from=1, author=ADA)
    assert authors(world) == [(2, "user/ada"), (1, DEPLOYMENT.name)]
    world.tick()
    assert authors(world) == [(2, "user/ada"), (1, DEPLOYMENT.name)]


def test_a_change_that_another_one_came_before_is_not_recorded(world: World) -> None:
    table = overtaken(world, lambda: editor(world).resize(P5, 3, BOB))
    with pytest.raises(ConfigurationChanged):
        editor(world, table).replace(OTHER, made_from=1, author=ADA)
    assert authors(world) == [(2, "user/bob"), (1, DEPLOYMENT.name)]


def test_versions_that_began_again_under_an_earlier_version_of_the_queue_hide_none_of_those_before(
    world: World,
) -> None:
    for size in (3, 4):
        editor(world).resize(P5, size, ADA)
    item = world.table.get(Key("config", "config")) or {}
    # Its parameter was deleted and created again.
    world.table.write([Put(item={**item, "version": 1, "life": 2})])
    editor(world).replace(OTHER, made_from=None, author=BOB)
    assert [(each.life, each.version, each.by) for each in records(world)] == [
        (2, 2, "user/bob"),
        (2, 1, ""),
        (1, 3, "user/ada"),
        (1, 2, "user/ada"),
        (1, 1, DEPLOYMENT.name),
    ]
    assert get_record(world.table, 2, 2).by == "user/bob"
    with pytest.raises(VersionNotFound):
        get_record(world.table, 2, 3)
    before = record_before(world.table, get_record(world.table, 2, 1))
    assert before is not None
    assert (before.life, before.version) == (1, 3)


def test_a_year_of_changes_is_read_page_by_page_and_each_version_can_be_compared(world: World) -> None:
    for day in range(365):
        world.now_s += 86_400
        editor(world).resize(P5, 3 + day % 7, Author(name=f"user/u{day % 3}", reason=f"day {day}"))
    seen: list[tuple[int, str, str]] = []
    token: str | None = None
    pages = 0
    while pages == 0 or token is not None:
        page = read_history(world.table, 50, token)
        seen += [(each.version, each.by, each.reason) for each, _ in page.records]
        token, pages = page.next, pages + 1
    assert pages == 8
    assert seen == [
        *((day + 2, f"user/u{day % 3}", f"day {day}") for day in reversed(range(365))),
        (1, DEPLOYMENT.name, ""),
    ]
    changes = changes_since(get_record(world.table, 1, 2), get_record(world.table, 1, 366 - 1))
    assert [(each.field, each.message) for each in changes] == [(f"pools.{P5}.size", "3 → 9")]


def test_a_page_has_the_document_before_its_last_one(world: World) -> None:
    for size in (3, 4):
        editor(world).resize(P5, size)
    page = read_history(world.table, 1)
    ((record, before),) = page.records
    assert before is not None
    assert (record.version, before.version, page.next) == (3, 2, "1.3")
    last = read_history(world.table, 2, page.next)
    assert [(each.version, each_before and each_before.version) for each, each_before in last.records] == [
        (2, 1),
        (1, None),
    ]
    assert last.next is None


@pytest.mark.parametrize("token", ["", "x", "1", "1.x", "1.2.3", "-", "99999.1", "1_0.2", "\u0661.\u0662", "-1.2"])
def test_a_token_that_no_answer_had_is_refused(world: World, token: str) -> None:
    with pytest.raises(InvalidRequest, match="after is no `next` of an answer"):
        read_history(world.table, 1, token)


@pytest.mark.parametrize("version", [0, 2, 10**12, 10**15])
def test_a_version_that_never_was_in_force_is_not_found(world: World, version: int) -> None:
    with pytest.raises(VersionNotFound, match="headway config history"):
        get_record(world.table, 1, version)


def test_a_new_queue_has_no_history() -> None:
    page = read_history(World(pools={P5: 2}).table, 5)
    assert (list(page.records), page.next) == ([], None)


def test_the_first_document_of_a_deployment_is_recorded() -> None:
    world = World(pools={P5: 2})
    world.tick()
    ((record, before),) = read_history(world.table, 5).records
    assert before is None
    assert changes_since(None, record) == []
    assert json.loads(record.document) == POOLS


def test_a_document_that_is_set_revoked_and_set_again_after_a_crash_stays(world: World) -> None:
    editor(world).resize(P5, 3, BOB)

    def breaks(*_: object) -> object:
        raise RetryLater("no answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apply_config, "_apply_to_ledger", breaks)
        with pytest.raises(RetryLater):
            editor(world).replace(OTHER, made_from=2, author=ADA)
    world.tick()
    editor(world).replace(POOLS, made_from=3, author=BOB)
    assert editor(world).replace(OTHER, made_from=4, author=ADA).version == 5
    world.tick()
    assert authors(world) == [(5, "user/ada"), (4, "user/bob"), (3, "user/ada"), (2, "user/bob"), (1, DEPLOYMENT.name)]


def test_a_document_in_force_that_has_no_record_gets_one_with_the_next_change(world: World) -> None:
    first = records(world)[0]
    world.table.write([Delete(key=ConfigRecord.key(1, 1))])
    editor(world).resize(P5, 3, ADA)
    newest, restored = records(world)
    assert (restored.version, restored.document, restored.by) == (1, first.document, "")
    assert changes_since(restored, newest)
