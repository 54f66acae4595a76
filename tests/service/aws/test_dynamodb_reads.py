"""The table's calls of DynamoDB: consistent reads, and pages that end at 1 MB."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headway_sandbox.inprocess.stub_client import stub_client
from headway_service.aws.dynamodb_table import MAX_BATCH_RETRIES, DynamoDBTable
from headway_service.errors import RetryLater
from headway_service.ports.table import Equals, Key, Put, Table, Tally
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from tests.service.schema import SCHEMA
from tests.service.world import P5, World

Read = Callable[[Table], Any]

READS: list[tuple[str, Read, bool]] = [
    ("get", lambda table: table.get(Key("p", "s")), True),
    ("query", lambda table: table.query("p", limit=9), True),
    ("query with a prefix", lambda table: table.query("p", prefix="a", after="ab", limit=9), True),
    ("query after a key", lambda table: table.query("p", after="ab", limit=9), True),
    ("last_before", lambda table: table.last_before("p", "s"), True),
    ("query for display", lambda table: table.query_for_display("p", prefix="a", limit=9), False),
    ("count_before", lambda table: table.count_before("p", "s", limit=9), False),
    ("keys_before", lambda table: table.keys_before("p", "s", limit=9), False),
    ("tail", lambda table: table.tail("p", "text", limit=9), False),
    ("tally", lambda table: table.tally("p", Equals("text", "x"), limit=9), False),
    ("get_all", lambda table: table.get_all([Key("p", "s")]), True),
    ("get_listed", lambda table: table.get_listed([Key("p", "s")]), False),
    ("listing", lambda table: table.listing("waiting", where=(Equals("owner", "x"),), after=None, limit=9), False),
]


def table_that_answers(*answers: Mapping[str, Any]) -> tuple[DynamoDBTable, list[Mapping[str, Any]]]:
    """A table that gives these answers, and the requests as they go over the wire."""
    requests: list[Mapping[str, Any]] = []
    left = iter(answers)

    def call(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        requests.append(request)
        return next(left)

    return DynamoDBTable(stub_client("dynamodb", call), "queue"), requests


@pytest.mark.parametrize(("read", "consistent"), [row[1:] for row in READS], ids=[row[0] for row in READS])
def test_a_read_is_consistent_exactly_where_the_port_requires_it(read: Read, consistent: bool) -> None:
    table, requests = table_that_answers({"Items": [], "Count": 0, "ScannedCount": 0, "Responses": {}})
    read(table)
    # A batch says it for each table.
    asked = [request["RequestItems"]["queue"] if "RequestItems" in request else request for request in requests]
    assert [each.get("ConsistentRead", False) for each in asked] == [consistent]


def item(sk: str) -> dict[str, Any]:
    return {"pk": {"S": "p"}, "sk": {"S": sk}, "text": {"S": f"of {sk}"}}


def page(*keys: str, more: bool) -> dict[str, Any]:
    """A page of a partition. Where there is more, DynamoDB names the last key that it has read."""
    found = [item(sk) for sk in keys]
    last = {"LastEvaluatedKey": {"pk": {"S": "p"}, "sk": {"S": keys[-1]}}} if more else {}
    return {"Items": found, "Count": len(found), "ScannedCount": len(found) + more, **last}


PAGED: list[tuple[str, Read, Any]] = [
    ("query", lambda table: [each["sk"] for each in table.query("p", limit=9)], ["a", "b", "c"]),
    ("count_before", lambda table: table.count_before("p", "x", limit=9), 3),
    ("keys_before", lambda table: table.keys_before("p", "x", limit=9), ("a", "b", "c")),
    ("tail", lambda table: table.tail("p", "text", limit=9), (("c", "of c"), ("b", "of b"), ("a", "of a"))),
    ("tally", lambda table: table.tally("p", Equals("text", "x"), limit=9), Tally(items=4, matching=3)),
]


@pytest.mark.parametrize(("read", "found"), [row[1:] for row in PAGED], ids=[row[0] for row in PAGED])
def test_a_page_that_ends_early_is_continued(read: Read, found: Any) -> None:
    table, requests = table_that_answers(page("a", "b", more=True), page("c", more=False))
    assert read(table) == found
    assert [request.get("ExclusiveStartKey") for request in requests] == [None, {"pk": {"S": "p"}, "sk": {"S": "b"}}]


LIMITED: list[tuple[str, Read, Any]] = [
    ("query", lambda table: [each["sk"] for each in table.query("p", limit=2)], ["a", "b"]),
    ("count_before", lambda table: table.count_before("p", "x", limit=2), 2),
    ("keys_before", lambda table: table.keys_before("p", "x", limit=2), ("a", "b")),
    ("tail", lambda table: table.tail("p", "text", limit=2), (("b", "of b"), ("a", "of a"))),
    ("tally", lambda table: table.tally("p", Equals("text", "x"), limit=2), Tally(items=3, matching=2)),
]


@pytest.mark.parametrize(("read", "found"), [row[1:] for row in LIMITED], ids=[row[0] for row in LIMITED])
def test_reading_stops_at_the_limit(read: Read, found: Any) -> None:
    table, requests = table_that_answers(page("a", "b", more=True))
    assert read(table) == found
    assert len(requests) == 1


def batch(*keys: str, left: Sequence[str] = ()) -> dict[str, Any]:
    """A part of a batch, and the keys that DynamoDB leaves out of it."""
    unprocessed = {"queue": {"Keys": [{"pk": {"S": "p"}, "sk": {"S": key}} for key in left]}} if left else {}
    return {"Responses": {"queue": [item(key) for key in keys]}, "UnprocessedKeys": unprocessed}


def test_what_is_left_out_of_a_batch_is_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    table, requests = table_that_answers(batch("c", left=["a", "b"]), batch("a", left=["b"]), batch("b"))
    assert [each["sk"] for each in table.get_listed([Key("p", sk) for sk in "abc"])] == ["a", "b", "c"]
    asked = [[key["sk"]["S"] for key in each["RequestItems"]["queue"]["Keys"]] for each in requests]
    assert asked == [["a", "b", "c"], ["a", "b"], ["b"]]


def test_a_batch_of_which_something_is_always_left_out_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    table, requests = table_that_answers(*[batch(left=["a"])] * (MAX_BATCH_RETRIES + 1))
    with pytest.raises(RetryLater):
        table.get_listed([Key("p", "a")])
    assert len(requests) == MAX_BATCH_RETRIES + 1


def test_a_ledger_of_several_pages_is_read_completely() -> None:
    """moto ends its pages at 1 MB, as DynamoDB does."""
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
        client.create_table(TableName="queue", **SCHEMA)
        table = DynamoDBTable(client, "queue")
        world = World(pools={P5: 20}, table=table)
        for i in range(3):
            world.submit(f"job{i}")
        world.tick()
        for attempt in read_ledger(table).attempts:
            stored = table.get(AttemptRecord.key(attempt.attempt_name))
            assert stored is not None
            table.write([Put(item={**stored, "padding": "x" * 390_000})])
        first = client.query(
            TableName="queue", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "ledger"}}
        )
        assert "LastEvaluatedKey" in first, "the ledger fits into one page, so this shows nothing"
        assert [each.job_name for each in read_ledger(table).attempts] == ["job0", "job1", "job2"]


@pytest.mark.parametrize("read", [row[1] for row in READS[1:4]], ids=[row[0] for row in READS[1:4]])
def test_each_page_of_a_consistent_query_is_consistent(read: Read) -> None:
    table, requests = table_that_answers(page("a", more=True), page("c", more=False))
    read(table)
    assert [request["ConsistentRead"] for request in requests] == [True, True]
