"""The table is restored to an earlier state, and later actions of the queue are found in SageMaker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from deploy import restore
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_service.ports.table import Absent
from headway_service.sagemaker_api.names import attempt_name
from headway_service.sagemaker_api.tags import ATTEMPT_TAG, JOB_TAG
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.testing.memory_table import MemoryTable
from tests.deploy.tables import empty_tables
from tests.service.world import P5, ROOT, World, request


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with empty_tables(monkeypatch, "restored", "queue") as made:
        yield made


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"pk": f"job#{name}", "sk": "job", **more}


def fill(table: Any, *items: dict[str, Any]) -> None:
    with table.batch_writer() as batch:
        for each in items:
            batch.put_item(Item=each)


def read(table: Any) -> list[dict[str, Any]]:
    return sorted(table.scan()["Items"], key=lambda each: (str(each["pk"]), str(each["sk"])))


def stored(record: PauseRecord) -> dict[str, Any]:
    return dict(record.put(requires=Absent()).item)


def pause_of(table: Any) -> PauseRecord:
    """Return the pause of all pools."""
    (found,) = [each for each in read(table) if each["sk"] == "pause#*"]
    return PauseRecord.parse(found)


def without_pause(table: Any) -> list[dict[str, Any]]:
    return [each for each in read(table) if each["sk"] != "pause#*"]


def test_the_table_gets_the_items_of_the_other_one_and_a_pause_of_all_pools(tables, capsys):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, item("a"), item("b", count=1, demand={"ml.p5.48xlarge": 2}), item("c"))
    fill(target, item("b", count=2), item("c"), item("d"))
    assert restore.main(["copy", "restored", "queue", "--second", "2026-11-22T09:30:00Z"]) == 0
    assert without_pause(target) == read(source)
    assert capsys.readouterr().out == "2 items written, 1 removed, 1 were as they should be\n"
    pause = pause_of(target)
    assert (pause.by, pause.reason) == ("restore", "the table was restored to its state of 2026-11-22T09:30:00+00:00")
    assert (pause.restored_ms, pause.stays) == (pause.since_ms, False)
    assert abs(pause.since_ms - time.time() * 1000) < 60_000


def test_an_interrupted_copy_is_resumed(tables):
    fill(tables.Table("restored"), *(item(f"{number:03d}") for number in range(60)))
    fill(tables.Table("queue"), *(item(f"{number:03d}") for number in range(30)))
    copied = restore.copy(restore.read_items(tables.Table("restored")), tables.Table("queue"))
    assert (copied.written, copied.removed, copied.kept) == (30, 0, 30)
    copied = restore.copy(restore.read_items(tables.Table("restored")), tables.Table("queue"))
    assert (copied.written, copied.removed, copied.kept) == (0, 0, 60)
    assert pause_of(tables.Table("queue")).restored_ms is not None


def test_the_pause_is_written_first_and_exists_if_the_copy_is_interrupted(tables, monkeypatch):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, item("a"))
    fill(target, item("b"))

    def fail(*_: Any, **__: Any) -> None:
        raise ConnectionError("broke off")

    monkeypatch.setattr(target, "batch_writer", fail)
    with pytest.raises(ConnectionError):
        restore.copy(restore.read_items(source), target)
    assert pause_of(target).restored_ms is not None
    assert without_pause(target) == [item("b")]


PAUSED = PauseRecord(pool="*", by="user/ada", reason="the cooling is repaired", since_ms=5)
GUARD = PauseRecord(pool="*", by="restore", reason="the table was restored", since_ms=7, restored_ms=7)
GUARD_THAT_STAYS = PAUSED.model_copy(update={"restored_ms": 7, "stays": True})


@pytest.mark.parametrize(
    ("restored", "present", "by", "stays"),
    [
        (None, None, "restore", False),
        (PAUSED, None, "user/ada", True),
        (None, PAUSED, "restore", False),
        (None, GUARD, "restore", False),
        (None, GUARD_THAT_STAYS, "user/ada", True),
        (GUARD, None, "restore", False),
        (GUARD_THAT_STAYS, GUARD, "user/ada", True),
    ],
    ids=[
        "nothing was paused",
        "everything was paused at that second",
        "everything was paused since",
        "an earlier run",
        "everything was paused after an earlier run",
        "that second was soon after another restore",
        "and everything was paused then",
    ],
)
def test_a_pause_of_all_pools_from_that_second_or_after_the_restore_continues(
    tables, restored: PauseRecord | None, present: PauseRecord | None, by: str, stays: bool
):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, item("a"), *([stored(restored)] if restored else []))
    fill(target, *([stored(present)] if present else []))
    for _ in range(2):
        restore.copy(restore.read_items(source), target)
        pause = pause_of(target)
        assert (pause.by, pause.stays) == (by, stays)
        assert (pause.restored_ms or 0) > 7


@pytest.mark.parametrize(("present", "by", "stays"), [(None, "restore", False), (PAUSED, "user/ada", True)])
def test_a_table_restored_under_its_own_name_is_only_paused(
    tables, capsys, present: PauseRecord | None, by: str, stays: bool
):
    table = tables.Table("queue")
    fill(table, item("a"), *([stored(present)] if present else []))
    for _ in range(2):
        assert restore.main(["guard", "queue"]) == 0
        assert "launches nothing before" in capsys.readouterr().out
        pause = pause_of(table)
        assert (pause.by, pause.stays) == (by, stays)
        assert (pause.restored_ms or 0) > 7
    assert without_pause(table) == [item("a")]


def counted(count: int) -> dict[str, Any]:
    return {"pk": "ledger", "sk": f"pool#{P5}", "pool": P5, "free": count, "pauses": 7, "pausesFromMs": 5}


@pytest.mark.parametrize("command", [["copy", "restored", "queue"], ["guard", "queue"]])
def test_a_start_that_was_decided_before_the_restore_has_no_number_of_pauses_to_rely_on(tables, command: list[str]):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, counted(1), item("a"))
    fill(target, counted(2), item("a", count=1))
    for _ in range(2):
        assert restore.main(command) == 0
        (pool,) = (each for each in read(target) if each["sk"] == f"pool#{P5}")
        assert pool.keys() == {"pk", "sk", "pool", "free"}
        assert pool["free"] == (1 if command[0] == "copy" else 2)


def test_the_pauses_are_no_longer_counted_before_the_first_item_is_copied(tables, monkeypatch):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, counted(1))
    fill(target, counted(2))

    def fail(*_: Any, **__: Any) -> None:
        raise ConnectionError("broke off")

    monkeypatch.setattr(target, "batch_writer", fail)
    with pytest.raises(ConnectionError):
        restore.copy(restore.read_items(source), target)
    assert [each.keys() & {"pauses", "pausesFromMs"} for each in without_pause(target)] == [set()]


def test_the_key_of_the_marks_is_kept_if_it_is_newer_than_the_restored_state(tables):
    key = {"pk": "deployment", "sk": "deployment", "markKey": "k"}
    fill(tables.Table("restored"), item("a"))
    fill(tables.Table("queue"), key)
    copied = restore.copy(restore.read_items(tables.Table("restored")), tables.Table("queue"))
    assert (copied.written, copied.removed, copied.kept) == (1, 0, 1)
    assert key in read(tables.Table("queue"))


def configuration(version: int, **attributes: Any) -> list[dict[str, Any]]:
    """The items of a configuration, with its history."""
    history = [{"pk": "config", "sk": f"history#{each}", "document": str(each)} for each in range(1, version + 1)]
    return [{"pk": "config", "sk": "config", "version": version, **attributes}, *history]


def test_the_configuration_of_the_queue_stays_and_its_pools_and_teams_have_yet_to_follow_it(tables):
    fill(tables.Table("restored"), item("a"), *configuration(2, left=["x"]))
    fill(tables.Table("queue"), item("b"), *configuration(3, left=[]))
    for _ in range(2):
        restore.main(["copy", "restored", "queue"])
        assert without_pause(tables.Table("queue")) == [*configuration(3), item("a")]


def test_a_damaged_configuration_is_copied_on_request(tables):
    fill(tables.Table("restored"), item("a"), *configuration(2, left=[]))
    fill(tables.Table("queue"), item("b"), *configuration(3, document="{"))
    restore.main(["copy", "restored", "queue", "--with-configuration"])
    assert without_pause(tables.Table("queue")) == [*configuration(2, left=[]), item("a")]


def test_the_configuration_is_restored_where_the_queue_has_none(tables):
    fill(tables.Table("restored"), item("a"), *configuration(2, left=[]))
    fill(tables.Table("queue"), item("b"), {"pk": "config", "sk": "history#9"})
    restore.main(["copy", "restored", "queue"])
    assert without_pause(tables.Table("queue")) == [*configuration(2, left=[]), item("a")]


def test_the_configuration_moves_with_its_table(tables):
    fill(tables.Table("queue"), *configuration(1))
    restore.copy([item("a"), *configuration(2, left=[])], tables.Table("queue"))
    assert without_pause(tables.Table("queue")) == [*configuration(2, left=[]), item("a")]


def test_an_empty_table_is_not_copied(tables):
    fill(tables.Table("queue"), item("a"))
    with pytest.raises(SystemExit, match="there are no items to copy"):
        restore.main(["copy", "restored", "queue"])
    assert read(tables.Table("queue")) == [item("a")]


@pytest.mark.parametrize(
    ("name", "job", "status", "said"),
    [
        ("ran", "ran", "InProgress", None),
        ("ran", "ran", "Completed", None),
        (attempt_name("ran", 2), "ran", "InProgress", "stops it"),
        (attempt_name("ran", 2), "ran", "Stopping", "stops it"),
        ("waits", "waits", "InProgress", "the patrol makes it the live attempt"),
        ("waits", "waits", "Stopping", "stops it"),
        (attempt_name("waits", 2), "waits", "InProgress", "a later attempt than its job waits for"),
        ("waits", "waits", "Completed", "the job completes when it is started next"),
        (attempt_name("waits", 2), "waits", "Completed", "its job may be trained again"),
        ("held", "held", "InProgress", "stops it"),
        ("waits", "waits", "Failed", "nothing to do"),
        ("lost", "lost", "InProgress", "the job is forgotten"),
        ("lost", "lost", "Stopped", "nothing to do"),
    ],
)
def test_a_training_job_missing_from_the_table_is_listed_with_its_fate(
    name: str, job: str, status: str, said: str | None
):
    table = MemoryTable()
    world = World(table=table)
    world.submit("ran")
    world.tick()
    world.submit("waits")
    world.submit("held")
    world.commands.hold("held", ROOT)
    found = list(restore.find_unknown([restore.TrainingJob(name=name, job=job, status=status)], table.items()))
    assert len(found) == (said is not None)
    assert not found or (said is not None and said in found[0] and found[0].startswith(f"{name} ({status}), job {job}"))
    assert not found or ("stops it" in found[0]) == (f"`headway stop --rogue {name}`" in found[0])


def test_only_training_jobs_with_a_mark_of_this_queue_are_listed():
    fleet = FakeSageMaker()
    for name, mark in (("a", "queue/1"), ("b", "queue-2/1"), ("c", "")):
        tags = [{"Key": JOB_TAG, "Value": name}, *([{"Key": ATTEMPT_TAG, "Value": mark}] if mark else [])]
        fleet.create(request(name, Tags=tags), now=10.0)
    sagemaker = stub_client("sagemaker", lambda operation, asked: fleet.call(operation, asked, now=20.0))
    (found,) = restore.read_marked(sagemaker, datetime.fromtimestamp(5, UTC), "queue")
    assert (found.name, found.job, found.status) == ("a", "a", "InProgress")
