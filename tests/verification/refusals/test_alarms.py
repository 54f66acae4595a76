"""Which alarms of a template ring, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox.cloudwatch.alarm_evaluation import AlarmSettings, Metric, Sample, sample
from headway_sandbox.local.checkout import Checkout
from headway_verification.refusals.alarms import Ring, alarms_of, all_rings, rings
from headway_verification.refusals.deployment import FUNCTIONS

HOUR_S = 3600.0
METRIC = Metric("Headway", "Startable", frozenset({("service", "headway")}))


def alarm(**changes: object) -> AlarmSettings:
    document = {
        "Namespace": "Headway",
        "MetricName": "Startable",
        "Dimensions": [{"Name": "service", "Value": "headway"}],
        "Statistic": "Minimum",
        "Period": 60,
        "EvaluationPeriods": 3,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "TreatMissingData": "notBreaching",
        **changes,
    }
    settings = AlarmSettings.of(document)
    assert settings is not None
    return settings


def values(value: float, first: int, last: int, until: int = 60) -> list[Sample]:
    """A value in the middle of each of some minutes, and 0 in those after."""
    return [sample(60.0 * minute + 30, value if minute <= last else 0.0) for minute in range(first, until + 1)]


@pytest.mark.parametrize(
    ("changes", "samples", "expected"),
    [
        pytest.param({}, values(1, 5, 9), [(480, 660)], id="while three minutes in a row are above the threshold"),
        pytest.param({}, values(1, 5, 6), [], id="not after two"),
        pytest.param({}, values(0, 5, 9), [], id="not at the threshold"),
        pytest.param({}, [*values(1, 1, 2, until=3), *values(1, 4, 5)], [], id="not with one below among them"),
        pytest.param({"DatapointsToAlarm": 2}, values(1, 5, 6), [(420, 540)], id="after as many as it wants"),
        pytest.param({}, values(1, 50, 60), [(53 * 60, None)], id="until now"),
        pytest.param(
            {"TreatMissingData": "breaching", "ComparisonOperator": "LessThanThreshold", "Threshold": 1},
            values(1, 0, 9, until=9),
            [(0, 60), (900, None)],
            id="where missing data counts: before the first, and when none of the range is left",
        ),
        pytest.param(
            {"Statistic": "Sum", "Period": 300, "EvaluationPeriods": 1, "Threshold": 4},
            values(1, 5, 9),
            [(600, 660)],
            id="by the sum of a longer period",
        ),
    ],
)
def test_an_alarm_rings(changes: dict[str, object], samples: list[Sample], expected: list[tuple[float, float | None]]):
    found = rings("it", alarm(**changes), samples, begin_s=0.0, end_s=HOUR_S)
    assert list(found) == [Ring("it", since_s, until_s) for since_s, until_s in expected]


def test_the_first_that_rings_comes_first_and_another_metric_rings_nothing():
    other = alarm(MetricName="Stuck")
    alarms = {"late": alarm(EvaluationPeriods=9), "soon": alarm(), "other": other}
    found = all_rings(alarms, {METRIC: values(1, 5, 59)}, begin_s=0.0, end_s=HOUR_S)
    assert [each.alarm for each in found] == ["soon", "late"]


def test_the_alarms_of_a_template_have_its_settings(tmp_path: Path):
    template = tmp_path / "template.yaml"
    template.write_text(
        """
Resources:
  Queue: { Type: AWS::SQS::Queue }
  QueueStalledAlarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: Headway
      MetricName: Startable
      Dimensions: [{ Name: service, Value: !Ref AWS::StackName }]
      Statistic: Minimum
      Period: 60
      EvaluationPeriods: 3
      Threshold: 0
      ComparisonOperator: GreaterThanThreshold
      TreatMissingData: notBreaching
      AlarmActions: !If [HasAlarmTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]
  ScheduleErrorsAlarm: &errors
    Type: AWS::CloudWatch::Alarm
    Properties: &properties
      Namespace: AWS/Lambda
      MetricName: Errors
      Dimensions: [{ Name: FunctionName, Value: !Ref ScheduleFunction }]
      Statistic: Sum
      Period: 60
      EvaluationPeriods: 1
      Threshold: 0
      ComparisonOperator: GreaterThanThreshold
  WatchErrorsAlarm:
    <<: *errors
    Properties:
      <<: *properties
      Dimensions: [{ Name: FunctionName, Value: !Ref WatchFunction }]
  OtherAlarm:
    Type: AWS::CloudWatch::Alarm
    Properties: { <<: *properties, Namespace: AWS/SQS }
  MathAlarm:
    Type: AWS::CloudWatch::Alarm
    Properties: { Metrics: [] }
""",
        "utf-8",
    )
    found = alarms_of(template, ["schedule"])
    assert found.keys() == {"QueueStalled", "ScheduleErrors"}
    assert found["QueueStalled"] == alarm()
    assert found["ScheduleErrors"].metric.dimensions == {("FunctionName", "ScheduleFunction")}


def test_the_alarms_of_the_deployment_are_found():
    found = alarms_of(Checkout.here().template(), FUNCTIONS)
    assert {"TickFailed", "QueueStalled", "GaugesMissing", "ScheduleFunctionErrors"} <= found.keys()
    assert not any("Patrol" in name or "Watch" in name for name in found)
