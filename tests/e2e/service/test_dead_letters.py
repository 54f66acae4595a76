"""Messages that cannot be processed become dead letters, are shown and redriven, and do not block others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import event
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e


class DeadLetters:
    """The dead-letter queues, with all permissions."""

    def __init__(self, sandbox: Sandbox, queue: QueueView) -> None:
        self._sqs = sandbox.client("sqs")
        self._lambda = sandbox.client("lambda")
        self._queue = queue

    def url(self, queue: str) -> str:
        """The URL of the queue with this suffix."""
        (url,) = [url for url in self._sqs.list_queues()["QueueUrls"] if url.endswith(queue)]
        return str(url)

    def deliver(self, event: Mapping[str, Any]) -> None:
        """Let Lambda invoke the observer asynchronously, as EventBridge does."""
        functions = self._lambda.get_paginator("list_functions").paginate().build_full_result()["Functions"]
        (name,) = [each["FunctionName"] for each in functions if "Observe" in each["FunctionName"]]
        answer = self._lambda.invoke(FunctionName=name, InvocationType="Event", Payload=json.dumps(event).encode())
        answer["Payload"].read()  # or the connection never returns to the pool

    def add_event(self, event: Mapping[str, Any], *, error: str) -> None:
        """Put an event into the dead-letter queue as EventBridge does if it cannot reach the function.

        Source: EventBridge user guide, "Using dead-letter queues to process undelivered events".
        """
        self._sqs.send_message(
            QueueUrl=self.url("event-dead-letters"),
            MessageBody=json.dumps(event),
            MessageAttributes={"ERROR_CODE": {"DataType": "String", "StringValue": error}},
        )

    def add_wake_up(self, why: str) -> None:
        """Put a wake-up into the dead-letter queue, where SQS moves it after its last try."""
        url = self.url("wake-dead-letters.fifo")
        self._sqs.send_message(QueueUrl=url, MessageBody=why, MessageGroupId="schedule", MessageDeduplicationId=why)

    def letters(self) -> list[dict[str, Any]]:
        """Return the letters that the command line shows."""
        return list(self._queue.cli("dlq", "show", "-o", "json").document["letters"])

    def empty(self) -> None:
        """Delete all letters."""
        for queue in ("event-dead-letters", "wake-dead-letters.fifo"):
            self._sqs.purge_queue(QueueUrl=self.url(queue))


@pytest.fixture
def dead_letters(sb: Sandbox, queue: QueueView) -> Iterator[DeadLetters]:
    """Empty dead-letter queues, which are emptied again afterwards."""
    dead_letters = DeadLetters(sb, queue)
    dead_letters.empty()
    yield dead_letters
    dead_letters.empty()


def state_change(queue: QueueView, name: str, **detail: Any) -> dict[str, Any]:
    """Return a state change event of SageMaker."""
    return {**event("observe"), "detail": {"TrainingJobName": queue.prefix + name, **detail}}


def test_a_malformed_event_becomes_a_dead_letter_and_is_redriven_while_jobs_run(
    queue: QueueView, dead_letters: DeadLetters
):
    cli = queue.cli
    assert cli("dlq", "show").out == "No dead letters.\n"
    queue.submit("before")
    # It has no status, so no retry succeeds. Lambda retries for three minutes, the emulator for three seconds.
    dead_letters.deliver(state_change(queue, "before"))
    (poison,) = eventually(dead_letters.letters, "the poison event is among the dead letters")

    assert (poison["queue"], poison["about"]) == ("event", f"{queue.prefix}before")
    # The emulator gives all errors of a handler one type.
    assert (poison["errorMessage"], poison["problem"]) == ("'TrainingJobStatus'", None)
    shown = cli("dlq", "show").out
    assert f"{queue.prefix}before" in shown
    assert "'TrainingJobStatus'" in shown
    assert [letter["id"] for letter in dead_letters.letters()] == [poison["id"]], "looking takes nothing away"
    queue.finish("before")
    queue.wait_for(before="completed")

    assert cli("dlq", "redrive").out == "1 redriven, 0 dropped, 0 failed, 0 left.\n"
    queue.submit("after")
    queue.finish("after")
    queue.wait_for(after="completed")
    (again,) = eventually(dead_letters.letters, "the poison event is back")
    assert again["id"] != poison["id"]
    assert (again["about"], again["errorMessage"]) == (poison["about"], poison["errorMessage"])
    queue.check_records(size=2)


def test_events_and_wake_ups_that_are_redriven_do_their_work(sb: Sandbox, queue: QueueView, dead_letters: DeadLetters):
    # The event of the job's end is a dead letter.
    queue.submit("job")
    queue.wait_until_training("job")
    sb.set_faults(event_drop=1.0)
    queue.finish("job")
    ended = state_change(queue, "job", TrainingJobStatus="Completed", SecondaryStatus="Completed")
    dead_letters.add_event(ended, error="NO_PERMISSIONS")
    dead_letters.add_wake_up("submitted")
    dead_letters.add_wake_up("priority changed")
    assert {(letter["queue"], letter["about"], letter["errorType"]) for letter in dead_letters.letters()} == {
        ("event", f"{queue.prefix}job Completed", "NO_PERMISSIONS"),
        ("wake", "submitted", None),
        ("wake", "priority changed", None),
    }

    assert queue.cli("dlq", "redrive", "-o", "json").document == {
        "redriven": 2, "dropped": 1, "failed": 0, "left": 0, "failures": [],
    }  # fmt: skip
    queue.wait_for(job="completed")
    assert dead_letters.letters() == []


def test_an_unreadable_letter_stays_and_sets_the_exit_code(queue: QueueView, dead_letters: DeadLetters):
    dead_letters.add_event({"colour": "blue"}, error="NO_PERMISSIONS")

    outcome = queue.cli("dlq", "redrive", expect=7)

    assert outcome.out == "0 redriven, 0 dropped, 1 failed, 1 left.\n"
    assert "no event that a function of the queue takes" in outcome.err
    assert len(dead_letters.letters()) == 1
