"""Alarms on the utilization of training jobs, with real SDK clients: states, notifications, permissions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.local.sandbox import Sandbox
from tests.sandbox.fleets import on, request
from tests.sandbox.functions import make_function
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

# Forwards a topic's messages, and fails at the first attempt.
TOLD = """
import json, os
import boto3

def handler(event, context):
    boto3.client("sqs").send_message(QueueUrl=os.environ["TOLD"], MessageBody=json.dumps(event))
    raise RuntimeError("told to fail")
"""

# Puts of one alarm that may be throttled, each after three tries of the client.
THROTTLED_PUTS = 5


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with Sandbox(speed=60, deploy=False) as sandbox:
        yield sandbox


def allow(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **entry} for entry in statements]})


def make_queue(sb: Sandbox, name: str) -> tuple[str, str]:
    """Create a queue that topics may write to; return its URL and ARN."""
    sqs = sb.client("sqs")
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = allow({"Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    return url, arn


def received(sb: Sandbox, queue: str) -> list[dict[str, Any]]:
    found = sb.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])
    for message in found:
        sb.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in found]


def put_alarm(client: Any, name: str, *, host: str = "nobody/algo-1", **changes: Any) -> None:
    """Put an alarm on less than 8 % in three periods of ten seconds, once the account may put one more."""
    request_body = {
        "AlarmName": name,
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "GPUUtilization",
        "Dimensions": [{"Name": "Host", "Value": host}],
        "Statistic": "Average",
        "Period": 10,
        "EvaluationPeriods": 3,
        "Threshold": 8.0,
        "ComparisonOperator": "LessThanThreshold",
        **changes,
    }
    # The tests of this file share an account, which may put three alarms a second.
    for _ in range(THROTTLED_PUTS):
        try:
            client.put_metric_alarm(**request_body)
        except ClientError as error:
            if error.response["Error"]["Code"] != "Throttling":
                raise
            time.sleep(1)
        else:
            return
    raise AssertionError(f"CloudWatch throttled the alarm {name} {THROTTLED_PUTS} times.")


def state_of(sb: Sandbox, name: str) -> str:
    (alarm,) = sb.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
    state: str = alarm["StateValue"]
    return state


def actions_of(sb: Sandbox, name: str) -> list[str]:
    """Return the history of an alarm's actions, latest first."""
    history = sb.client("cloudwatch").describe_alarm_history(AlarmName=name, HistoryItemType="Action")
    return [entry["HistorySummary"] for entry in history["AlarmHistoryItems"]]


@pytest.fixture(scope="module", autouse=True)
def watched(sb) -> str:
    """The URL of the notified queue, with three jobs that are monitored during the other tests."""
    url, arn = make_queue(sb, "watched")
    topic = sb.client("sns").create_topic(Name="watched")["TopicArn"]
    sb.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    for name, instance_type, gpu in (
        ("idle", "ml.p5.48xlarge", "0:760,60:0"),
        ("one-of-eight", "ml.p5.48xlarge", "0:100"),
        ("trainium", "ml.trn1.32xlarge", "0:0"),
    ):
        environment = {"SANDBOX_RUN_SECONDS": "36000", "SANDBOX_GPU_UTILIZATION": gpu}
        limit = {"MaxRuntimeInSeconds": 86_400}
        changes = {"ResourceConfig": on(instance_type), "Environment": environment, "StoppingCondition": limit}
        sb.client("sagemaker").create_training_job(**request(name, **changes))
        put_alarm(sb.client("cloudwatch"), name, host=f"{name}/algo-1", AlarmActions=[topic], OKActions=[topic])
    return url


# ---------------------------------------------------------------------------------------------------------- requests


def test_requests_that_cloudwatch_refuses_are_refused(sb):
    client = sb.client("cloudwatch")
    for changes, message in (
        ({"Period": 15}, "Period must be 10, 20, 30 or a multiple of 60"),
        ({"DatapointsToAlarm": 4}, "must be less than or equal to EvaluationPeriods"),
        ({"AlarmActions": ["arn:aws:sns:eu-west-1:123456789012:t"] * 6}, "length less than or equal to 5"),
    ):
        with pytest.raises(ClientError, match=message) as refused:
            put_alarm(client, "refused", **changes)
        assert refused.value.response["Error"]["Code"] == "ValidationError"
    with pytest.raises(ClientError, match="length less than or equal to 100"):
        client.delete_alarms(AlarmNames=["a"] * 101)
    assert client.describe_alarms(AlarmNames=["refused"])["MetricAlarms"] == []


def test_alarms_are_listed_page_by_page(sb):
    client = sb.client("cloudwatch")
    names = [f"paged-{number}" for number in range(5)]
    for name in names:
        put_alarm(client, name)
    pages = client.get_paginator("describe_alarms").paginate(AlarmNamePrefix="paged-", PaginationConfig={"PageSize": 2})
    assert [[alarm["AlarmName"] for alarm in page["MetricAlarms"]] for page in pages] == [
        names[:2],
        names[2:4],
        names[4:],
    ]
    client.delete_alarms(AlarmNames=[*names, "nobody"])
    assert client.describe_alarms(AlarmNamePrefix="paged-")["MetricAlarms"] == []


def test_permission_is_checked_for_each_alarm(sb):
    every = "arn:aws:cloudwatch:eu-west-1:123456789012:alarm"
    mine = {"Action": ["cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms"], "Resource": f"{every}:mine-*"}
    look = {"Action": "cloudwatch:DescribeAlarms", "Resource": f"{every}:*"}
    key, secret = sb.make_user("watcher", json.loads(allow(mine, look)))
    client = sb.client("cloudwatch", access_key=key, secret_key=secret)
    put_alarm(client, "mine-1")
    assert len(client.describe_alarms(AlarmNamePrefix="mine-")["MetricAlarms"]) == 1
    for forbidden in (
        lambda: put_alarm(client, "other"),
        lambda: client.delete_alarms(AlarmNames=["mine-1", "idle"]),
        lambda: put_alarm(client, "mine-2", Tags=[{"Key": "team", "Value": "vision"}]),  # cloudwatch:TagResource
    ):
        with pytest.raises(ClientError) as denied:
            forbidden()
        assert denied.value.response["Error"]["Code"] in {"AccessDenied", "AccessDeniedException"}
    client.delete_alarms(AlarmNames=["mine-1", "mine-0"])
    assert state_of(sb, "idle")


# ----------------------------------------------------------------------------------------------------------- actions


def test_an_alarm_notifies_only_topics_that_permit_it(sb):
    sns, kms, root = sb.client("sns"), sb.client("kms"), {"AWS": "arn:aws:iam::123456789012:root"}
    url, queue = make_queue(sb, "told")
    service = {"Service": "cloudwatch.amazonaws.com"}
    owner = {"Principal": root, "Action": "kms:*", "Resource": "*"}
    grant = {"Principal": service, "Action": ["kms:Decrypt", "kms:GenerateDataKey*"], "Resource": "*"}
    closed = kms.create_key(Policy=allow(owner))["KeyMetadata"]["Arn"]
    opened = kms.create_key(Policy=allow(owner, grant))["KeyMetadata"]["Arn"]
    publish = {"Action": "sns:Publish", "Resource": "*"}
    by_people = {**publish, "Principal": root}
    by_alarms = {**publish, "Principal": service, "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}
    by_others = {**publish, "Principal": service, "Condition": {"StringEquals": {"aws:SourceAccount": "210987654321"}}}
    cases: list[tuple[str, dict[str, str], str | None]] = [
        ("default", {}, None),
        ("for-people", {"Policy": allow(by_people)}, "is not authorized to perform: SNS:Publish"),
        ("for-other-accounts", {"Policy": allow(by_others)}, "is not authorized to perform: SNS:Publish"),
        ("for-alarms", {"Policy": allow(by_people, by_alarms)}, None),
        ("managed-key", {"KmsMasterKeyId": "alias/aws/sns"}, "authorization to access the SNS topic encryption key"),
        ("closed-key", {"KmsMasterKeyId": closed}, "authorization to access the SNS topic encryption key"),
        ("open-key", {"KmsMasterKeyId": opened}, None),
    ]
    for name, attributes, trouble in cases:
        topic = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=queue)
        put_alarm(sb.client("cloudwatch"), name, InsufficientDataActions=[topic])
        for state in ("ALARM", "INSUFFICIENT_DATA"):
            sb.client("cloudwatch").set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")
        told = [json.loads(body["Message"])["AlarmName"] for body in received(sb, url)]
        if trouble is None:
            assert (told, actions_of(sb, name)) == ([name], [f"Successfully executed action {topic}"])
        else:
            assert told == []
            assert trouble in actions_of(sb, name)[0]


def test_a_topic_of_a_stack_is_also_encrypted(sb):
    properties = {"TopicName": "stacked", "KmsMasterKeyId": "alias/aws/sns"}
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": properties}}}
    formation = sb.client("cloudformation")
    formation.create_stack(StackName="topics", TemplateBody=json.dumps(template))
    until(lambda: formation.describe_stacks(StackName="topics")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE")
    topic = "arn:aws:sns:eu-west-1:123456789012:stacked"
    attributes = sb.client("sns").get_topic_attributes(TopicArn=topic)["Attributes"]
    assert attributes["KmsMasterKeyId"] == "alias/aws/sns"


def test_a_topic_invokes_a_function_with_permission_and_retries(sb):
    url, _arn = make_queue(sb, "handed-on")
    topic = sb.client("sns").create_topic(Name="functions")["TopicArn"]
    for name in ("closed", "told"):
        arn = make_function(sb, name, TOLD, actions=["sqs:SendMessage"], TOLD=url)
        sb.client("sns").subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn)
    sb.client("lambda").add_permission(
        FunctionName="told", StatementId="s", Action="lambda:InvokeFunction", Principal="sns.amazonaws.com",
        SourceArn=topic,
    )  # fmt: skip
    put_alarm(sb.client("cloudwatch"), "functions", AlarmActions=[topic])
    sb.client("cloudwatch").set_alarm_state(AlarmName="functions", StateValue="ALARM", StateReason="a test")
    events: list[dict[str, Any]] = []

    def tried() -> int:
        events.extend(received(sb, url))
        return len(events)

    until(lambda: tried() == 3)  # two retries follow an error
    (record,) = events[0]["Records"]
    assert (record["EventSource"], record["Sns"]["TopicArn"]) == ("aws:sns", topic)
    assert record["Sns"]["Subject"] == 'ALARM: "functions" in EU (Ireland)'
    message = json.loads(record["Sns"]["Message"])
    assert (message["AlarmName"], message["NewStateValue"], message["NewStateReason"]) == (
        "functions",
        "ALARM",
        "a test",
    )
    assert message["Trigger"]["Dimensions"] == [{"name": "Host", "value": "nobody/algo-1"}]
    assert events == [events[0]] * 3  # but not of the function without the permission

    def measured(metric: str, function: str) -> float:
        points = sb.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Lambda", MetricName=metric, Dimensions=[{"Name": "FunctionName", "Value": function}],
            StartTime=time.time() - 600, EndTime=time.time() + 60, Period=3600, Statistics=["Sum"],
        )["Datapoints"]  # fmt: skip
        return sum(float(point["Sum"]) for point in points)

    # Invocations are counted for any caller.
    until(lambda: measured("Invocations", "told") == 3)
    assert (measured("Errors", "told"), measured("Invocations", "closed")) == (3, 0)


# ------------------------------------------------------------------------------------------------------- evaluation


def test_an_idle_job_fires_and_neither_one_busy_gpu_of_eight_nor_trainium(sb, watched):
    told: list[dict[str, Any]] = []

    def changes() -> list[tuple[str, str, str]]:
        told.extend(json.loads(body["Message"]) for body in received(sb, watched))
        return [(each["AlarmName"], each["OldStateValue"], each["NewStateValue"]) for each in told]

    until(lambda: ("idle", "OK", "ALARM") in changes(), timeout_s=60.0)
    assert sorted(changes()) == [
        ("idle", "INSUFFICIENT_DATA", "OK"),
        ("idle", "OK", "ALARM"),
        ("one-of-eight", "INSUFFICIENT_DATA", "OK"),
    ]
    assert "3 out of the last 3 datapoints [0.0 (" in told[-1]["NewStateReason"]
    states = {name: state_of(sb, name) for name in ("idle", "one-of-eight", "trainium")}
    assert states == {"idle": "ALARM", "one-of-eight": "OK", "trainium": "INSUFFICIENT_DATA"}
    metrics = sb.client("cloudwatch").list_metrics(Namespace="/aws/sagemaker/TrainingJobs")["Metrics"]
    hosts = [each["Dimensions"][0]["Value"] for each in metrics if each["MetricName"] == "GPUUtilization"]
    assert sorted(hosts) == ["idle/algo-1", "one-of-eight/algo-1"]


def test_a_restart_keeps_states_and_repeats_no_notification(sb, watched):
    until(lambda: state_of(sb, "idle") == "ALARM", timeout_s=60.0)
    received(sb, watched)
    sb.restart()
    put_alarm(sb.client("cloudwatch"), "new", TreatMissingData="breaching")
    until(lambda: state_of(sb, "new") == "ALARM")  # so all alarms have been evaluated
    assert [state_of(sb, name) for name in ("idle", "one-of-eight")] == ["ALARM", "OK"]
    assert received(sb, watched) == []
