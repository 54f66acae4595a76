"""Showing and redriving dead letters, through the real handlers; moto plays SQS, and this file plays Lambda."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import boto3
import pytest
from botocore.config import Config

from headway_sandbox.inprocess.lambda_loader import event
from headway_service.aws import dead_letter_queues
from headway_service.dead_letters import redrive
from headway_service.observability.logging import logger
from tests.functions.conftest import Functions, state_change
from tests.service.world import request

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageAttributeValueTypeDef

OBSERVER = "arn:aws:lambda:eu-west-1:123456789012:function:headway-observe"
POISON = {**event("observe"), "detail": {"TrainingJobName": "bert-large"}}


class Morgue:
    """Both dead-letter queues, and a Lambda that invokes the observer asynchronously: once the API has answered."""

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        self.wakes = functions.sqs.create_queue(QueueName="wake-dead.fifo", Attributes={"FifoQueue": "true"})[
            "QueueUrl"
        ]
        self.events = functions.sqs.create_queue(QueueName="event-dead")["QueueUrl"]
        #: What Lambda answers an invocation with, instead of taking it.
        self.refusal: str | None = None
        #: The functions that were invoked.
        self.invoked: list[str] = []
        self._payloads: list[Any] = []
        self.client = boto3.client("lambda", config=Config(retries={"total_max_attempts": 1}))
        # botocore types handlers as returning nothing, yet takes what a before-call handler returns as the answer.
        self.client.meta.events.register("before-call.lambda.Invoke", cast("Callable[..., None]", self._invoke))

    def _invoke(self, params: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
        if self.refusal is not None:
            return SimpleNamespace(status_code=403), {"Error": {"Code": self.refusal, "Message": "the inside"}}
        assert params["headers"]["X-Amz-Invocation-Type"] == "Event"
        self.invoked.append(unquote(params["url_path"]).split("/")[3])
        self._payloads.append(json.loads(params["body"]))
        return SimpleNamespace(status_code=202), {"StatusCode": 202}

    def _run(self, payload: Any) -> None:
        try:
            self.functions.invoke("observe", payload)
        except Exception as error:  # noqa: BLE001 - Lambda tries again, and then does this
            self.bury(record(payload, error))

    def bury(self, document: object, **attributes: str) -> str:
        """Put a letter among the dead events; its id."""
        body = document if isinstance(document, str) else json.dumps(document)
        told: dict[str, MessageAttributeValueTypeDef] = {
            name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()
        }
        sent = self.functions.sqs.send_message(QueueUrl=self.events, MessageBody=body, MessageAttributes=told)
        return str(sent["MessageId"])

    def bury_wake_up(self, why: str) -> None:
        """Put a letter among the dead wake-ups, where SQS puts it after the last try."""
        self.functions.sqs.send_message(
            QueueUrl=self.wakes, MessageBody=why, MessageGroupId="schedule", MessageDeduplicationId=str(uuid.uuid4())
        )

    def show(self) -> list[dict[str, Any]]:
        status, answer = self.functions.http("GET", "/dead-letters")
        assert status == 200
        return list(answer["letters"])

    def redrive(self) -> dict[str, Any]:
        status, answer = self.functions.http("POST", "/dead-letters/redrive")
        assert status == 200
        newest = self.functions.http("GET", "/actions", query={"limit": ["1"]})[1]["actions"]
        assert [each["action"] for each in newest] == ["redrive"]
        while self._payloads:
            self._run(self._payloads.pop(0))
        return answer


def record(payload: object, error: Exception) -> dict[str, Any]:
    """What Lambda sends to an on-failure destination.

    Source: Lambda developer guide, "Capturing records of Lambda asynchronous invocations".
    """
    return {
        "version": "1.0",
        "timestamp": "2026-11-21T10:23:05.568Z",
        "requestContext": {
            "requestId": "e4b46cbf-b738-4880-8a18-cdf61200e000",
            "functionArn": f"{OBSERVER}:$LATEST",
            "condition": "RetriesExhausted",
            "approximateInvokeCount": 3,
        },
        "requestPayload": payload,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": ["  File …"]},
    }


@pytest.fixture
def morgue(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> Iterator[Morgue]:
    """Two empty dead-letter queues."""
    monkeypatch.setattr(dead_letter_queues, "_WAIT_S", 0)
    morgue = Morgue(functions)
    container = functions.module("api").container
    told = {
        "wake_dead_letters_url": morgue.wakes,
        "event_dead_letters_url": morgue.events,
        "observe_function": OBSERVER,
    }
    monkeypatch.setattr(container, "settings", replace(container.settings, **told))
    monkeypatch.setitem(vars(container), "_lambda", morgue.client)
    yield morgue
    for url in (morgue.wakes, morgue.events):
        functions.sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the functions log. (What pytest captures for a test lacks it: the logger was made before.)"""
    stream = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    return stream


def counts(answer: dict[str, Any]) -> tuple[int, int, int, int]:
    return answer["redriven"], answer["dropped"], answer["failed"], answer["left"]


def test_nothing_is_shown_or_redriven_without_dead_letters(morgue: Morgue) -> None:
    assert morgue.functions.http("GET", "/dead-letters") == (200, {"letters": [], "more": False})
    assert morgue.redrive() == {"redriven": 0, "dropped": 0, "failed": 0, "left": 0, "failures": []}
    assert morgue.functions.wakes() == []


def test_letters_of_both_queues_are_shown_with_subject_and_error(morgue: Morgue) -> None:
    failed = morgue.bury(record(POISON, KeyError("TrainingJobStatus")))
    undelivered = morgue.bury(
        event("observe"), ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="lambda:InvokeFunction was denied"
    )
    morgue.bury_wake_up("bert-large Failed")

    first, second, third = morgue.show()

    assert first.pop("sentTime").endswith("Z")
    assert first == {
        "id": failed, "queue": "event", "receiveCount": 1, "about": "bert-large", "errorType": "KeyError",
        "errorMessage": "'TrainingJobStatus'", "problem": None,
    }  # fmt: skip
    assert (second["id"], second["about"]) == (undelivered, "bert-large Failed")
    assert (second["errorType"], second["errorMessage"]) == ("NO_PERMISSIONS", "lambda:InvokeFunction was denied")
    assert (third["queue"], third["about"], third["errorType"]) == ("wake", "bert-large Failed", None)


def test_showing_leaves_every_letter_to_a_redrive_that_follows_at_once(morgue: Morgue) -> None:
    for _ in range(12):
        morgue.bury(event("observe"))
        morgue.bury_wake_up("submitted")

    assert len(morgue.show()) == 12 + redrive.MAX_SHOWN_WAKES
    assert len(morgue.show()) == 12 + redrive.MAX_SHOWN_WAKES
    assert counts(morgue.redrive()) == (12 + 1, 11, 0, 0)


def test_more_letters_than_one_answer_shows_are_counted(morgue: Morgue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redrive, "MAX_SHOWN", 2)
    for expected in ([False, 1], [True, 2], [True, 2]):
        morgue.bury(event("observe"))
        _, answer = morgue.functions.http("GET", "/dead-letters")
        assert [answer["more"], len(answer["letters"])] == expected


def test_a_valid_event_is_passed_to_the_observer_and_finally_processed(morgue: Morgue) -> None:
    functions = morgue.functions
    functions.invoke("api", event("api-submit"))
    functions.invoke("schedule", event("schedule"))
    functions.wakes()
    morgue.bury(state_change(), ERROR_CODE="SDK_CLIENT_ERROR")

    assert counts(morgue.redrive()) == (1, 0, 0, 0)

    assert functions.http("GET", "/jobs/bert-large")[1]["jobState"] == "failed"
    assert morgue.invoked == [OBSERVER]
    assert functions.wakes() == ["bert-large Failed"]
    assert morgue.show() == []


def test_a_malformed_event_becomes_a_new_letter_and_blocks_nothing(morgue: Morgue) -> None:
    functions = morgue.functions
    functions.http("POST", "/jobs", request("a"))
    poison = morgue.bury(record(POISON, KeyError("TrainingJobStatus")))

    assert counts(morgue.redrive()) == (1, 0, 0, 0)

    functions.invoke("schedule", event("schedule"))
    assert functions.http("GET", "/jobs/a")[1]["jobState"] == "running"
    (letter,) = morgue.show()
    assert letter["id"] != poison
    assert letter["errorType"] == "KeyError"


def test_any_number_of_dead_wake_ups_and_reconciles_needs_one_wake_up(morgue: Morgue) -> None:
    morgue.functions.wakes()
    for _ in range(3):
        morgue.bury(record(event("reconcile"), TimeoutError()))
    for _ in range(25):
        morgue.bury_wake_up("submitted")

    assert counts(morgue.redrive()) == (1, 27, 0, 0)
    assert morgue.functions.wakes() == ["redriven"]
    assert morgue.show() == []
    assert morgue.invoked == []


def test_an_undeliverable_letter_stays_and_the_answer_hides_internals(morgue: Morgue, log: io.StringIO) -> None:
    letter = morgue.bury(event("observe"))
    morgue.refusal = "AccessDeniedException"

    answer = morgue.redrive()

    assert counts(answer) == (0, 0, 1, 1)
    (failure,) = answer["failures"]
    assert (failure["id"], failure["queue"], failure["about"]) == (letter, "event", "bert-large Failed")
    assert "AccessDeniedException" in failure["problem"]
    assert "the inside" not in json.dumps(answer)
    assert "the inside" in log.getvalue(), "the log says more"
    morgue.refusal = None
    assert counts(morgue.redrive()) == (1, 0, 0, 0), "it was given back at once"


def test_dead_wake_ups_stay_while_the_scheduler_cannot_be_woken(
    morgue: Morgue, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = morgue.functions.module("api").container
    morgue.bury_wake_up("submitted")
    with monkeypatch.context() as broken:
        gone = f"{container.settings.wake_queue_url}-gone"
        broken.setattr(container, "settings", replace(container.settings, wake_queue_url=gone))
        assert counts(morgue.redrive()) == (0, 0, 1, 1)
    assert counts(morgue.redrive()) == (1, 0, 0, 0)


def test_an_unreadable_letter_stays_and_the_others_are_redriven(morgue: Morgue) -> None:
    morgue.bury(event("observe"))
    illegible = morgue.bury("poison")
    morgue.bury(event("reconcile"))

    answer = morgue.redrive()

    assert counts(answer) == (2, 0, 1, 1)
    assert answer["failures"] == [{"id": illegible, "queue": "event", "about": None, "problem": "it is no JSON"}]
    (letter,) = morgue.show()
    assert (letter["id"], letter["problem"]) == (illegible, "it is no JSON")


def test_unpublished_changes_are_shown_and_removed_by_a_redrive(morgue: Morgue) -> None:
    batch = {"batchSize": 2, "approximateArrivalOfFirstRecord": "2026-11-21T10:20:00.568Z"}
    morgue.bury({"requestContext": {"condition": "MaxRecordAgeExceeded"}, "DDBStreamBatchInfo": batch})

    (letter,) = morgue.show()

    assert letter["about"] == "2 changes of jobs from 2026-11-21T10:20:00.568Z on"
    assert letter["errorType"] == "MaxRecordAgeExceeded"
    assert "`headway show`" in letter["problem"]
    assert counts(morgue.redrive()) == (0, 1, 0, 0)
    assert morgue.show() == []


def test_a_redrive_is_bounded_in_number_and_returns_the_remaining_number(
    morgue: Morgue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "MAX_REDRIVEN", 4)
    for _ in range(9):
        morgue.bury(event("observe"))
    assert [counts(morgue.redrive()) for _ in range(4)] == [(4, 0, 0, 5), (4, 0, 0, 1), (1, 0, 0, 0), (0, 0, 0, 0)]


def test_a_redrive_is_bounded_in_time_and_returns_unprocessed_letters(
    morgue: Morgue, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        morgue.bury(event("observe"))
    now_ms = iter(range(0, 10 * redrive.REDRIVE_MS, redrive.REDRIVE_MS * 2 // 5))
    with monkeypatch.context() as slow:
        container = morgue.functions.module("api").container
        slow.setattr(container, "clocks", replace(container.clocks, machine_ms=lambda: next(now_ms)))
        assert counts(morgue.redrive()) == (1, 0, 0, 2)
    assert counts(morgue.redrive()) == (2, 0, 0, 0)


def test_nothing_confidential_of_an_event_is_shown_or_logged(morgue: Morgue, log: io.StringIO) -> None:
    secret = event("observe")
    secret["detail"]["HyperParameters"] = {"token": "hunter2"}
    morgue.bury(record(secret, ValueError("hunter2")))
    morgue.bury('"hunter2"')
    assert "hunter2" not in json.dumps(morgue.show())
    morgue.redrive()
    assert "dead letters redriven" in log.getvalue()
    assert "hunter2" not in log.getvalue()
