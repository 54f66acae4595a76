"""The table is put back to an earlier state, and what the queue did since then is found in SageMaker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from deploy import restore
from headway_service.memory import MemoryTable
from headway_service.naming import attempt_name
from tests.service.world import World


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    with mock_aws():
        dynamodb = boto3.resource("dynamodb")
        for name in ("restored", "queue"):
            dynamodb.create_table(
                TableName=name,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk")],
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            )
        yield dynamodb


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"pk": f"job#{name}", "sk": "job", **more}


def fill(table: Any, *items: dict[str, Any]) -> None:
    with table.batch_writer() as batch:
        for each in items:
            batch.put_item(Item=each)


def read(table: Any) -> list[dict[str, Any]]:
    return sorted(table.scan()["Items"], key=lambda each: str(each["pk"]))


def test_the_table_gets_the_items_of_the_other_one_and_no_more(tables, capsys):
    source, target = tables.Table("restored"), tables.Table("queue")
    fill(source, item("a"), item("b", count=1, demand={"ml.p5.48xlarge": 2}), item("c"))
    fill(target, item("b", count=2), item("c"), item("d"))
    assert restore.main(["copy", "restored", "queue"]) == 0
    assert read(target) == read(source)
    assert capsys.readouterr().out == "2 items written, 1 removed, 1 were as they should be\n"


def test_a_copy_that_broke_off_is_taken_up_again(tables):
    fill(tables.Table("restored"), *(item(f"{number:03d}") for number in range(60)))
    fill(tables.Table("queue"), *(item(f"{number:03d}") for number in range(30)))
    copied = restore.copy(tables.Table("restored"), tables.Table("queue"))
    assert (copied.written, copied.removed, copied.kept) == (30, 0, 30)


def test_an_empty_table_is_not_copied(tables):
    fill(tables.Table("queue"), item("a"))
    with pytest.raises(SystemExit, match="restored is empty"):
        restore.main(["copy", "restored", "queue"])
    assert read(tables.Table("queue")) == [item("a")]


@pytest.mark.parametrize(
    ("name", "job", "status", "said"),
    [
        ("ran", "ran", "InProgress", None),
        ("ran", "ran", "Completed", None),
        (attempt_name("ran", 2), "ran", "InProgress", "stop it and wait for its end"),
        (attempt_name("ran", 2), "ran", "Stopping", "stop it and wait for its end"),
        ("waits", "waits", "InProgress", "stop it and wait for its end"),
        ("waits", "waits", "Completed", "stop the job in the queue"),
        ("waits", "waits", "Failed", "nothing to do: the queue tries the job again"),
        ("lost", "lost", "InProgress", "the job is forgotten"),
        ("lost", "lost", "Stopped", "nothing to do"),
    ],
)
def test_a_training_job_that_the_table_does_not_know_is_told_with_what_to_do(
    name: str, job: str, status: str, said: str | None
):
    table = MemoryTable()
    world = World(table=table)
    world.submit("ran")
    world.tick()
    world.submit("waits")
    found = list(restore.find_unknown([restore.TrainingJob(name=name, job=job, status=status)], table.items()))
    assert len(found) == (said is not None)
    assert not found or (said is not None and said in found[0] and found[0].startswith(f"{name} ({status}), job {job}"))
