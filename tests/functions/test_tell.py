"""The handler that publishes changes, with Lambda's events; moto plays SNS and the table, a list the event bus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest

from headway_sandbox.inprocess.lambda_loader import event
from tests.functions.conftest import ANY_VERSION, Functions


class Bus:
    """EventBridge's client, as far as it is needed; it stores accepted events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        #: The number of events it accepts in each of its next calls; all in further ones.
        self.room: list[int] = []

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        room = self.room.pop(0) if self.room else len(Entries)
        self.events += Entries[:room]
        answers = [{"EventId": "1"} if i < room else {"ErrorCode": "InternalFailure"} for i in range(len(Entries))]
        return {"FailedEntryCount": len(Entries) - min(room, len(Entries)), "Entries": answers}


class Ears:
    """An event bus, and a queue that is subscribed to the topic."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.bus = Bus()
        sns = boto3.client("sns")
        self.topic = sns.create_topic(Name="notifications")["TopicArn"]
        self.url = functions.sqs.create_queue(QueueName="mail")["QueueUrl"]
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint="arn:aws:sqs:eu-west-1:123456789012:mail")

    def mail(self) -> list[dict[str, Any]]:
        """The messages that have come since the last call."""
        messages = self.functions.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            self.functions.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    def tell(self, payload: dict[str, Any] | None = None) -> list[str]:
        """Hand over a batch; the records that have to come again."""
        answer = self.functions.invoke("tell", payload or event("tell"))
        return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


@pytest.fixture
def ears(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ears]:
    ears = Ears(functions)
    container = functions.module("tell").container
    told = {"event_bus": "headway", "notification_topic_arn": ears.topic}
    monkeypatch.setattr(container, "settings", replace(container.settings, **told))
    monkeypatch.setitem(vars(container), "_event_bridge", ears.bus)
    yield ears
    functions.sqs.delete_queue(QueueUrl=ears.url)


def test_a_batch_is_published_on_the_bus_and_unrequested_changes_by_message(ears: Ears) -> None:
    assert ears.tell() == []

    entered, failed = ears.bus.events
    assert {each["EventBusName"] for each in ears.bus.events} == {"headway"}
    assert {(each["Source"], each["DetailType"]) for each in ears.bus.events} == {("headway", "Headway Job Change")}
    assert (json.loads(entered["Detail"])["id"], json.loads(failed["Detail"])["id"]) == ("bert-large/1", "bert-large/3")
    assert json.loads(failed["Detail"])["owner"] == "arn:aws:iam::123456789012:user/ada"
    (mail,) = ears.mail()
    assert mail["Subject"] == "Failed: bert-large"
    assert "What to do: Check the training job's log" in mail["Message"]
    assert mail["MessageAttributes"]["priority"] == {"Type": "Number", "Value": "5"}


def test_records_are_retried_from_the_first_that_the_bus_rejected(ears: Ears) -> None:
    first, second = (record["dynamodb"]["SequenceNumber"] for record in event("tell")["Records"])
    ears.bus.room = [1, 0, 0, 0]
    assert ears.tell() == [second]
    assert len(ears.bus.events) == 1
    ears.bus.room = [0, 0, 0]
    assert ears.tell() == [first]


def test_the_policy_in_force_decides_on_messages(ears: Ears) -> None:
    document = {"pools": {"ml.p5.48xlarge": {"size": 2}}, "notifications": {"codes": ["Entered"]}}
    assert ears.functions.http("PUT", "/config", document, headers=ANY_VERSION)[0] == 200
    ears.tell()
    assert [mail["Subject"] for mail in ears.mail()] == ["Entered: bert-large"]


def test_the_api_lists_what_was_published(ears: Ears) -> None:
    ears.tell()
    ears.tell()

    status, page = ears.functions.http("GET", "/events")

    assert status == 200
    assert [each["detail"] for each in page["events"]] == [json.loads(each["Detail"]) for each in ears.bus.events[:2]]
    assert {each["detailType"] for each in page["events"]} == {"Headway Job Change"}
    assert (page["more"], page["missed"]) == (False, False)
    query = {"after": [page["events"][0]["cursor"]], "limit": ["1"], "job": ["bert-large"], "code": ["Failed"]}
    (failed,) = ears.functions.http("GET", "/events", query=query)[1]["events"]
    assert failed["detail"]["id"] == "bert-large/3"
    assert ears.functions.http("GET", "/events", query={"after": [page["cursor"]]})[1]["events"] == []
    assert ears.functions.http("GET", "/events", query={"since": ["2999-01-01T00:00:00Z"]})[1]["events"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("after", "yesterday"),
        ("after", "1" * 30),
        ("since", "yesterday"),
        ("since", "2026-11-21T10:00:00"),
        ("since", "2026-02-30"),
        ("since", "1795722962"),
        ("code", "Exploded"),
        ("limit", "0"),
        ("limit", "101"),
    ],
)
def test_a_query_of_events_that_is_not_valid_is_refused(functions: Functions, name: str, value: str) -> None:
    status, refusal = functions.http("GET", "/events", query={name: [value]})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")


def test_only_the_feed_is_written_even_before_the_first_configuration(ears: Ears) -> None:
    for _ in range(2):
        assert ears.tell() == []
        items = ears.functions.dynamodb.scan(TableName="queue")["Items"]
        assert {item["pk"]["S"] for item in items} == {"feed"}


def test_an_unreadable_record_is_counted_and_skipped_without_logging_its_contents(
    ears: Ears, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = event("tell")
    payload["Records"][0]["dynamodb"]["NewImage"] = {"jobName": {"S": "hunter2"}}

    assert ears.tell(payload) == []

    assert [json.loads(each["Detail"])["id"] for each in ears.bus.events] == ["bert-large/3"]
    output = capsys.readouterr().out
    (metrics,) = [line for line in map(json.loads, output.splitlines()) if "_aws" in line]
    assert metrics["Untold"] == [1]
    assert "hunter2" not in output


def test_a_deleted_topic_blocks_no_event(ears: Ears, capsys: pytest.CaptureFixture[str]) -> None:
    boto3.client("sns").delete_topic(TopicArn=ears.topic)
    assert ears.tell() == []
    assert len(ears.bus.events) == 2
    (metrics,) = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert metrics["Untold"] == [1]
