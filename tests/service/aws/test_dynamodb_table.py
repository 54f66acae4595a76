"""DynamoDB's errors on writes: conflict, retry, or fault. Over HTTP, through botocore."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ParamValidationError

from headway_service.aws.dynamodb_table import MAX_CONTENTION_RETRIES, DynamoDBTable
from headway_service.errors import Conflict, RetryLater
from headway_service.ports.table import Absent, Delete, Key, Put, Write
from tests.service.raw_http import RawServer

ONE = [Put(item={"pk": "p", "sk": "s"}, requires=Absent())]
TWO: list[Write] = [*ONE, Delete(key=Key("p", "t"))]


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


@pytest.fixture
def table(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> DynamoDBTable:
    monkeypatch.setattr("headway_service.aws.dynamodb_table.time.sleep", lambda _: None)
    server.requests = 0
    return DynamoDBTable(server.client("dynamodb"), "queue")


def refuse(server: RawServer, code: str, status: int = 400, reasons: Sequence[str | None] | None = None) -> None:
    document: dict[str, Any] = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
    if reasons is not None:
        document["CancellationReasons"] = [{} if reason is None else {"Code": reason} for reason in reasons]
    server.answer(status, json.dumps(document).encode())


@pytest.mark.parametrize(
    "reasons",
    [
        ["ThrottlingError", "None"],
        ["None", "ThrottlingError"],
        ["ProvisionedThroughputExceeded", "None"],
        ["TransactionConflict", "ThrottlingError"],
        ["TransactionConflict", None],
    ],
)
def test_a_transaction_cancelled_by_a_transient_error_is_retried_and_then_busy(
    server: RawServer, table: DynamoDBTable, reasons: list[str | None]
) -> None:
    refuse(server, "TransactionCanceledException", reasons=reasons)
    with pytest.raises(RetryLater):
        table.write(TWO)
    assert server.requests == 1 + MAX_CONTENTION_RETRIES


def test_a_single_write_that_conflicts_with_a_transaction_is_retried_and_then_busy(
    server: RawServer, table: DynamoDBTable
) -> None:
    refuse(server, "TransactionConflictException")
    with pytest.raises(RetryLater):
        table.write(ONE)
    assert server.requests == 1 + MAX_CONTENTION_RETRIES


@pytest.mark.parametrize(
    ("reasons", "failed"),
    [
        (["None", "ConditionalCheckFailed"], (1,)),
        (["ConditionalCheckFailed", "ThrottlingError"], (0,)),
        (["ConditionalCheckFailed", "ConditionalCheckFailed"], (0, 1)),
    ],
)
def test_a_transaction_whose_condition_failed_is_a_conflict(
    server: RawServer, table: DynamoDBTable, reasons: list[str | None], failed: tuple[int, ...]
) -> None:
    refuse(server, "TransactionCanceledException", reasons=reasons)
    with pytest.raises(Conflict) as raised:
        table.write(TWO)
    assert (raised.value.failed, server.requests) == (failed, 1)


def test_a_single_write_whose_condition_failed_is_a_conflict(server: RawServer, table: DynamoDBTable) -> None:
    refuse(server, "ConditionalCheckFailedException")
    with pytest.raises(Conflict):
        table.write(ONE)


@pytest.mark.parametrize("writes", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ConditionalCheckFailedException", 500),
        ("TransactionCanceledException", 503),
        ("InternalServerError", 500),
        ("ThrottlingException", 400),
        ("ProvisionedThroughputExceededException", 400),
        ("TransactionInProgressException", 400),
        ("UnrecognizedClientException", 400),
        ("ExpiredTokenException", 400),
        ("InvalidSignatureException", 400),
        ("RequestTimeout", 400),
        ("SomethingNew", 400),
    ],
)
def test_transient_and_unclear_errors_are_busy_without_a_retry(
    server: RawServer, table: DynamoDBTable, writes: list[Write], code: str, status: int
) -> None:
    refuse(server, code, status, reasons=["ConditionalCheckFailed", "None"])
    with pytest.raises(RetryLater):
        table.write(writes)
    with pytest.raises(RetryLater):
        table.get(Key("p", "s"))
    assert server.requests == 2


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"])
def test_a_fault_of_the_code_or_the_deployment_is_raised(server: RawServer, table: DynamoDBTable, code: str) -> None:
    refuse(server, code)
    for writes in (ONE, TWO):
        with pytest.raises(ClientError):
            table.write(writes)
    with pytest.raises(ClientError):
        table.query("p", limit=1)


def test_a_transaction_cancelled_by_a_fault_of_the_code_is_raised(server: RawServer, table: DynamoDBTable) -> None:
    refuse(server, "TransactionCanceledException", reasons=["None", "ValidationError"])
    with pytest.raises(ClientError):
        table.write(TWO)
    assert server.requests == 1


def test_without_credentials_the_table_is_busy_and_a_wrong_request_is_a_fault(
    server: RawServer, table: DynamoDBTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise errors.pop()

    errors: list[Exception] = [ParamValidationError(report="x"), NoCredentialsError()]
    monkeypatch.setattr(table._client, "get_item", fail)
    with pytest.raises(RetryLater):
        table.get(Key("p", "s"))
    with pytest.raises(ParamValidationError):
        table.get(Key("p", "s"))
