"""Each change of a job is published: on the event bus, and by message if the policy selects it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headway_sandbox.inprocess.deployment import FILTERED
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.conftest import DOCUMENT
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e


class Subscriber:
    """Two queues of a user: one for the events of a rule on the bus, one subscribed to the topic."""

    def __init__(self, sandbox: Sandbox, queue: QueueView) -> None:
        self._sandbox = sandbox
        self._queue = queue
        self._sqs, self._events, self._sns = (sandbox.client(service) for service in ("sqs", "events", "sns"))
        (stack,) = sandbox.client("cloudformation").describe_stacks(StackName=sandbox.info.stack)["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
        self._bus, self._topic = outputs["EventBusName"], outputs["NotificationTopicArn"]
        self._heard: list[dict[str, Any]] = []
        self._mail: list[dict[str, Any]] = []
        self._bus_queue = self._make_queue("events", "events.amazonaws.com")
        self._events.put_rule(
            Name=f"{queue.prefix}rule", EventBusName=self._bus, EventPattern=json.dumps({"source": ["headway"]})
        )
        self._events.put_targets(
            Rule=f"{queue.prefix}rule", EventBusName=self._bus, Targets=[{"Id": "ears", "Arn": self._arn("events")}]
        )
        self._mail_queue = self._make_queue("mail", "sns.amazonaws.com")
        self._subscription = self._sns.subscribe(
            TopicArn=self._topic,
            Protocol="sqs",
            Endpoint=self._arn("mail"),
            ReturnSubscriptionArn=True,
            Attributes={"FilterPolicy": json.dumps({"code": ["Preempted", "Failed"]})},
        )["SubscriptionArn"]

    def _arn(self, name: str) -> str:
        return f"arn:aws:sqs:{self._sandbox.info.region}:{self._sandbox.info.account}:{self._queue.prefix}{name}"

    def _make_queue(self, name: str, service: str) -> str:
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": service},
            "Action": "sqs:SendMessage",
            "Resource": self._arn(name),
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        made = self._sqs.create_queue(QueueName=f"{self._queue.prefix}{name}", Attributes={"Policy": policy})
        return str(made["QueueUrl"])

    def close(self) -> None:
        """Delete the user's resources."""
        self._sns.unsubscribe(SubscriptionArn=self._subscription)
        self._events.remove_targets(Rule=f"{self._queue.prefix}rule", EventBusName=self._bus, Ids=["ears"])
        self._events.delete_rule(Name=f"{self._queue.prefix}rule", EventBusName=self._bus)
        for url in (self._bus_queue, self._mail_queue):
            self._sqs.delete_queue(QueueUrl=url)

    def _take(self, url: str) -> list[dict[str, Any]]:
        messages = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [json.loads(message["Body"]) for message in messages]

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the details of all events of a job so far, in order of arrival."""
        self._heard += self._take(self._bus_queue)
        details = [event["detail"] for event in self._heard if event["detail-type"] == "Headway Job Change"]
        return [detail for detail in details if detail["jobName"] == self._queue.prefix + name]

    def codes(self, name: str) -> list[str]:
        """Return the reason codes of a job's changes, in order."""
        return [detail["code"] for detail in self.events(name)]

    def wait_for(self, name: str, *codes: str) -> list[dict[str, Any]]:
        """Wait for events with these codes in this order, and return all events of the job."""
        eventually(lambda: self.codes(name) == [*codes], lambda: f"{codes} of {name}; there are {self.codes(name)}")
        return self.events(name)

    def mail(self) -> dict[str, dict[str, Any]]:
        """Return the messages of the test's jobs so far, by subject."""
        self._mail += self._take(self._mail_queue)
        mine = [m for m in self._mail if m["MessageAttributes"]["jobName"]["Value"].startswith(self._queue.prefix)]
        return {message["Subject"].replace(self._queue.prefix, ""): message for message in mine}

    @contextmanager
    def rejecting(self) -> Iterator[None]:
        """Let the bus reject the function's events."""
        iam = self._sandbox.client("iam")
        (role,) = [each["RoleName"] for each in iam.list_roles()["Roles"] if "TellFunctionRole" in each["RoleName"]]
        denied = {"Effect": "Deny", "Action": "events:PutEvents", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [denied]})
        iam.put_role_policy(RoleName=role, PolicyName="deaf", PolicyDocument=policy)
        try:
            yield
        finally:
            iam.delete_role_policy(RoleName=role, PolicyName="deaf")


@pytest.fixture
def subscriber(sb: Sandbox, queue: QueueView) -> Iterator[Subscriber]:
    subscriber = Subscriber(sb, queue)
    yield subscriber
    subscriber.close()


def feed_of(queue: QueueView, name: str) -> list[dict[str, Any]]:
    """Return the details of a job's events in the feed, which a caller reads one by one."""
    found: list[dict[str, Any]] = []
    page = queue.api.events(job=queue.prefix + name, limit=1)
    while page.events or page.more:
        found += [dict(event.detail) for event in page.events]
        page = queue.api.events(job=queue.prefix + name, limit=1, after=page.cursor)
    return found


def test_the_events_of_a_preempted_job_equal_its_history(queue: QueueView, subscriber: Subscriber):
    queue.submit("low", 1)
    queue.submit("other", 5)
    queue.wait_until_training("low", "other")
    queue.submit("high", 9)
    queue.wait_for(low="preempted", high="running")
    queue.finish("other")
    queue.wait_for(low="running")
    queue.finish("low")
    queue.wait_for(low="completed")

    told = subscriber.wait_for("low", "Entered", "Started", "Preempted", "ReturnedToLine", "Started", "Completed")

    assert [detail["id"] for detail in told] == [f"{queue.prefix}low/{version}" for version in range(1, 7)]
    states = ["pending", "running", "stopping", "preempted", "running", "completed"]
    assert [detail["jobState"] for detail in told] == states
    assert [detail["previousState"] for detail in told] == [None, *states[:-1]]
    history = queue.details("low").history
    assert [detail["message"] for detail in told] == [step.reason.message for step in history]
    preempted = told[2]
    assert preempted["jobs"] == [f"{queue.prefix}high"]
    assert preempted["attemptName"] == queue.attempts("low")[0]
    assert "starts again automatically" in preempted["remedy"]
    assert feed_of(queue, "low") == told
    mail = eventually(subscriber.mail, "a message on the preemption")
    assert list(mail) == ["Preempted: low"]
    assert mail["Preempted: low"]["MessageAttributes"]["priority"] == {"Type": "Number", "Value": "1"}


def test_the_message_of_a_failed_job_has_the_cause_and_the_remedy(
    sb: Sandbox, queue: QueueView, subscriber: Subscriber
):
    queue.submit("job")
    queue.wait_until_training("job")
    live = queue.job("job").live_attempt
    assert live is not None
    sb.fail(live, "AlgorithmError: ExecuteUserScriptError: exit code 1")

    subscriber.wait_for("job", "Entered", "Started", "Failed")
    message = eventually(subscriber.mail, "a message on the failure")["Failed: job"]["Message"]

    assert f"What happened: job {queue.prefix}job went from running to failed." in message
    assert "Why: failed: AlgorithmError: ExecuteUserScriptError: exit code 1" in message
    assert "What to do: Check the training job's log" in message


def test_a_policy_can_disable_messages_but_not_events(sb: Sandbox, queue: QueueView, subscriber: Subscriber):
    queue.api.put_config({**DOCUMENT, "notifications": {"codes": []}}, force=True)
    queue.submit("quiet")
    queue.wait_until_training("quiet")
    live = queue.job("quiet").live_attempt
    assert live is not None
    sb.fail(live)
    subscriber.wait_for("quiet", "Entered", "Started", "Failed")
    queue.api.put_config(DOCUMENT, force=True)
    queue.submit("loud")
    queue.wait_until_training("loud")
    live = queue.job("loud").live_attempt
    assert live is not None
    sb.fail(live)
    subscriber.wait_for("loud", "Entered", "Started", "Failed")
    assert list(eventually(subscriber.mail, "a message on the loud one")) == ["Failed: loud"]


def test_jobs_continue_while_events_cannot_be_published_and_all_are_published_later(
    queue: QueueView, subscriber: Subscriber
):
    with subscriber.rejecting():
        queue.submit("job")
        queue.finish("job")
        queue.wait_for(job="completed")
        assert subscriber.events("job") == []
    told = subscriber.wait_for("job", "Entered", "Started", "Completed")
    assert [detail["version"] for detail in told] == [1, 2, 3]
    assert feed_of(queue, "job") == told, "the retries have put nothing into the feed twice"


def test_only_events_after_a_restart_are_published_after_it(sb: Sandbox, queue: QueueView, subscriber: Subscriber):
    queue.submit("job")
    queue.wait_until_training("job")
    subscriber.wait_for("job", "Entered", "Started")

    sb.restart()

    queue.finish("job")
    queue.wait_for(job="completed")
    subscriber.wait_for("job", "Entered", "Started", "Completed")


def test_the_observer_gets_all_changes_of_training_jobs_but_waits_and_uploads(sb: Sandbox):
    events = sb.client("events")
    rules = events.list_rules()["Rules"]
    (pattern,) = [each["EventPattern"] for each in rules if "aws.sagemaker" in each.get("EventPattern", "")]

    def passes(detail: dict[str, str]) -> bool:
        sent = {"source": "aws.sagemaker", "detail-type": "SageMaker Training Job State Change", "detail": detail}
        envelope = {"id": "1", "account": sb.info.account, "time": "2026-11-27T00:00:00Z", "region": sb.info.region}
        event = json.dumps({**sent, **envelope, "resources": []})
        return bool(events.test_event_pattern(EventPattern=pattern, Event=event)["Result"])

    named = ("Starting", "Downloading", "Training", "Interrupted", "Stopping", "Completed", "a new one")
    assert all(passes({"SecondaryStatus": each}) for each in named)
    assert passes({"TrainingJobStatus": "InProgress"}), "AWS does not document that each event has the status"
    assert not any(passes({"SecondaryStatus": each}) for each in FILTERED)
