"""The utilization of the hosts of a training job, from CloudWatch.

Sources: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch"; CloudWatch API reference, GetMetricData.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from math import ceil
from typing import Any

from headway.advice import Host
from headway.jobpolicy.utilization import HOST, PUBLISHED_EVERY_S, TRAINING_JOBS

MAX_HOSTS = 100
"""Maximum number of hosts whose metrics are read: four metrics each, and GetMetricData takes 500 in a call."""

MAX_POINTS = 200
"""Maximum number of values of a metric: a longer attempt has longer periods. A call returns up to 100,800."""

MAX_PAGES = 20
"""Maximum number of pages of one answer."""

_DAY_S = 86_400
_KEPT = ((PUBLISHED_EVERY_S, 15 * _DAY_S), (300, 63 * _DAY_S))
_LONGEST_S = 3600
"""How long CloudWatch keeps values of a period; after that only longer ones (API reference, MetricStat: Period)."""

# Field of `Host`, metric, statistic.
_READ = (
    ("cpu_percent", "CPUUtilization", "Average"),
    ("gpu_percent", "GPUUtilization", "Average"),
    ("gpu_peak_percent", "GPUUtilization", "Maximum"),
    ("gpu_memory_peak_percent", "GPUMemoryUtilization", "Maximum"),
)


def read_hosts(
    cloudwatch: Any, training_job: str, types: Sequence[str], *, start_s: float, end_s: float, now_s: float
) -> tuple[Host, ...]:
    """Read the utilization of the first hosts of a training job.

    Args:
        cloudwatch: a boto3 client of CloudWatch.
        training_job: the name of the training job.
        types: the instance type of each host, in the order in which SageMaker numbers them.
        start_s: when the training began, s since 1970.
        end_s: until when, s since 1970.
        now_s: the current time, s since 1970.

    Raises:
        botocore.exceptions.ClientError: AWS refuses the call.
    """
    read = types[:MAX_HOSTS]
    period_s = _period_s(start_s, end_s, now_s)
    queries = [
        _query(f"{training_job}/algo-{number}", f"h{number}m{which}", metric, statistic, period_s)
        for number in range(1, len(read) + 1)
        for which, (_, metric, statistic) in enumerate(_READ)
    ]
    values: dict[str, list[float]] = {query["Id"]: [] for query in queries}
    for result in _results(cloudwatch, queries, start_s, end_s):
        values[result["Id"]] += result["Values"]
    return tuple(_host(each, number, values, period_s) for number, each in enumerate(read, start=1))


def _period_s(start_s: float, end_s: float, now_s: float) -> int:
    age_s = now_s - start_s
    shortest_s = next((period_s for period_s, kept_s in _KEPT if age_s <= kept_s), _LONGEST_S)
    return shortest_s * max(1, ceil((end_s - start_s) / shortest_s / MAX_POINTS))


def _query(host: str, query_id: str, metric: str, statistic: str, period_s: int) -> dict[str, Any]:
    named = {"Namespace": TRAINING_JOBS, "MetricName": metric, "Dimensions": [{"Name": HOST, "Value": host}]}
    return {"Id": query_id, "MetricStat": {"Metric": named, "Period": period_s, "Stat": statistic}}


def _results(
    cloudwatch: Any, queries: Sequence[Mapping[str, Any]], start_s: float, end_s: float
) -> Iterator[Mapping[str, Any]]:
    if not queries:
        return
    times = {"StartTime": datetime.fromtimestamp(start_s, UTC), "EndTime": datetime.fromtimestamp(end_s, UTC)}
    pages = cloudwatch.get_paginator("get_metric_data").paginate(MetricDataQueries=queries, **times)
    for page in islice(pages, MAX_PAGES):
        yield from page["MetricDataResults"]


def _host(instance_type: str, number: int, values: Mapping[str, Sequence[float]], period_s: int) -> Host:
    figures: dict[str, float] = {}
    for which, (field, _, statistic) in enumerate(_READ):
        found = values[f"h{number}m{which}"]
        if found:
            figures[field] = max(found) if statistic == "Maximum" else sum(found) / len(found)
    minutes = max(len(values[f"h{number}m{which}"]) for which in range(len(_READ))) * period_s // PUBLISHED_EVERY_S
    return Host(instance_type=instance_type, minutes=minutes, **figures)
