"""What a run creates beside its jobs: named and tagged, removed at the end, and by the next run after a crash.

Nothing of it costs if it is left: rules, queues, roles, topics and stacks are free, the training jobs end by
themselves, and an alarm with the queue's prefix is deleted by the queue's watch function.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError
from botocore.exceptions import ClientError as AwsClientError

from headway.errors import HeadwayError
from headway_client.job_states import ENDED_STATES
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.waiting import until

TAG = "headway-accept"
WARM = "warm"
"""What the training job beside the queue is for: a warm pool."""
FAILURES = (AwsClientError, BotoCoreError, HeadwayError)

_STACK_GONE_S = 300.0


class Temporary:
    """The names of one run, and the removal of all that has a name of a run on this queue.

    Args:
        target: the queue.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self.run = secrets.token_hex(3)
        self.tags = [{"Key": TAG, "Value": self.run}]

    def name(self, what: str) -> str:
        """Return the name of something of this run.

        Args:
            what: it is for, in a word.
        """
        return f"{self._target.prefix}{self.run}-{what}"

    def alarm(self) -> str:
        """Return the name of an alarm that the queue's topic and its watch function accept."""
        return f"{self._alarm_prefix}{self.run}/accept/1"

    @property
    def _alarm_prefix(self) -> str:
        return f"{self._target.stack}-watch/{self._target.prefix}"

    def remove(self) -> list[str]:
        """Remove what runs on this queue have created; return a sentence on each kind that could not be removed."""
        kinds: dict[str, Callable[[], object]] = {
            "jobs": self._stop_jobs,
            "warm pools": self._release_pools,
            "alarms": self._delete_alarms,
            "rules": self._delete_rules,
            "queues": self._delete_queues,
            "stacks": self._delete_stacks,
            "topics": self._delete_topics,
            "roles": self._delete_roles,
        }
        left = []
        for kind, remove in kinds.items():
            try:
                remove()
            except FAILURES as error:
                left.append(f"{kind} named {self._target.prefix}…: {error}")
        return left

    def _stop_jobs(self) -> None:
        for job in list(self._target.api.list_jobs(name_contains=self._target.prefix)):
            if job.name.startswith(self._target.prefix) and job.state not in ENDED_STATES:
                self._target.api.stop_job(job.name, "the acceptance has ended")

    def _release_pools(self) -> None:
        client = self._target.client("sagemaker")
        # Those of the queue are stopped by the queue.
        prefix = self._target.prefix
        pages = client.get_paginator("list_training_jobs").paginate(NameContains=prefix, SortBy="CreationTime")
        for job in (each for page in pages for each in page["TrainingJobSummaries"]):
            name = job["TrainingJobName"]
            if not name.startswith(prefix) or not name.endswith(f"-{WARM}"):
                continue
            if job["TrainingJobStatus"] == "InProgress":
                client.stop_training_job(TrainingJobName=name)
            elif (job.get("WarmPoolStatus") or {}).get("Status") == "Available":
                client.update_training_job(TrainingJobName=name, ResourceConfig={"KeepAlivePeriodInSeconds": 0})

    def _delete_alarms(self) -> None:
        client = self._target.client("cloudwatch")
        found = client.describe_alarms(AlarmNamePrefix=self._alarm_prefix)["MetricAlarms"]
        if found:
            client.delete_alarms(AlarmNames=[each["AlarmName"] for each in found])

    def _delete_rules(self) -> None:
        client = self._target.client("events")
        for rule in client.list_rules(NamePrefix=self._target.prefix)["Rules"]:
            targets = client.list_targets_by_rule(Rule=rule["Name"])["Targets"]
            if targets:
                client.remove_targets(Rule=rule["Name"], Ids=[each["Id"] for each in targets])
            client.delete_rule(Name=rule["Name"])

    def _delete_queues(self) -> None:
        client = self._target.client("sqs")
        for url in client.list_queues(QueueNamePrefix=self._target.prefix).get("QueueUrls", ()):
            client.delete_queue(QueueUrl=url)

    def _delete_stacks(self) -> None:
        client = self._target.client("cloudformation")
        pages = client.get_paginator("describe_stacks").paginate()
        names = [each["StackName"] for page in pages for each in page["Stacks"]]
        for name in (each for each in names if each.startswith(self._target.prefix)):
            client.delete_stack(StackName=name)
            until(lambda name=name: stack_status(client, name) == "", timeout_s=_STACK_GONE_S, every_s=2)  # type: ignore[misc]

    def _delete_topics(self) -> None:
        client = self._target.client("sns")
        pages = client.get_paginator("list_topics").paginate()
        for arn in (each["TopicArn"] for page in pages for each in page["Topics"]):
            if arn.rpartition(":")[2].startswith(self._target.prefix):
                client.delete_topic(TopicArn=arn)

    def _delete_roles(self) -> None:
        client = self._target.client("iam")
        pages = client.get_paginator("list_roles").paginate()
        for name in [each["RoleName"] for page in pages for each in page["Roles"]]:
            if name.startswith(self._target.prefix):
                _delete_role(client, name)


def _delete_role(client: Any, name: str) -> None:
    for policy in client.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
        client.detach_role_policy(RoleName=name, PolicyArn=policy["PolicyArn"])
    for policy in client.list_role_policies(RoleName=name)["PolicyNames"]:
        client.delete_role_policy(RoleName=name, PolicyName=policy)
    client.delete_role(RoleName=name)


def stack_status(client: Any, name: str) -> str:
    """Return the status of a stack; empty if it does not exist any more.

    Args:
        client: of CloudFormation.
    """
    try:
        status = str(client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])
    except AwsClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return ""
    return "" if status == "DELETE_COMPLETE" else status


@contextmanager
def cleaned(target: Target, tell: Callable[[str], None]) -> Iterator[Temporary]:
    """Remove what an earlier run left, and at the end what this one has created."""
    temporary = Temporary(target)
    for sentence in temporary.remove():
        tell(f"Not cleaned up: {sentence}")
    try:
        yield temporary
    finally:
        for sentence in temporary.remove():
            tell(f"Left behind: {sentence}. Remove them by hand, or run `make accept` again.")
