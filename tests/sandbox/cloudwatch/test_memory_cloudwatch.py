"""Alarms in memory, compared with those of the emulator: refusals and notifications."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.cloudwatch import alarm_requests
from headway_sandbox.cloudwatch.memory_cloudwatch import AlarmTransition, MemoryCloudWatch
from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import on, request

START_S = 1_800_000_000.0
TRAINS_S = START_S + 210
TOPIC = "arn:aws:sns:eu-west-1:123456789012:alarms"


def alarm(name: str = "idle", *, host: str = "train-1/algo-1", **changes: Any) -> dict[str, Any]:
    """A PutMetricAlarm request; a change to None leaves the member out."""
    document: dict[str, Any] = {
        "AlarmName": name,
        "Namespace": "/aws/sagemaker/TrainingJobs",
        "MetricName": "GPUUtilization",
        "Dimensions": [{"Name": "Host", "Value": host}],
        "Statistic": "Average",
        "Period": 300,
        "EvaluationPeriods": 3,
        "Threshold": 8.0,
        "ComparisonOperator": "LessThanThreshold",
        "TreatMissingData": "notBreaching",
        "AlarmActions": [TOPIC],
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def cloudwatch(gpu: str = "0:760", **changes: Any) -> MemoryCloudWatch:
    """Return a CloudWatch with a job of this utilization, created at the start."""
    fleet = FakeSageMaker()
    environment = {"SANDBOX_GPU_UTILIZATION": gpu, "SANDBOX_RUN_SECONDS": "36000"}
    limit = {"MaxRuntimeInSeconds": 86_400}
    fleet.create(request(Environment=environment, StoppingCondition=limit, **changes), now=START_S)
    return MemoryCloudWatch(fleet)


def evaluated(found: MemoryCloudWatch, until_s: float) -> list[AlarmTransition]:
    """Return all transitions of an evaluation each minute."""
    moments = range(int(START_S), int(until_s) + 1, 60)
    return [change for moment_s in moments for change in found.evaluate(moment_s)]


# ------------------------------------------------------------------------------------------------------------- states


def test_a_job_that_becomes_idle_late_is_notified_once():
    found = cloudwatch("0:760,7200:0")
    found.put(alarm(), now=START_S)
    changes = evaluated(found, TRAINS_S + 7200 + 1800)
    assert changes == [("idle", "INSUFFICIENT_DATA", "OK"), ("idle", "OK", "ALARM")]
    (shown,) = found.describe(state="ALARM")
    idle_s = shown["StateUpdatedTimestamp"] - TRAINS_S - 7200
    assert 840 <= idle_s <= 960  # three periods of five minutes, and the rest of a minute


@pytest.mark.parametrize(
    ("gpu", "changes", "instance_type", "expected"),
    [
        ("0:0", {}, "ml.p5.48xlarge", "ALARM"),
        ("0:100", {}, "ml.p5.48xlarge", "OK"),  # one of its eight GPUs is busy
        ("0:0", {}, "ml.trn1.32xlarge", "OK"),  # there is no such metric
        ("0:0", {"TreatMissingData": "missing"}, "ml.trn1.32xlarge", "INSUFFICIENT_DATA"),
        ("0:0", {"TreatMissingData": "breaching"}, "ml.trn1.32xlarge", "ALARM"),
        ("0:0", {"MetricName": "CPUUtilization"}, "ml.trn1.32xlarge", "OK"),
        ("0:0", {"Dimensions": []}, "ml.p5.48xlarge", "OK"),
        ("0:0", {"Dimensions": [{"Name": "Host", "Value": "train-1/algo-2"}]}, "ml.p5.48xlarge", "OK"),
        ("0:0", {"Dimensions": [{"Name": "Host", "Value": "train-2/algo-1"}]}, "ml.p5.48xlarge", "OK"),
        ("0:0", {"Namespace": "/aws/sagemaker/Endpoints"}, "ml.p5.48xlarge", "OK"),
        ("0:0", {"Unit": "Percent"}, "ml.p5.48xlarge", "ALARM"),
        ("0:0", {"Unit": "Count"}, "ml.p5.48xlarge", "OK"),  # another unit
    ],
)
def test_an_alarm_reads_only_its_own_metric(gpu, changes, instance_type, expected):
    found = cloudwatch(gpu, ResourceConfig=on(instance_type))
    found.put(alarm(**changes), now=START_S)
    evaluated(found, TRAINS_S + 3600)
    assert [each["StateValue"] for each in found.describe()] == [expected]


def test_an_alarm_outlives_its_job_and_keeps_its_state_when_it_is_put_again():
    found = cloudwatch("0:0")
    found.put(alarm(), now=START_S)
    evaluated(found, TRAINS_S + 3600)
    found.put(alarm(Threshold=5.0), now=TRAINS_S + 3600)
    (shown,) = found.describe()
    assert (shown["StateValue"], shown["Threshold"]) == ("ALARM", 5.0)
    evaluated(found, TRAINS_S + 36_000 + 3600)
    assert [each["StateValue"] for each in found.describe()] == ["OK"]
    found.delete(["idle", "nobody"], now=TRAINS_S)
    assert found.describe() == []
    assert found.evaluate(TRAINS_S + 100_000) == []


def test_a_transition_is_notified_in_cloudwatchs_format():
    found = cloudwatch("0:0")
    found.put(alarm(AlarmDescription="idle", DatapointsToAlarm=2, OKActions=[TOPIC]), now=START_S + 0.25)
    (change,) = evaluated(found, TRAINS_S + 1800)[1:]
    subject, message = found.notification(change, now=TRAINS_S + 900.5)
    assert subject == 'ALARM: "idle" in EU (Ireland)'
    document = json.loads(message)
    assert document.pop("NewStateReason").startswith("Threshold Crossed: 2 out of the last 3 datapoints [0.0 (")
    assert document == {
        "AlarmName": "idle",
        "AlarmDescription": "idle",
        "AWSAccountId": "123456789012",
        "AlarmConfigurationUpdatedTimestamp": "2027-01-15T08:00:00.250+0000",
        "NewStateValue": "ALARM",
        "StateChangeTime": "2027-01-15T08:18:30.500+0000",
        "Region": "EU (Ireland)",
        "AlarmArn": "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:idle",
        "OldStateValue": "OK",
        "OKActions": [TOPIC],
        "AlarmActions": [TOPIC],
        "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/TrainingJobs",
            "StatisticType": "Statistic",
            "Statistic": "AVERAGE",
            "Unit": None,
            "Dimensions": [{"value": "train-1/algo-1", "name": "Host"}],
            "Period": 300,
            "EvaluationPeriods": 3,
            "DatapointsToAlarm": 2,
            "ComparisonOperator": "LessThanThreshold",
            "Threshold": 8.0,
            "TreatMissingData": "notBreaching",
            "EvaluateLowSampleCountPercentile": "",
        },
    }


def test_the_subject_of_a_long_name_is_cut():
    found = cloudwatch("0:0")
    found.put(alarm("a" * 255, Statistic="SampleCount", Period=60), now=START_S)
    subject, message = found.notification(found.evaluate(START_S)[0], now=START_S)
    assert (len(subject), subject[-22:]) == (100, 'aa..." in EU (Ireland)')
    assert json.loads(message)["Trigger"]["Statistic"] == "SAMPLE_COUNT"


# ----------------------------------------------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"AlarmName": ""}, "Value '' at 'alarmName' failed to satisfy constraint: Member must have length greater"),
        ({"AlarmName": "a" * 256}, "at 'alarmName' failed to satisfy constraint: Member must have length less"),
        ({"Period": 0}, "Value '0' at 'period' failed to satisfy constraint: Member must have value greater than or"),
        ({"Period": 1}, "Period must be 10, 20, 30 or a multiple of 60"),
        ({"Period": 90}, "Period must be 10, 20, 30 or a multiple of 60"),
        ({"Period": 10, "EvaluationPeriods": 8641}, "checked across more than a day"),
        ({"Period": 3540, "EvaluationPeriods": 25}, "checked across more than a day"),
        ({"Period": 3600, "EvaluationPeriods": 169}, "checked across more than a week"),
        ({"EvaluationPeriods": 0}, "Value '0' at 'evaluationPeriods'"),
        ({"DatapointsToAlarm": 0}, "Value '0' at 'datapointsToAlarm'"),
        ({"DatapointsToAlarm": 4}, "DatapointsToAlarm must be less than or equal to EvaluationPeriods"),
        (
            {"TreatMissingData": "notbreaching"},
            "The value notbreaching for parameter TreatMissingData is not supported",
        ),
        ({"Statistic": "Median"}, "Member must satisfy enum value set"),
        ({"ComparisonOperator": "Less"}, "Member must satisfy enum value set"),
        ({"ComparisonOperator": "LessThanLowerThreshold"}, "Sandbox: LessThanLowerThreshold, for anomaly detection"),
        ({"AlarmActions": [TOPIC] * 6}, "at 'alarmActions' failed to satisfy constraint: Member must have length less"),
        ({"OKActions": ["alarms"]}, "Invalid arn syntax: alarms"),
        ({"Namespace": ":x"}, "at 'namespace' failed to satisfy constraint: Member must satisfy regular expression"),
        ({"Dimensions": [{"Name": "Host", "Value": "x"}] * 31}, "at 'dimensions' failed to satisfy constraint"),
        ({"Threshold": None, "Period": None}, "An alarm on a metric needs Period, Threshold"),
        ({"Metrics": [{"Id": "m1"}]}, "Sandbox: alarms do not support Metrics here"),
        ({"ExtendedStatistic": "p99"}, "Sandbox: alarms do not support ExtendedStatistic here"),
    ],
)
def test_an_alarm_that_cloudwatch_refuses_is_refused(changes, message):
    with pytest.raises(AwsError) as refused:
        alarm_requests.check("PutMetricAlarm", alarm(**changes))
    assert refused.value.code == "ValidationError"
    assert message in refused.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"Period": 10},
        {"Period": 20},
        {"Period": 30},
        {"Period": 60, "EvaluationPeriods": 1440},
        {"Period": 3600, "EvaluationPeriods": 168},
        {"DatapointsToAlarm": 3},
        {"AlarmName": "a" * 255, "AlarmActions": [TOPIC] * 5},
        {"TreatMissingData": None, "Dimensions": None},
    ],
)
def test_an_alarm_at_the_limits_is_accepted(changes):
    alarm_requests.check("PutMetricAlarm", alarm(**changes))


@pytest.mark.parametrize(
    ("operation", "body", "code"),
    [
        ("DescribeAlarms", {"MaxRecords": 0}, "ValidationError"),
        ("DescribeAlarms", {"MaxRecords": 101}, "ValidationError"),
        ("DescribeAlarms", {"AlarmNames": ["a"] * 101}, "ValidationError"),
        ("DescribeAlarms", {"StateValue": "BUSY"}, "ValidationError"),
        ("DescribeAlarms", {"AlarmNames": ["a"], "AlarmNamePrefix": "a"}, "InvalidParameterCombination"),
        ("DeleteAlarms", {"AlarmNames": ["a"] * 101}, "ValidationError"),
        ("DeleteAlarms", {}, "ValidationError"),
        ("PutDashboard", {}, "UnknownOperationException"),
    ],
)
def test_other_requests_are_also_refused(operation, body, code):
    with pytest.raises(AwsError) as refused:
        cloudwatch().call(operation, body, now=START_S)
    assert refused.value.code == code


def query(key: str = "m0", metric: str = "epoch", *, period_s: int = 60, job: str = "train-1") -> dict[str, Any]:
    dimensions = [{"Name": "TrainingJobName", "Value": job}]
    of = {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": metric, "Dimensions": dimensions}
    return {"Id": key, "MetricStat": {"Metric": of, "Period": period_s, "Stat": "Average"}}


def metric_data(*queries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"MetricDataQueries": list(queries), "StartTime": START_S, "EndTime": START_S + 600, **changes}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (metric_data(*[query(f"m{number}") for number in range(501)]), "must not have a size greater than 500"),
        (metric_data(query("M0")), "begin with a lower-case letter"),
        (metric_data(query(), query()), "no two are the same"),
        (metric_data(query(period_s=90)), "Period must be 1, 5, 10, 20, 30 or a multiple of 60"),
        (metric_data({"Id": "m0", "Expression": "m1 + 1"}), "queries are for a metric"),
        (metric_data(query(), EndTime=START_S), "StartTime must be less than"),
    ],
)
def test_a_query_of_metrics_that_cloudwatch_refuses_is_refused(body: dict[str, Any], message: str):
    with pytest.raises(AwsError, match=message) as refused:
        cloudwatch().call("GetMetricData", body, now=START_S + 900)
    assert refused.value.code == "ValidationError"


def test_the_script_of_a_timer_prints_its_numeric_hyperparameters_and_its_epochs():
    found = cloudwatch(HyperParameters={"lr": "0.5", "optimizer": "adam"})
    queries = [query("m0"), query("m1", "lr"), query("m2", "optimizer"), query("m3", job="other")]
    answer = found.call("GetMetricData", metric_data(*queries), now=START_S + 400)
    series = {each["Id"]: each["Values"] for each in answer["MetricDataResults"]}
    assert series == {"m0": [0, 1, 2, 3], "m1": [0.5] * 4, "m2": [], "m3": []}
    assert [each - TRAINS_S for each in answer["MetricDataResults"][0]["Timestamps"]] == [-30, 30, 90, 150]


def test_values_of_a_longer_period_are_averaged():
    answer = cloudwatch().call("GetMetricData", metric_data(query(period_s=180)), now=START_S + 400)
    assert answer["MetricDataResults"][0]["Values"] == [1, 3]


def test_too_many_calls_at_once_are_refused_if_there_are_rates():
    found = MemoryCloudWatch(FakeSageMaker(), rates=alarm_requests.RATES)
    for number in range(10):
        found.put(alarm(f"a{number}"), now=START_S)
    with pytest.raises(AwsError) as refused:
        found.put(alarm("one-more"), now=START_S)
    assert refused.value.code == "Throttling"
    found.put(alarm("one-more"), now=START_S + 0.4)
    assert len(found.describe()) == 11


# ------------------------------------------------------------------------------------------------- before the SDK


def client_of(found: MemoryCloudWatch) -> Any:
    return stub_client("cloudwatch", lambda operation, body: found.call(operation, body, now=START_S))


def test_boto3_gets_alarms_page_by_page_in_the_order_of_their_names():
    found = cloudwatch()
    client = client_of(found)
    names = [f"headway-{number:03}" for number in range(120)]
    for name in reversed([*names, "other"]):
        client.put_metric_alarm(**alarm(name))
    pages = list(client.get_paginator("describe_alarms").paginate(AlarmNamePrefix="headway-"))
    assert [len(page["MetricAlarms"]) for page in pages] == [50, 50, 20]
    assert [each["AlarmName"] for page in pages for each in page["MetricAlarms"]] == names
    few = client.get_paginator("describe_alarms").paginate(PaginationConfig={"PageSize": 100})
    assert [len(page["MetricAlarms"]) for page in few] == [100, 21]


def test_boto3_gets_an_alarm_as_cloudwatch_describes_it():
    client = client_of(cloudwatch())
    client.put_metric_alarm(**alarm(Tags=[{"Key": "team", "Value": "vision"}]))
    (shown,) = client.describe_alarms(AlarmNames=["idle", "nobody"])["MetricAlarms"]
    times = {name: shown.pop(name).timestamp() for name in list(shown) if name.endswith("Timestamp")}
    assert times == {"AlarmConfigurationUpdatedTimestamp": START_S, "StateUpdatedTimestamp": START_S}
    assert shown == {
        **alarm(),
        "ActionsEnabled": True,
        "OKActions": [],
        "InsufficientDataActions": [],
        "AlarmArn": "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:idle",
        "StateValue": "INSUFFICIENT_DATA",
        "StateReason": "Unchecked: Initial alarm creation",
    }


def test_boto3_gets_errors_as_aws_names_them():
    client = client_of(cloudwatch())
    with pytest.raises(ClientError, match="Period must be") as refused:
        client.put_metric_alarm(**alarm(Period=17))
    assert refused.value.response["Error"]["Code"] == "ValidationError"
    client.delete_alarms(AlarmNames=["nobody"])
