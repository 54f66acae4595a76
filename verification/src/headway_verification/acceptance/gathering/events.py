"""The events on the training jobs of a run, by a temporary rule with a queue as its target."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary

_BATCH = 10
"""The most messages that SQS gives at once (API reference, ReceiveMessage)."""
_QUIET_S = 30.0
_WAIT_S = 5


class Listener:
    """Keeps the events on training jobs whose names begin with this run's, all statuses included.

    Args:
        target: the queue.
        temporary: names the rule and the queue.
    """

    def __init__(self, target: Target, temporary: Temporary) -> None:
        events, self._sqs = target.client("events"), target.client("sqs")
        name = temporary.name("events")
        tags = {each["Key"]: each["Value"] for each in temporary.tags}
        self._url = self._sqs.create_queue(QueueName=name, tags=tags)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])["Attributes"]
        pattern = {
            "source": ["aws.sagemaker"],
            "detail-type": ["SageMaker Training Job State Change"],
            "detail": {"TrainingJobName": [{"prefix": temporary.name("")}]},
        }
        rule = events.put_rule(Name=name, EventPattern=json.dumps(pattern), Tags=temporary.tags)
        self._sqs.set_queue_attributes(
            QueueUrl=self._url, Attributes={"Policy": json.dumps(_policy(attributes["QueueArn"], rule["RuleArn"]))}
        )
        events.put_targets(Rule=name, Targets=[{"Id": "accept", "Arn": attributes["QueueArn"]}])

    def details(self) -> tuple[Mapping[str, Any], ...]:
        """Return the details of the events that came, once none has come for half a minute."""
        found: list[Mapping[str, Any]] = []
        last = time.monotonic()
        while time.monotonic() - last < _QUIET_S:
            answer = self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=_BATCH, WaitTimeSeconds=_WAIT_S)
            for message in answer.get("Messages", ()):
                found.append(json.loads(message["Body"])["detail"])
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
                last = time.monotonic()
        return tuple(found)


def _policy(queue_arn: str, rule_arn: str) -> dict[str, Any]:
    """Source: EventBridge user guide, "Amazon SQS permissions"."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": rule_arn}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}
