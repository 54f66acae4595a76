"""The contents of dead letters, as AWS writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway.api_documents.dead_letters import LetterQueue
from headway_sandbox.inprocess.lambda_loader import event
from headway_service.dead_letters.parser import (
    CHECKED_SINCE,
    MAX_TEXT_CHARS,
    NOT_TOLD,
    Content,
    Illegible,
    Lost,
    Observe,
    Tick,
    content_of,
)
from headway_service.ports.messaging import DeadLetter

STATE_CHANGE = event("observe")
SCHEDULE = event("reconcile")


def letter(body: object, **attributes: str) -> DeadLetter:
    text = body if isinstance(body, str) else json.dumps(body)
    return DeadLetter(
        message_id="m1", receipt="r1", body=text, attributes=attributes, sent_ms=1_795_255_200_000, receive_count=1
    )


def record(payload: object, **changes: Any) -> dict[str, Any]:
    """An invocation record.

    Source: Lambda developer guide, "Capturing records of Lambda asynchronous invocations".
    """
    return {
        "version": "1.0",
        "timestamp": "2026-11-21T10:23:05.568Z",
        "requestContext": {
            "requestId": "e4b46cbf-b738-4880-8a18-cdf61200e000",
            "functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:headway-observe:$LATEST",
            "condition": "RetriesExhausted",
            "approximateInvokeCount": 3,
        },
        "requestPayload": payload,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": "'TrainingJobStatus'", "errorType": "KeyError", "stackTrace": []},
        **changes,
    }


def undelivered(body: object) -> DeadLetter:
    """An event that EventBridge could not deliver.

    Source: EventBridge user guide, "Using dead-letter queues to process undelivered events".
    """
    return letter(
        body,
        RULE_ARN="arn:aws:events:eu-west-1:123456789012:rule/headway-observe",
        TARGET_ARN="arn:aws:lambda:eu-west-1:123456789012:function:headway-observe",
        ERROR_CODE="NO_PERMISSIONS",
        ERROR_MESSAGE="not authorized to perform: lambda:InvokeFunction",
        RETRY_ATTEMPTS="0",
    )


def poison(**detail: Any) -> dict[str, Any]:
    return {**STATE_CHANGE, "detail": detail}


AGED_OUT = record(
    STATE_CHANGE,
    requestContext={"condition": "EventAgeExceeded", "approximateInvokeCount": 1},
    responseContext=None,
    responsePayload=None,
)

# Source: Lambda developer guide, "Retaining discarded records for a DynamoDB event source".
BATCH = {
    "requestContext": {
        "requestId": "316aa6d0-8154-xmpl-9af7-85d5f4a6bc81",
        "functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:headway-tell",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 186,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "version": "1.0",
    "timestamp": "2026-11-21T16:20:05.568Z",
    "DDBStreamBatchInfo": {
        "shardId": "shardId-00000001573689847184-864758bb",
        "startSequenceNumber": "800000000003126276362",
        "endSequenceNumber": "800000000003126276364",
        "approximateArrivalOfFirstRecord": "2026-11-21T10:20:00.568Z",
        "approximateArrivalOfLastRecord": "2026-11-21T10:20:01.568Z",
        "batchSize": 3,
        "streamArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/sagemaker-queue/stream/2026-11-14T00:04:06.388",
    },
}

EVENTS: list[tuple[str, DeadLetter, Content]] = [
    (
        "an event that the observer failed on",
        letter(record(STATE_CHANGE)),
        Content(
            about="bert-large Failed",
            remedy=Observe(STATE_CHANGE),
            error_type="KeyError",
            error_message="'TrainingJobStatus'",
        ),
    ),
    (
        "an event that grew too old while the observer was throttled",
        letter(AGED_OUT),
        Content(about="bert-large Failed", remedy=Observe(STATE_CHANGE), error_type="EventAgeExceeded"),
    ),
    (
        "an event that never reached the observer",
        undelivered(STATE_CHANGE),
        Content(
            about="bert-large Failed",
            remedy=Observe(STATE_CHANGE),
            error_type="NO_PERMISSIONS",
            error_message="not authorized to perform: lambda:InvokeFunction",
        ),
    ),
    (
        "a poison event that lacks its status",
        undelivered(poison(TrainingJobName="bert-large")),
        Content(
            about="bert-large",
            remedy=Observe(poison(TrainingJobName="bert-large")),
            error_type="NO_PERMISSIONS",
            error_message="not authorized to perform: lambda:InvokeFunction",
        ),
    ),
    (
        "a poison event whose detail is something else",
        letter(record({**STATE_CHANGE, "detail": ["x"]}, responsePayload="Task timed out")),
        Content(
            about="a training job without a name",
            remedy=Observe({**STATE_CHANGE, "detail": ["x"]}),
            error_type="RetriesExhausted",
        ),
    ),
    (
        "a minute that the reconciler failed in",
        letter(record(SCHEDULE)),
        Content(about="a minute's run", remedy=Tick(), error_type="KeyError", error_message="'TrainingJobStatus'"),
    ),
    ("a minute that never reached the reconciler", letter(SCHEDULE), Content(about="a minute's run", remedy=Tick())),
    (
        "an alarm that the monitor failed on",
        letter(record({"Records": [{"EventSource": "aws:sns", "Sns": {"Message": "{}"}}]})),
        Content(
            about="an alarm on a running job",
            remedy=Lost(CHECKED_SINCE),
            error_type="KeyError",
            error_message="'TrainingJobStatus'",
        ),
    ),
    (
        "changes that were never told",
        letter(BATCH),
        Content(
            about="3 changes of jobs from 2026-11-21T10:20:00.568Z on",
            remedy=Lost(NOT_TOLD),
            error_type="RetryAttemptsExhausted",
        ),
    ),
    (
        "a change that was never told, in a record that does not say when it was",
        letter({**BATCH, "DDBStreamBatchInfo": {"batchSize": 1}}),
        Content(
            about="1 change of jobs from a time unknown on", remedy=Lost(NOT_TOLD), error_type="RetryAttemptsExhausted"
        ),
    ),
]


@pytest.mark.parametrize(("dead", "content"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_a_dead_event_has_its_subject_its_error_and_its_function(dead: DeadLetter, content: Content) -> None:
    assert content_of(LetterQueue.EVENT, dead) == content


ILLEGIBLE: list[tuple[str, object, str]] = [
    ("no JSON", "{", "no JSON"),
    ("nothing", "", "no JSON"),
    ("brackets without end", "[" * 200_000, "no JSON"),
    ("JSON that is no object", [STATE_CHANGE], "no event"),
    ("an object that is no event", {}, "no event"),
    ("a record of no event", record("x"), "no event"),
    ("an event of another service", {**STATE_CHANGE, "source": "aws.ec2"}, "no event"),
    ("an event of SageMaker's on something else", {**STATE_CHANGE, "detail-type": "Endpoint"}, "no event"),
]


@pytest.mark.parametrize(("body", "problem"), [row[1:] for row in ILLEGIBLE], ids=[row[0] for row in ILLEGIBLE])
def test_an_unreadable_letter_is_reported_as_such(body: object, problem: str) -> None:
    content = content_of(LetterQueue.EVENT, letter(body))
    assert content.about is None
    assert isinstance(content.remedy, Illegible)
    assert problem in content.remedy.problem


@pytest.mark.parametrize("why", ["submitted", "bert-large Failed", "", "{"])
def test_any_dead_wake_up_requests_a_tick(why: str) -> None:
    assert content_of(LetterQueue.WAKE, letter(why)) == Content(about=why, remedy=Tick())


def test_a_letter_is_shown_shortened_and_delivered_complete() -> None:
    long = "x" * 10_000
    content = content_of(
        LetterQueue.EVENT, letter(record(poison(TrainingJobName=long), responsePayload={"errorMessage": long}))
    )
    assert content.remedy == Observe(poison(TrainingJobName=long))
    for told in (content.about, content.error_message, content_of(LetterQueue.WAKE, letter(long)).about):
        assert told is not None
        assert (len(told), told[-1]) == (MAX_TEXT_CHARS, "…")
