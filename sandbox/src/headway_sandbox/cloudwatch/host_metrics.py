"""GetMetricData on the utilization of hosts of training jobs, in training time.

Alarms have periods of machine time, so samples are kept in that. A user compares them with the times of
DescribeTrainingJob, which are in training time, and an hour at speed 60 has sixty values, not one. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway_sandbox.cloudwatch.alarm_evaluation import STATISTICS, Metric, Sample, statistic_of
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.telemetry import utilization


def metrics_in(queries: Iterable[Mapping[str, Any]]) -> list[Metric] | None:
    """Return the metrics of queries; None if one of them is not the utilization of a host, or has another statistic.

    Args:
        queries: MetricDataQueries, as `alarm_requests.check` has accepted them.
    """
    found = []
    for query in queries:
        metric = query["MetricStat"]["Metric"]
        dimensions = [(each["Name"], each["Value"]) for each in metric.get("Dimensions") or []]
        if metric["Namespace"] != utilization.NAMESPACE or [name for name, _ in dimensions] != [utilization.DIMENSION]:
            return None
        if query["MetricStat"]["Stat"] not in STATISTICS:
            return None
        found.append(Metric(metric["Namespace"], metric["MetricName"], frozenset(dimensions)))
    return found


def series(
    samples: Iterable[Sample], clock: Clock, *, start_s: float, end_s: float, period_s: int, statistic: str
) -> list[tuple[float, float]]:
    """Return the periods that have samples, each with its begin and its value; times are training time.

    Args:
        samples: The samples, in machine time.
        clock: Converts their times.
        start_s: Begin of the range, s since the epoch; the period in which it begins counts as a whole.
        end_s: End of the range, exclusive.
        period_s: Length of a period.
        statistic: Such as Average.
    """
    start_s -= start_s % period_s
    periods: dict[float, list[Sample]] = {}
    for each in samples:
        at_s = clock.training_time(each.time_s)
        if start_s <= at_s < end_s:
            periods.setdefault(at_s - at_s % period_s, []).append(each)
    return [(begin_s, statistic_of(statistic, found)) for begin_s, found in sorted(periods.items())]


def result(query: Mapping[str, Any], found: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return a MetricDataResult without the format of its times.

    Args:
        found: What `series` returned.
    """
    return {
        "Id": query["Id"],
        "Label": query.get("Label", query["Id"]),
        "Timestamps": [begin_s for begin_s, _ in found],
        "Values": [value for _, value in found],
        "StatusCode": "Complete",
    }
