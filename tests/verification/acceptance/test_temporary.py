"""What runs have created is removed, whatever becomes of the rest; nothing else is touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary, cleaned
from tests.verification.acceptance.aws import REGION, Account, SageMaker, account

TRUST = json.dumps({"Version": "2012-10-17", "Statement": []})
POLICY = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}})


STACKS: set[str] = set()


class Stacks:
    """CloudFormation, of which moto needs a package that is not installed."""

    def get_paginator(self, _name: str) -> Stacks:
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"Stacks": [{"StackName": name} for name in STACKS]}]

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803  boto3's
        if StackName in STACKS:
            return {"Stacks": [{"StackStatus": "CREATE_COMPLETE"}]}
        raise ClientError({"Error": {"Code": "ValidationError", "Message": "does not exist"}}, "DescribeStacks")

    def delete_stack(self, StackName: str) -> None:  # noqa: N803  boto3's
        STACKS.remove(StackName)


def queue(**clients: Any) -> Account:
    return account(sagemaker=SageMaker().client, cloudformation=Stacks, **clients)


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    STACKS.clear()
    with mock_aws():
        yield


def client(service: str) -> Any:
    found: Any = boto3
    return found.client(service, region_name=REGION)


def create(name: str, alarm: str) -> None:
    """Create one of each kind."""
    client("events").put_rule(Name=name, EventPattern="{}")
    queue = client("sqs").create_queue(QueueName=name)["QueueUrl"]
    arn = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client("events").put_targets(Rule=name, Targets=[{"Id": "a", "Arn": arn}])
    client("sns").create_topic(Name=name)
    STACKS.add(name)
    policy = client("iam").create_policy(PolicyName=name, PolicyDocument=POLICY)
    client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)
    client("iam").put_role_policy(RoleName=name, PolicyName="a", PolicyDocument=POLICY)
    client("iam").attach_role_policy(RoleName=name, PolicyArn=policy["Policy"]["Arn"])
    client("cloudwatch").put_metric_alarm(
        AlarmName=alarm,
        Namespace="a",
        MetricName="a",
        Statistic="Average",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="LessThanThreshold",
    )


def there() -> set[str]:
    """The names of all that is there."""
    return {
        *(f"rule {each['Name']}" for each in client("events").list_rules()["Rules"]),
        *(f"queue {each.rpartition('/')[2]}" for each in client("sqs").list_queues().get("QueueUrls", ())),
        *(f"topic {each['TopicArn'].rpartition(':')[2]}" for each in client("sns").list_topics()["Topics"]),
        *(f"stack {each}" for each in STACKS),
        *(f"role {each['RoleName']}" for each in client("iam").list_roles()["Roles"]),
        *(f"alarm {each['AlarmName']}" for each in client("cloudwatch").describe_alarms()["MetricAlarms"]),
    }


KINDS = ("rule", "queue", "topic", "stack", "role")


def test_all_of_an_earlier_run_is_removed_and_nothing_else() -> None:
    target = queue()
    create(Temporary(target).name("a"), Temporary(target).alarm())
    create("headway-accept-of-another-queue", "headway-watch/a-job/idle/1")
    assert len(there()) == 12
    assert Temporary(target).remove() == []
    others = {f"{kind} headway-accept-of-another-queue" for kind in KINDS}
    assert there() == {*others, "alarm headway-watch/a-job/idle/1"}


def test_the_names_of_two_queues_differ() -> None:
    first, second = account(), account()
    object.__setattr__(second, "stack", "headway-dev")
    assert not second.prefix.startswith(first.prefix)
    assert Temporary(first).name("a") != Temporary(first).name("a"), "each run has names of its own"


def test_live_jobs_of_runs_are_stopped_and_no_others() -> None:
    target = queue()
    target.api.jobs = [  # type: ignore[attr-defined]
        SimpleNamespace(name=f"{target.prefix}a", state="running"),
        SimpleNamespace(name=f"{target.prefix}b", state="completed"),
        SimpleNamespace(name=f"mine-{target.prefix}", state="running"),
    ]
    Temporary(target).remove()
    assert target.api.stopped == [f"{target.prefix}a"]  # type: ignore[attr-defined]


class Denies:
    """A client whose calls are all denied."""

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "No."}}, name)

        return call


def test_what_cannot_be_removed_is_said_and_the_rest_is_removed() -> None:
    target = queue(events=Denies)
    create(Temporary(target).name("a"), Temporary(target).alarm())
    (sentence,) = Temporary(target).remove()
    assert sentence.startswith(f"rules named {target.prefix}")
    assert {each.split()[0] for each in there()} == {"rule"}


def test_a_run_that_fails_is_cleaned_up() -> None:
    target: Target = queue()
    told: list[str] = []

    def run() -> None:
        with cleaned(target, told.append) as temporary:
            create(temporary.name("a"), temporary.alarm())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert (there(), told) == (set(), [])


def test_a_warm_pool_of_a_run_is_released() -> None:
    sagemaker = SageMaker(warm_pool_quotas={"ml.m5.large": 1})
    target: Account = account(sagemaker=sagemaker.client, cloudformation=Stacks)
    name = Temporary(target).name("warm")
    request = {
        "TrainingJobName": name,
        "RoleArn": target.role,
        "AlgorithmSpecification": {"TrainingImage": target.image, "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://a/b"},
        "ResourceConfig": {
            "InstanceType": "ml.m5.large",
            "InstanceCount": 1,
            "VolumeSizeInGB": 1,
            "KeepAlivePeriodInSeconds": 3600,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "Environment": {"SANDBOX_RUN_SECONDS": "1"},
    }
    client = target.client("sagemaker")
    client.create_training_job(**request)
    while client.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] != "Completed":
        pass
    assert Temporary(target).remove() == []
    assert "UpdateTrainingJob" in sagemaker.calls
    # Ten minutes of the fake's time; the pool itself would be kept for an hour.
    seen = [client.describe_training_job(TrainingJobName=name)["WarmPoolStatus"]["Status"] for _ in range(20)]
    assert seen[-1] == "Terminated"
