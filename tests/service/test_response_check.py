"""What AWS cannot have written is no answer, whatever its status, at every service that is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway.jobpolicy.utilization import Alarm
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.aws.dead_letter_queues import AwsRedriveTargets, SqsDeadLetterQueue
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.aws.error_codes import FAILED_CALLS, Verdict, classify
from headway_service.aws.event_sinks import EventBridgeSink, SnsSink
from headway_service.errors import NotDelivered, RetryLater, UnreadableAnswer
from headway_service.events.notifications import message_of
from headway_service.ports.messaging import DeadLetter
from headway_service.ports.table import Check, Delete, Equals, Key, Put, Update
from headway_service.response_check import check_answers, member
from tests.service.events.test_notifications import FAILED
from tests.service.raw_http import BODIES, HTML, STATUSES, STRANGE, TRUNCATED, RawServer

KEY = Key("p", "s")
MESSAGE = message_of(FAILED)
ALARM = Alarm(
    attempt="a",
    watch="idle",
    number=1,
    namespace="N",
    metric="M",
    dimension="Host",
    threshold=1.0,
    period_s=60,
    periods=1,
)
LETTER = DeadLetter(message_id="1", receipt="r", body="", attributes={}, sent_ms=0, receive_count=1)


def _table(client: Any) -> DynamoDBTable:
    return DynamoDBTable(client, "queue")


def _letters(client: Any) -> SqsDeadLetterQueue:
    return SqsDeadLetterQueue(client, "https://sqs.invalid/1/queue")


def _listing(client: Any) -> Any:
    return _table(client).listing("waiting", where=[Equals("team", "a")], after=None, limit=1)


WRITES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a put": ("dynamodb", lambda client: _table(client).write([Put(item={"pk": "p", "sk": "s"})])),
    "a change": ("dynamodb", lambda client: _table(client).write([Update(key=KEY, sets={"a": 1})])),
    "a removal": ("dynamodb", lambda client: _table(client).write([Delete(key=KEY)])),
    "a check": ("dynamodb", lambda client: _table(client).write([Check(key=KEY, requires=Equals("a", 1))])),
    "a transaction": ("dynamodb", lambda client: _table(client).write([Delete(key=KEY), Delete(key=Key("p", "t"))])),
    "an alarm": ("cloudwatch", lambda client: CloudWatchAlarms(client, "p/", "arn").put(ALARM)),
    "alarms removed": ("cloudwatch", lambda client: CloudWatchAlarms(client, "p/", "arn").delete(["a"])),
    "a letter removed": ("sqs", lambda client: _letters(client).remove(LETTER)),
    "letters given back": ("sqs", lambda client: _letters(client).give_back([LETTER])),
}
TOLD: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an item": ("dynamodb", lambda client: _table(client).get(KEY)),
    "a query": ("dynamodb", lambda client: _table(client).query("p", limit=1)),
    "a count": ("dynamodb", lambda client: _table(client).count_before("p", "s", limit=1)),
    "keys": ("dynamodb", lambda client: _table(client).keys_before("p", "s", limit=1)),
    "a tail": ("dynamodb", lambda client: _table(client).tail("p", "a", limit=1)),
    "a tally": ("dynamodb", lambda client: _table(client).tally("p", Equals("a", 1), limit=1)),
    "a listing": ("dynamodb", _listing),
    "the last item": ("dynamodb", lambda client: _table(client).last_before("p", "s")),
    "whole items": ("dynamodb", lambda client: _table(client).get_all([KEY])),
    "a batch": ("dynamodb", lambda client: _table(client).get_listed([KEY])),
    "alarms": ("cloudwatch", lambda client: CloudWatchAlarms(client, "p/", "arn").seen()),
    "events": ("events", lambda client: EventBridgeSink(client, "bus").send([FAILED])),
    "messages": ("sns", lambda client: SnsSink(client, "arn").send([MESSAGE])),
    "letters": ("sqs", lambda client: _letters(client).receive(1)),
    "a count of letters": ("sqs", lambda client: _letters(client).count()),
}
CALLS = WRITES | TOLD

MISSING = ["a query", "a count", "keys", "a tail", "a tally", "a listing", "a batch"]
MISSING += ["the last item", "alarms", "events", "a count of letters"]
"""Calls whose responses have members that decisions use."""


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer().running() as server:
        yield server


@pytest.fixture(scope="module")
def clients(server: RawServer) -> dict[str, Any]:
    services = ("dynamodb", "cloudwatch", "events", "sns", "sqs", "lambda", "sagemaker")
    return {service: check_answers(server.client(service)) for service in services}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("body", [*BODIES.values(), *STRANGE.values()], ids=[*BODIES, *STRANGE])
def test_an_error_that_aws_did_not_write_is_busy(
    server: RawServer, clients: dict[str, Any], call: str, body: bytes
) -> None:
    service, ask = CALLS[call]
    for status in (*STATUSES, 429):
        server.answer(status, body)
        with pytest.raises(RetryLater):
            ask(clients[service])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("body", [b"", HTML, TRUNCATED, b"[]"], ids=["empty", "HTML", "truncated", "a list"])
def test_a_success_that_aws_did_not_write_is_busy(
    server: RawServer, clients: dict[str, Any], call: str, body: bytes
) -> None:
    service, ask = CALLS[call]
    server.answer(200, body)
    with pytest.raises(RetryLater):
        ask(clients[service])


@pytest.mark.parametrize("call", MISSING)
def test_an_answer_without_required_members_is_busy(server: RawServer, clients: dict[str, Any], call: str) -> None:
    service, ask = CALLS[call]
    server.answer(200, b"{}", x_amzn_RequestId="one")
    with pytest.raises(RetryLater):
        ask(clients[service])


@pytest.mark.parametrize("call", ["a put", "a transaction"])
def test_an_empty_answer_is_accepted_if_it_comes_from_aws(
    server: RawServer, clients: dict[str, Any], call: str
) -> None:
    service, ask = CALLS[call]
    server.answer(200, b"{}", x_amzn_RequestId="one")
    ask(clients[service])


@pytest.mark.parametrize("call", ["an alarm", "alarms removed", "a letter removed", "letters given back"])
@pytest.mark.parametrize("body", [b"", b"{}"])
def test_an_answer_without_a_body_is_accepted_if_it_has_a_request_id(
    server: RawServer, clients: dict[str, Any], call: str, body: bytes
) -> None:
    service, ask = CALLS[call]
    server.answer(200, body, x_amzn_RequestId="one")
    ask(clients[service])


def test_an_answer_in_xml_is_read_unless_it_comes_from_an_intermediary(
    server: RawServer, clients: dict[str, Any]
) -> None:
    result = b"<PublishBatchResult><Successful><member><Id>0</Id></member></Successful></PublishBatchResult>"
    answer = b'<?xml version="1.0"?>\n<PublishBatchResponse xmlns="x">' + result + b"</PublishBatchResponse>"
    server.answer(200, answer)
    assert not SnsSink(clients["sns"], "arn").send([MESSAGE]).again
    for foreign in (answer[:-5], b"<html></html>", b"<html>" + result + b"</html>"):
        server.answer(200, foreign)
        with pytest.raises(RetryLater):
            SnsSink(clients["sns"], "arn").send([MESSAGE])


def test_an_error_in_xml_is_read(server: RawServer, clients: dict[str, Any]) -> None:
    error = (
        b"<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>no</Message></Error></ErrorResponse>"
    )
    server.answer(404, error)
    assert SnsSink(clients["sns"], "arn").send([MESSAGE]).refused == {0}
    server.answer(404, error[:-5])
    with pytest.raises(RetryLater):
        SnsSink(clients["sns"], "arn").send([MESSAGE])


@pytest.mark.parametrize("body", [*BODIES.values(), *STRANGE.values()], ids=[*BODIES, *STRANGE])
@pytest.mark.parametrize("status", STATUSES)
def test_a_letter_is_not_delivered_by_an_answer_that_aws_did_not_write(
    server: RawServer, clients: dict[str, Any], status: int, body: bytes
) -> None:
    server.answer(status, body)
    with pytest.raises(NotDelivered):
        AwsRedriveTargets(clients["lambda"], "observe", lambda _: None).observe({})


def test_an_accepted_invocation_has_no_body(server: RawServer, clients: dict[str, Any]) -> None:
    server.answer(202, b"")
    AwsRedriveTargets(clients["lambda"], "observe", lambda _: None).observe({})


def test_an_error_of_aws_is_not_changed(server: RawServer, clients: dict[str, Any]) -> None:
    server.answer(400, json.dumps({"__type": "com.amazon#ResourceNotFound", "message": "no"}).encode())
    with pytest.raises(ClientError) as raised:
        clients["sagemaker"].describe_training_job(TrainingJobName="a")
    assert raised.value.response["Error"] == {"Code": "ResourceNotFound", "Message": "no"}
    server.answer(404, b'{"Type": "User", "Message": "no"}', x_amzn_ErrorType="ResourceNotFoundException")
    with pytest.raises(ClientError) as raised:
        clients["lambda"].invoke(FunctionName="f")
    assert raised.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_an_answer_in_an_unknown_protocol_is_left_to_botocore(
    server: RawServer, clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        clients["sagemaker"].meta.service_model, "resolved_protocol", "smithy-rpc-v2-cbor", raising=False
    )
    server.answer(503, b"\xa0")
    with pytest.raises(FAILED_CALLS) as raised:
        clients["sagemaker"].stop_training_job(TrainingJobName="a")
    assert classify(raised.value) is Verdict.UNCLEAR


def test_a_member_that_is_missing_makes_an_answer_unreadable() -> None:
    assert member({"a": 0}, "a") == 0
    with pytest.raises(UnreadableAnswer, match="without b"):
        member({"a": 0}, "b")
