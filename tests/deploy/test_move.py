"""A queue moves to another account or region: its table through a file, and its jobs without their training jobs."""

from __future__ import annotations

import gzip
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from deploy import move, restore
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.ports.table import Key
from headway_service.store.repository import find_request
from headway_service.testing.memory_table import MemoryTable
from tests.deploy.tables import empty_tables
from tests.service.world import P5, ROOT, World

SECOND = "2026-11-22T09:30:00Z"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with empty_tables(monkeypatch, "old", "new") as made:
        yield made


def fill(table: Any, memory: Any) -> None:
    """Write all items of a table in memory to another one."""
    with table.batch_writer() as batch:
        for item in memory.items():
            batch.put_item(Item=dict(item))


def busy_queue() -> World:
    """A queue with a job in each state that has an attempt, and waiting ones."""
    world = World(pools={P5: 3})
    for name in ("runs", "yields", "ends"):
        world.submit(name, 2 if name == "runs" else 1)
    world.tick()
    world.pass_time(400)
    world.commands.stop("ends", ROOT)
    world.submit("urgent", 9, ResourceConfig={"InstanceType": P5, "InstanceCount": 2, "VolumeSizeInGB": 1})
    world.submit("waits", 0)
    world.tick()
    return world


def test_a_table_is_the_same_behind_the_file(tables, tmp_path, capsys):
    fill(tables.Table("old"), busy_queue().table)
    file = tmp_path / "queue.json.gz"
    capsys.readouterr()
    assert move.main(["save", "old", str(file)]) == 0
    items = list(restore.read_items(tables.Table("old")))
    assert list(move.read_files([file])) == items
    assert capsys.readouterr().out == f"{len(items)} items saved\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_data_files_of_an_export_are_read_together(tmp_path):
    files = [tmp_path / f"{number}.json.gz" for number in (1, 2)]
    for number, file in enumerate(files):
        file.write_bytes(
            gzip.compress(b'{"Item":{"pk":{"S":"a"},"n":{"N":"%d"},"of":{"M":{"S":{"BOOL":true}}}}}\n' % number)
        )
    assert list(move.read_files(files)) == [{"pk": "a", "n": n, "of": {"S": True}} for n in (0, 1)]


WHOLE = gzip.compress(b'{"Item":{"pk":{"S":"a"},"sk":{"S":"b"}}}\n' * 50)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{"Item":{}}\n', 0),
        (WHOLE[:-12], r"\d+"),
        (gzip.compress(b'{"Item":{"pk":{"S":"a"},"sk":{"S":"b"}}}\n{"Keys":1}\n'), 2),
        (gzip.compress(b"[]\n"), 1),
        (gzip.compress(b'{"Item":{"pk":{"Z":"a"}}}\n'), 1),
        (gzip.compress(b'{"Item":\xff}\n'), 0),
    ],
    ids=["not compressed", "cut off", "another document", "a list", "an unknown type", "no text"],
)
def test_a_file_that_is_none_of_a_table_is_refused_before_the_table_is_changed(
    tables, tmp_path, content: bytes, line: int | str
):
    file = tmp_path / "queue.json.gz"
    file.write_bytes(content)
    tables.Table("new").put_item(Item={"pk": "kept", "sk": "kept"})
    with pytest.raises(SystemExit, match=rf"queue\.json\.gz cannot be read in line {line}: "):
        move.main(["load", "new", str(file)])
    assert list(restore.read_items(tables.Table("new"))) == [{"pk": "kept", "sk": "kept"}]


def test_requests_get_other_names_and_nothing_else_does(tables, tmp_path):
    world = World(pools={P5: 3})
    image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1"
    world.submit("us-east-1", AlgorithmSpecification={"TrainingImage": image, "TrainingInputMode": "File"})
    fill(tables.Table("old"), world.table)
    file = tmp_path / "queue.json.gz"
    move.save(boto3.client("dynamodb"), "old", file)
    replaced = ["--replace", "ecr.us-east-1.=ecr.eu-west-1.", "--replace", "123456789012.dkr=210987654321.dkr"]
    assert move.main(["load", "new", str(file), *replaced]) == 0
    request = find_request(DynamoDBTable(boto3.client("dynamodb"), "new"), "us-east-1")
    assert request is not None
    assert request["AlgorithmSpecification"]["TrainingImage"] == "210987654321.dkr.ecr.eu-west-1.amazonaws.com/train:1"
    assert request["TrainingJobName"] == "us-east-1"


@pytest.mark.parametrize("text", ["us-east-1", "=eu", 'a="b', "a=\\b"])
def test_a_replacement_that_is_none_or_would_break_a_request_is_refused(text: str, capsys):
    with pytest.raises(SystemExit):
        move.main(["load", "new", "queue.json.gz", "--replace", text])
    assert "must be OLD=NEW" in capsys.readouterr().err


def test_jobs_are_requeued_without_their_training_jobs_and_none_is_lost():
    old = busy_queue()
    before = old.states("runs", "yields", "ends", "urgent", "waits")
    assert before == {
        "runs": "running",
        "yields": "stopping",
        "ends": "stopping",
        "urgent": "pending",
        "waits": "pending",
    }
    ended, problems = move.requeue(old.table, None, retention_s=1)
    assert (len(ended), problems) == (3, [])
    assert old.states(*before) == {**before, "runs": "pending", "yields": "preempted", "ends": "stopped"}
    assert old.seen("runs").job.history[-1].reason.message.endswith("the training job `runs` stayed behind")
    # In the other region no training job of theirs exists.
    new = World(pools={P5: 3}, table=old.table)
    new.now_s = old.now_s + 3600
    new.tick()
    for _ in range(8):
        new.pass_time(900)
    assert set(new.states("runs", "yields", "urgent", "waits").values()) == {"completed"}
    new.check()


def test_instances_count_as_used_until_the_saved_second():
    world = busy_queue()
    second_ms = world.clocks.training_ms() + 5_000
    move.requeue(world.table, second_ms, retention_s=1)
    assert world.seen("runs").job.attempts[-1].ended_ms == second_ms


def test_a_second_before_the_start_of_an_attempt_ends_it_with_its_start():
    world = busy_queue()
    move.requeue(world.table, 1, retention_s=1)
    (attempt,) = world.seen("runs").job.attempts
    assert attempt.ended_ms == attempt.since_ms


def test_what_cannot_be_read_is_named_and_keeps_nothing_else_behind(tables, tmp_path, capsys):
    world = busy_queue()
    key = Key("ledger", "attempt#runs")
    damaged = dict(world.table.get(key) or {})
    fill(tables.Table("old"), world.table)
    tables.Table("old").put_item(Item={**damaged, "attemptState": "lost"})
    file = tmp_path / "queue.json.gz"
    move.save(boto3.client("dynamodb"), "old", file)
    capsys.readouterr()
    assert move.main(["load", "new", str(file), "--second", SECOND]) == 1
    told = capsys.readouterr()
    assert "attempt runs cannot be read (" in told.err
    assert re.search(r"^\d+ items written, 0 removed, 0 were as they should be$", told.out, re.M)
    assert "2 training jobs stay behind\n" in told.out
    # Corrected, and run again.
    tables.Table("old").put_item(Item=damaged)
    move.save(boto3.client("dynamodb"), "old", file)
    assert move.main(["load", "new", str(file), "--second", SECOND]) == 0
    assert "3 training jobs stay behind" in capsys.readouterr().out


def test_a_table_of_something_else_is_refused(tables):
    with pytest.raises(SystemExit, match="is it that of a queue"):
        move.requeue(MemoryTable(), None, retention_s=1)


def test_an_ended_job_is_kept_as_long_as_a_stack_keeps_it_by_default():
    template = (Path(__file__).parents[2] / "template.yaml").read_text(encoding="utf-8")
    (default,) = re.findall(r"^  RetentionDays:\n    Type: Number\n    Default: (\d+)$", template, re.MULTILINE)
    assert int(default) == move.RETENTION_DAYS
