"""The alarms on running jobs, on CloudWatch's API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from mypy_boto3_cloudwatch import CloudWatchClient

from headway.jobpolicy.utilization import MAX_HOSTS, Alarm
from headway_service.aws.cloudwatch_alarms import MAX_NAME_CHARS, CloudWatchAlarms
from headway_service.errors import AlarmRefused, RetryLater

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


def test_an_alarm_covers_one_host_and_never_fires_without_data(
    client: CloudWatchClient, alarms: CloudWatchAlarms
) -> None:
    alarms.put(ALARM)
    (made,) = client.describe_alarms()["MetricAlarms"]
    assert made["AlarmName"] == "headway-watch/nightly-2/idle/3"
    assert made["Dimensions"] == [{"Name": "Host", "Value": "nightly-2/algo-3"}]
    assert (made["Period"], made["EvaluationPeriods"], made["DatapointsToAlarm"]) == (300, 3, 3)
    assert (made["Threshold"], made["ComparisonOperator"], made["Statistic"]) == (8.0, "LessThanThreshold", "Average")
    assert (made["TreatMissingData"], made["AlarmActions"]) == ("notBreaching", [TOPIC])


def test_an_alarm_is_read_as_it_was_put(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    alarms.put(ALARM)
    (seen,) = alarms.seen()
    assert (seen.alarm, seen.firing) == (ALARM, False)
    fire(client)
    (seen,) = alarms.seen("nightly-2")
    assert (seen.alarm, seen.firing) == (ALARM, True)


LONGEST = "s" * 128 + "-watch/"
"""The longest name of a stack, and what the template adds."""


@given(
    watches=st.sets(st.text("ab-._", min_size=40, max_size=63), min_size=2, max_size=4),
    attempts=st.sets(st.text("ab", min_size=55, max_size=63), min_size=2, max_size=2),
    number=st.integers(1, MAX_HOSTS),
)
@settings(max_examples=25)
def test_names_fit_and_differ_for_each_attempt_watch_and_host(
    watches: set[str], attempts: set[str], number: int
) -> None:
    with mock_aws():
        client = boto3.client("cloudwatch", region_name="eu-west-1")
        alarms = CloudWatchAlarms(client, LONGEST, TOPIC)
        wanted = {replace(ALARM, attempt=a, watch=w, number=number) for a in attempts for w in watches}
        for each in wanted:
            alarms.put(each)
        seen = alarms.seen()
        assert {each.alarm for each in seen} == wanted
        assert all(len(each.name) <= MAX_NAME_CHARS for each in seen)
        assert {alarms.attempt_of(each.name) for each in seen} == attempts
        for attempt in attempts:
            assert {each.alarm.attempt for each in alarms.seen(attempt) if each.alarm} == {attempt}


def test_watches_with_the_same_long_beginning_have_different_alarms(client: CloudWatchClient) -> None:
    alarms = CloudWatchAlarms(client, LONGEST, TOPIC)
    wanted = {replace(ALARM, attempt="a" * 63, watch="w" * 62 + end, number=MAX_HOSTS) for end in "xyz"}
    for each in wanted:
        alarms.put(each)
    seen = alarms.seen("a" * 63)
    assert {each.alarm for each in seen} == wanted
    assert {len(each.name) for each in seen} == {MAX_NAME_CHARS}


def test_a_shortened_name_with_another_description_is_foreign(client: CloudWatchClient) -> None:
    alarms = CloudWatchAlarms(client, LONGEST, TOPIC)
    alarms.put(replace(ALARM, attempt="a" * 63, watch="w" * 63))
    (made,) = client.describe_alarms()["MetricAlarms"]
    for description in ("Headway's watch `idle` on a/algo-1", "mine"):
        client.put_metric_alarm(
            AlarmName=made["AlarmName"],
            AlarmDescription=description,
            Namespace="N",
            MetricName="M",
            Dimensions=made["Dimensions"],
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
        )
        assert [each.alarm for each in alarms.seen()] == [None]


def test_a_repeated_put_replaces_the_alarm(alarms: CloudWatchAlarms) -> None:
    alarms.put(ALARM)
    changed = replace(ALARM, threshold=16.0)
    alarms.put(changed)
    assert [seen.alarm for seen in alarms.seen()] == [changed]


def test_alarms_of_others_are_ignored(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    CloudWatchAlarms(client, "other-watch/", TOPIC).put(ALARM)
    alarms.put(replace(ALARM, attempt="nightly-22"))
    assert len(alarms.seen()) == 1
    assert alarms.seen("nightly-2") == ()


def test_foreign_alarms_with_the_queues_prefix_are_ignored(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
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


def test_more_than_a_hundred_alarms_are_read_and_deleted_over_several_pages(alarms: CloudWatchAlarms) -> None:
    for number in range(1, 131):
        alarms.put(replace(ALARM, number=number))
    names = {seen.name for seen in alarms.seen()}
    assert len(names) == 130
    alarms.delete(names)
    assert alarms.seen() == ()


def test_deleting_a_missing_item_is_no_error(alarms: CloudWatchAlarms) -> None:
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
def test_the_alarm_name_identifies_the_attempt(alarms: CloudWatchAlarms, name: str, attempt: str | None) -> None:
    assert alarms.attempt_of(name) == attempt


@pytest.mark.parametrize("code", ["Throttling", "LimitExceeded", "InternalFailure"])
def test_transient_errors_are_retryable(client: CloudWatchClient, alarms: CloudWatchAlarms, code: str) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("put_metric_alarm", code)
        with pytest.raises(RetryLater, match="CloudWatch cannot answer now"):
            alarms.put(ALARM)


def test_a_missing_permission_is_raised_as_a_fault(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("put_metric_alarm", "AccessDenied")
        with pytest.raises(ClientError, match="AccessDenied"):
            alarms.put(ALARM)


def test_an_alarm_that_cloudwatch_does_not_take_is_refused(client: CloudWatchClient, alarms: CloudWatchAlarms) -> None:
    with Stubber(client) as stub:
        stub.add_client_error("put_metric_alarm", "ValidationError", "Namespace")
        with pytest.raises(AlarmRefused, match=r"CloudWatch refuses it: ValidationError \(HTTP 400\): Namespace"):
            alarms.put(ALARM)
