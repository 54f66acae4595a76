"""What goes to EventBridge and SNS, and what their answers mean. botocore checks each call against their models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from headway_service.aws.event_sinks import EventBridgeSink, SnsSink
from headway_service.errors import RetryLater
from headway_service.events.notifications import message_of
from headway_service.ports.messaging import SendResult
from tests.service.events.test_notifications import FAILED, STOPPED

TOPIC = "arn:aws:sns:eu-west-1:123456789012:headway-notifications"


@contextmanager
def stubbed(service: str) -> Iterator[tuple[Any, Stubber]]:
    client = boto3.client(
        service,  # type: ignore[call-overload]
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def test_events_go_to_the_bus_with_source_type_time_and_detail() -> None:
    entries = [
        {
            "EventBusName": "headway",
            "Source": "headway",
            "DetailType": kind,
            "Time": change.time,
            "Detail": json.dumps(change.document(), ensure_ascii=False, separators=(",", ":")),
        }
        for kind, change in (("Headway Job Change", FAILED), ("Headway Rogue Job Change", STOPPED))
    ]
    with stubbed("events") as (client, stub):
        stub.add_response(
            "put_events", {"FailedEntryCount": 0, "Entries": [{"EventId": "1"}, {"EventId": "2"}]}, {"Entries": entries}
        )
        assert EventBridgeSink(client, "headway").send([FAILED, STOPPED]) == SendResult()


def test_rejected_events_can_be_sent_again() -> None:
    answer = {"FailedEntryCount": 1, "Entries": [{"EventId": "1"}, {"ErrorCode": "ThrottlingException"}]}
    with stubbed("events") as (client, stub):
        stub.add_response("put_events", answer, {"Entries": ANY})
        assert EventBridgeSink(client, "headway").send([FAILED, STOPPED]) == SendResult(again=frozenset({1}))


def test_a_bus_that_is_throttled_is_busy_and_one_that_refuses_is_a_fault() -> None:
    with stubbed("events") as (client, stub):
        stub.add_client_error("put_events", "ThrottlingException")
        with pytest.raises(RetryLater):
            EventBridgeSink(client, "headway").send([FAILED])
        stub.add_client_error("put_events", "AccessDeniedException")
        with pytest.raises(ClientError):
            EventBridgeSink(client, "headway").send([FAILED])


def test_messages_go_to_the_topic_with_their_attributes() -> None:
    entry = {
        "Id": "0",
        "Subject": "Failed: bert-large",
        "Message": message_of(FAILED).text,
        "MessageAttributes": {
            "code": {"DataType": "String", "StringValue": "Failed"},
            "team": {"DataType": "String", "StringValue": "research"},
            "jobName": {"DataType": "String", "StringValue": "bert-large"},
            "jobState": {"DataType": "String", "StringValue": "failed"},
            "priority": {"DataType": "Number", "StringValue": "5"},
        },
    }
    with stubbed("sns") as (client, stub):
        expected = {"TopicArn": TOPIC, "PublishBatchRequestEntries": [entry]}
        stub.add_response("publish_batch", {"Successful": [{"Id": "0", "MessageId": "m"}]}, expected)
        assert SnsSink(client, TOPIC).send([message_of(FAILED)]) == SendResult()


def test_rejected_messages_can_be_sent_again_unless_the_fault_is_the_senders() -> None:
    answer = {
        "Successful": [{"Id": "0", "MessageId": "m"}],
        "Failed": [
            {"Id": "1", "Code": "InternalError", "SenderFault": False},
            {"Id": "2", "Code": "Throttled", "SenderFault": True},
            {"Id": "3", "Code": "InvalidParameter", "SenderFault": True},
        ],
    }
    with stubbed("sns") as (client, stub):
        stub.add_response("publish_batch", answer, {"TopicArn": TOPIC, "PublishBatchRequestEntries": ANY})
        sent = SnsSink(client, TOPIC).send([message_of(FAILED)] * 4)
    assert sent == SendResult(again=frozenset({1, 2}), refused=frozenset({3}))


@pytest.mark.parametrize("code", ["AuthorizationError", "NotFound", "KMSDisabled", "KMSAccessDenied"])
def test_a_topic_that_rejects_everything_does_not_block_events(code: str) -> None:
    with stubbed("sns") as (client, stub):
        stub.add_client_error("publish_batch", code)
        assert SnsSink(client, TOPIC).send([message_of(FAILED)] * 2) == SendResult(refused=frozenset({0, 1}))


def test_a_topic_that_is_throttled_is_busy() -> None:
    with stubbed("sns") as (client, stub):
        stub.add_client_error("publish_batch", "Throttled")
        with pytest.raises(RetryLater):
            SnsSink(client, TOPIC).send([message_of(FAILED)])
