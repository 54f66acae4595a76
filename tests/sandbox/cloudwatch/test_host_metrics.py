"""The utilization of hosts, as GetMetricData answers it: in training time, whatever the speed is."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.cloudwatch import host_metrics
from headway_sandbox.cloudwatch.alarm_evaluation import Metric, sample
from headway_sandbox.sagemaker.clock import Clock

BEGIN_S = 1_800_000_000.0
NAMESPACE = "/aws/sagemaker/TrainingJobs"
GPU = Metric(NAMESPACE, "GPUUtilization", frozenset({("Host", "j/algo-1")}))


def query(*, dimension: str = "Host", namespace: str = NAMESPACE, statistic: str = "Average") -> dict[str, Any]:
    dimensions = [{"Name": dimension, "Value": "j/algo-1"}]
    metric = {"Namespace": namespace, "MetricName": "GPUUtilization", "Dimensions": dimensions}
    return {"Id": "m0", "MetricStat": {"Metric": metric, "Period": 60, "Stat": statistic}}


@pytest.mark.parametrize(
    ("queries", "found"),
    [
        ([query()], [GPU]),
        ([query(), query(statistic="Maximum")], [GPU, GPU]),
        ([query(), query(dimension="TrainingJobName")], None),
        ([query(namespace="Headway")], None),
        ([query(statistic="p90")], None),
        ([], []),
    ],
)
def test_only_the_utilization_of_hosts_is_in_training_time(queries: list[dict[str, Any]], found: list[Metric] | None):
    assert host_metrics.metrics_in(queries) == found


@pytest.mark.parametrize("speed", [1.0, 60.0, 100.0])
def test_a_value_each_minute_of_training_time_is_a_value_of_each_period(speed: float):
    clock = Clock.starting(speed, BEGIN_S)
    samples = [sample(clock.machine_time(BEGIN_S + 60 * minute + 30), float(minute)) for minute in range(20)]
    found = host_metrics.series(samples, clock, start_s=BEGIN_S, end_s=BEGIN_S + 600, period_s=60, statistic="Average")
    assert [value for _, value in found] == list(range(10))
    assert [round(at_s - BEGIN_S) for at_s, _ in found] == [60 * minute for minute in range(10)]


@pytest.mark.parametrize(
    ("statistic", "values"), [("Average", [1.5, 4.0]), ("Maximum", [2.0, 4.0]), ("Sum", [3.0, 4.0])]
)
def test_the_values_of_a_period_are_one_and_its_begin_counts_as_a_whole(statistic: str, values: list[float]):
    samples = [sample(BEGIN_S + after_s, value) for after_s, value in [(-1, 9.0), (0, 1.0), (60, 2.0), (120, 4.0)]]
    found = host_metrics.series(
        samples, Clock(), start_s=BEGIN_S + 90, end_s=BEGIN_S + 300, period_s=120, statistic=statistic
    )
    assert found == [(BEGIN_S, values[0]), (BEGIN_S + 120, values[1])]
