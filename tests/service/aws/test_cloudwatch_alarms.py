"""The alarms on running jobs, on CloudWatch's API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws
from mypy_boto3_cloudwatch import CloudWatchClient

from headway.jobpolicy.utilization import Alarm
from headway_service.aws.cloudwatch_alarms import CloudWatchAlarms
from headway_service.errors import RetryLater

TOPIC = "arn:aws:sns:eu-west-1:123456789012:headway-watch"
PREFIX = "headway-watch/"
ALARM = Alarm(
    attempt="nightly-2",
    watch="idle",
    number=3,
    namespace="/aws/sagemaker/TrainingJobs",
    metric="GPUUtilization",
    dimension="Host",
    threshold=8.0,
    period_s=300,
    periods=3,
)


@pytest.fixture
def client() -> Iterator[CloudWatchClient]:
    with mock_aws():
        yield boto3.client("cloudwatch", region_name="eu-west-1")


@pytest.fixture
def alarms(client: CloudWatchClient) -> CloudWatchAlarms:
    return CloudWatchAlarms(client, PREFIX, TOPIC)


def fire(client: CloudWatchClient, alarm: Alarm = ALARM) -> None:
    name = f"{PREFIX}{alarm.attempt}/{alarm.watch}/{alarm.number}"
    client.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="a test says so")


def test_an_alarm_looks_at_one_host_and_never_fires_for_want_of_figures(
    client: CloudWatchClient, alarms: CloudWatchAlarms
) -> None:
    alarms.put(ALARM)
    (made,) = client.describe_alarms()["MetricAlarms"]
    assert made["AlarmName"] == "headway-watch/nightly-2/idle/3"
    assert made["Dimensions"] == [{"Name": "Host", "Value": "nightly-2/algo-3"}]
    assert (made["Period"], made["EvaluationPeriods"], made["DatapointsToAlarm"]) == (300, 3, 3)
    assert (made["Threshold"], made["ComparisonOperator"], made["Statistic"]) == (8.0, "LessThanThreshold", "Average")
    assert (made["TreatMissingData"], made["AlarmActions"]) == ("notBreaching", [TOPIC])


def test_what_was_put_is_seen_as_it_was_put(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    alarms.put(ALARM)
    (seen,) = alarms.seen()
    assert (seen.alarm, seen.firing) == (ALARM, False)
    fire(client)
    (seen,) = alarms.seen("nightly-2")
    assert (seen.alarm, seen.firing) == (ALARM, True)


def test_putting_it_again_changes_it(alarms: CloudWatchAlarms) -> None:
    alarms.put(ALARM)
    changed = replace(ALARM, threshold=16.0)
    alarms.put(changed)
    assert [seen.alarm for seen in alarms.seen()] == [changed]


def test_alarms_of_others_are_neither_seen_nor_taken_for_ours(
    client: CloudWatchClient, alarms: CloudWatchAlarms
) -> None:
    CloudWatchAlarms(client, "other-watch/", TOPIC).put(ALARM)
    alarms.put(replace(ALARM, attempt="nightly-22"))
    assert len(alarms.seen()) == 1
    assert alarms.seen("nightly-2") == ()


def test_what_somebody_made_under_our_prefix_is_seen_as_nothing_of_ours(
    client: CloudWatchClient, alarms: CloudWatchAlarms
) -> None:
    client.put_metric_alarm(
        AlarmName=f"{PREFIX}mine",
        Namespace="N",
        MetricName="M",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanThreshold",
    )
    assert [(seen.name, seen.alarm) for seen in alarms.seen()] == [(f"{PREFIX}mine", None)]


def test_more_than_a_hundred_are_seen_and_deleted_over_several_pages(alarms: CloudWatchAlarms) -> None:
    for number in range(1, 131):
        alarms.put(replace(ALARM, number=number))
    names = {seen.name for seen in alarms.seen()}
    assert len(names) == 130
    alarms.delete(names)
    assert alarms.seen() == ()


def test_deleting_what_is_not_there_is_no_error(alarms: CloudWatchAlarms) -> None:
    alarms.delete(["headway-watch/gone/idle/1"])
    alarms.delete([])


@pytest.mark.parametrize(
    ("name", "attempt"),
    [
        ("headway-watch/nightly-2/idle/3", "nightly-2"),
        ("other-watch/nightly-2/idle/3", None),
        ("headway-watch/nightly-2", None),
        ("headway-watch/", None),
    ],
)
def test_the_attempt_is_told_by_the_name(alarms: CloudWatchAlarms, name: str, attempt: str | None) -> None:
    assert alarms.attempt_of(name) == attempt


@pytest.mark.parametrize("code", ["Throttling", "LimitExceeded", "InternalFailure"])
def test_what_passes_is_said_to_pass(client: CloudWatchClient, alarms: CloudWatchAlarms, code: str) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("put_metric_alarm", code)
        with pytest.raises(RetryLater, match="CloudWatch cannot answer now"):
            alarms.put(ALARM)


def test_a_lacking_permission_is_a_fault_and_stays_one(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("put_metric_alarm", "AccessDenied")
        with pytest.raises(ClientError, match="AccessDenied"):
            alarms.put(ALARM)
