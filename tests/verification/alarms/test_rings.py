"""Which alarms of a template ring, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_sandbox.cloudwatch.alarm_evaluation import Metric, Sample, sample
from headway_sandbox.local.checkout import Checkout
from headway_verification.alarms.expressions import evaluated
from headway_verification.alarms.rings import Ring, all_rings, rings
from headway_verification.alarms.template import StackAlarm, alarms_of
from headway_verification.refusals.deployment import FUNCTIONS, NAMESPACES

HOUR_S = 3600.0
METRIC = Metric("Headway", "Startable", frozenset({("service", "headway")}))
FAILED, CALLS = (Metric("AWS/ApiGateway", name, frozenset({("ApiName", "headway")})) for name in ("5XXError", "Count"))


def alarm(**changes: object) -> StackAlarm:
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
    return StackAlarm.of(document)


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
    found = rings("it", alarm(**changes), {METRIC: samples}, begin_s=0.0, end_s=HOUR_S)
    assert list(found) == [Ring("it", since_s, until_s) for since_s, until_s in expected]


def test_the_first_that_rings_comes_first_and_another_metric_rings_nothing():
    other = alarm(MetricName="Stuck")
    alarms = {"late": alarm(EvaluationPeriods=9), "soon": alarm(), "other": other}
    found = all_rings(alarms, {METRIC: values(1, 5, 59)}, begin_s=0.0, end_s=HOUR_S)
    assert [each.alarm for each in found] == ["soon", "late"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("one", 6.0),
        ("missing", None),
        ("FILL(one, 0) + FILL(missing, 2)", 8.0),
        ("one + missing", None),
        ("SUM(METRICS())", 9.0),
        ("one / 2", 3.0),
        ("IF(one > 5 AND other < 4, 1, 0)", 1.0),
        ("IF(one > 5 AND other < 3, 1, 0)", 0.0),
        ("IF(missing > 5, 1, 0)", None),
        ("IF(missing > 5 AND one > 5, 1, 0)", None),
    ],
)
def test_an_expression_has_a_value_where_its_metrics_have(expression: str, value: float | None):
    assert evaluated(expression, {"one": 6.0, "other": 3.0, "missing": None}) == value


@pytest.mark.parametrize("expression", ["unknown", "MAX(one)", "one - 1", "one ** 2", "'text'"])
def test_an_expression_that_is_not_supported_is_an_error(expression: str):
    with pytest.raises(ValueError, match="not supported"):
        evaluated(expression, {"one": 1.0})


def test_an_expression_has_no_sum_of_nothing():
    assert evaluated("SUM(METRICS())", {"one": None}) is None


@pytest.mark.parametrize(("calls", "failed", "since_s"), [(600, 5, None), (400, 5, 600), (400, 4, None)])
def test_an_alarm_rings_by_an_expression_of_its_metrics(calls: int, failed: int, since_s: float | None):
    def part(key: str, metric: Metric) -> dict[str, object]:
        dimensions = [{"Name": name, "Value": value} for name, value in metric.dimensions]
        named = {"Namespace": metric.namespace, "MetricName": metric.name, "Dimensions": dimensions}
        return {"Id": key, "ReturnData": False, "MetricStat": {"Stat": "Sum", "Period": 300, "Metric": named}}

    compared = StackAlarm.of(
        {
            "Metrics": [
                {"Id": "all", "Expression": "IF(FILL(failed, 0) > 4 AND FILL(failed, 0) > FILL(calls, 0) / 100, 1, 0)"},
                part("failed", FAILED),
                part("calls", CALLS),
            ],
            "EvaluationPeriods": 1,
            "Threshold": 0,
            "ComparisonOperator": "GreaterThanThreshold",
            "TreatMissingData": "notBreaching",
        }
    )
    samples = {CALLS: [sample(540.0, calls)], FAILED: [sample(540.0 + second, 1) for second in range(failed)]}
    found = list(rings("it", compared, samples, begin_s=0.0, end_s=HOUR_S))
    assert found == ([] if since_s is None else [Ring("it", since_s, 900)])


def test_a_percentile_is_of_the_values_of_a_period():
    slow = alarm(Statistic=None, ExtendedStatistic="p90", Period=300, EvaluationPeriods=1, Threshold=4)
    for slow_ones, is_slow in ((5, False), (15, True)):
        values_s = [5.0] * slow_ones + [1.0] * (100 - slow_ones)
        samples = {METRIC: [sample(300.0 + number, value) for number, value in enumerate(values_s)]}
        assert bool(list(rings("it", slow, samples, begin_s=0.0, end_s=HOUR_S))) is is_slow


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
  ThrottledAlarm:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - { Id: all, Expression: SUM(METRICS()) }
        - Id: one
          ReturnData: false
          MetricStat:
            Stat: Sum
            Period: 60
            Metric:
              Namespace: AWS/Lambda
              MetricName: Throttles
              Dimensions: [{ Name: FunctionName, Value: !Ref ScheduleFunction }]
      EvaluationPeriods: 3
      Threshold: 0
      ComparisonOperator: GreaterThanThreshold
""",
        "utf-8",
    )
    found = alarms_of(template, namespaces=NAMESPACES, functions=["schedule"])
    assert found.keys() == {"QueueStalled", "ScheduleErrors", "Throttled"}
    assert found["QueueStalled"] == alarm()
    assert found["ScheduleErrors"].functions == found["Throttled"].functions == {"ScheduleFunction"}
    assert found["Throttled"].expression == "SUM(METRICS())"
    assert alarms_of(template).keys() == {*found, "WatchErrors", "Other"}


def test_the_alarms_of_the_deployment_are_found():
    found = alarms_of(Checkout.here().template(), namespaces=NAMESPACES, functions=FUNCTIONS)
    assert {"TickFailed", "QueueStalled", "GaugesMissing", "ScheduleFunctionErrors"} <= found.keys()
    assert not {"PatrolFunctionErrors", "WatchFunctionErrors", "FunctionsThrottled"} & found.keys()
