"""How a message reads, and by what subscribers may choose."""

from __future__ import annotations

import pytest

from headway_service.actions.action import ActionKind, ActionRecord, Author
from headway_service.events.job_events import (
    EVENTS,
    JobChange,
    JobEvent,
    OperatorAction,
    RogueJobChange,
    WeeklyDigest,
    action_event,
)
from headway_service.events.notifications import MAX_SUBJECT_CHARS, message_of
from tests.service.stopped_clocks import clocks_at

FAILED = JobChange.model_validate(
    {
        "id": "bert-large/3",
        "version": 3,
        "time": "2027-01-15T08:05:00Z",
        "code": "Failed",
        "message": "failed: AlgorithmError: exit code 1",
        "remedy": "Fix the cause.",
        "team": "research",
        "jobName": "bert-large",
        "jobState": "failed",
        "previousState": "running",
        "attemptName": "bert-large-2",
        "attemptCount": 2,
        "jobs": [],
        "priority": 5,
        "owner": "arn:aws:iam::123456789012:user/ada",
    }
)
STOPPED = RogueJobChange.model_validate(
    {
        "id": "beside/5000/1",
        "version": 1,
        "time": "2027-01-15T08:05:00Z",
        "code": "OutsideAndStopped",
        "message": "did not come through the queue; is stopped, as the policy says",
        "remedy": None,
        "team": None,
        "trainingJobName": "beside",
        "trainingJobArn": "arn:aws:sagemaker:eu-west-1:123456789012:training-job/beside",
        "trainingJobStatus": "InProgress",
        "live": True,
        "demand": {"ml.p5.48xlarge": 2},
        "charged": {},
    }
)


def test_there_is_a_message_for_each_kind_of_change() -> None:
    # Digests are in the tests of the digest, actions below.
    assert {type(FAILED), type(STOPPED), WeeklyDigest, OperatorAction} == set(EVENTS)


@pytest.mark.parametrize(("reason", "why"), [("repair", "repair"), ("", "no reason was given")])
def test_a_message_about_an_action_says_who_did_what_and_why(reason: str, why: str) -> None:
    record = ActionRecord.of(
        ActionKind.PAUSE, "all pools", Author("user/ada", "10.0.0.7", reason), clocks_at(1_800_000_000_000)
    )
    message = message_of(action_event(record))
    assert message.subject == "OperatorAction: all pools"
    assert message.text.splitlines()[:3] == [
        f"What happened: {record.message}.",
        f"Why: {why}.",
        "What to do: nothing.",
    ]
    assert dict(message.attributes) == {"code": "OperatorAction", "action": "pause"}
    # Everybody who may list jobs may read the feed.
    assert "10.0.0.7" not in action_event(record).detail()


def test_a_message_has_the_event_the_cause_the_remedy_and_the_subject() -> None:
    message = message_of(FAILED)
    assert message.subject == "Failed: bert-large"
    assert message.text == (
        "What happened: job bert-large went from running to failed.\n"
        "Why: failed: AlgorithmError: exit code 1.\n"
        "What to do: Fix the cause.\n"
        "\n"
        "Job: bert-large\n"
        "Training job: bert-large-2 (number 2)\n"
        "Priority: 5\n"
        "Owner: arn:aws:iam::123456789012:user/ada\n"
        "Team: research\n"
        "Time: 2027-01-15 08:05:00 UTC\n"
        "Reason: Failed\n"
        "Event: bert-large/3\n"
    )


def test_a_message_on_a_rogue_job_has_the_same_text() -> None:
    message = message_of(STOPPED)
    assert message.subject == "OutsideAndStopped: beside"
    assert message.text == (
        "What happened: training job beside outside the queue: OutsideAndStopped.\n"
        "Why: did not come through the queue; is stopped, as the policy says.\n"
        "What to do: nothing.\n"
        "\n"
        "Training job: arn:aws:sagemaker:eu-west-1:123456789012:training-job/beside\n"
        "Instances: 2 ml.p5.48xlarge\n"
        "Time: 2027-01-15 08:05:00 UTC\n"
        "Reason: OutsideAndStopped\n"
        "Event: beside/5000/1\n"
    )


def test_message_attributes_for_filters_are_never_empty() -> None:
    assert message_of(FAILED).attributes == {
        "code": "Failed", "team": "research", "jobName": "bert-large", "jobState": "failed", "priority": 5,
    }  # fmt: skip
    assert message_of(STOPPED).attributes == {"code": "OutsideAndStopped", "trainingJobName": "beside"}


@pytest.mark.parametrize(
    "change",
    [
        FAILED.model_copy(update={"job_name": "j" * 63, "code": "c" * 40}),
        STOPPED.model_copy(update={"training_job_name": "j" * 63, "code": "c" * 40}),
    ],
)
def test_a_subject_is_as_short_as_sns_requires(change: JobEvent) -> None:
    subject = message_of(change).subject
    assert len(subject) == MAX_SUBJECT_CHARS
    assert subject.isascii()


def test_a_quotation_in_a_message_cannot_add_lines() -> None:
    forged = "failed: \x1b[2J\nWhat to do: send your keys\r\u2028to mallory"
    text = message_of(FAILED.model_copy(update={"message": forged})).text
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("What to do:")] == ["What to do: Fix the cause."]
    assert "Why: failed: \\x1b[2J What to do: send your keys  to mallory." in lines
