"""Requests for the metrics of a training job's hosts, and their answers.

Source: CloudWatch API reference, GetMetricData.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from math import ceil
from typing import Any

from headway.jobpolicy.utilization import HOST, PUBLISHED_EVERY_S, TRAINING_JOBS

_DAY_S = 86_400
_KEPT = ((PUBLISHED_EVERY_S, 15 * _DAY_S), (300, 63 * _DAY_S))
_LONGEST_S = 3600
"""How long CloudWatch keeps values of a period; after that only longer ones (API reference, MetricStat: Period)."""


def period_of(start_s: float, end_s: float, now_s: float, *, points: int) -> int:
    """Return the shortest period that CloudWatch has, and that gives no more than some values, s.

    Args:
        start_s: when the values begin, s since 1970.
        end_s: when they end, s since 1970.
        now_s: the current time, s since 1970.
        points: maximum number of values.
    """
    age_s = now_s - start_s
    shortest_s = next((period_s for period_s, kept_s in _KEPT if age_s <= kept_s), _LONGEST_S)
    return shortest_s * max(1, ceil((end_s - start_s) / shortest_s / points))


def metric_query(host: str, query_id: str, metric: str, statistic: str, period_s: int) -> dict[str, Any]:
    """Return the query for a metric of a host.

    Args:
        host: such as ``job/algo-1``.
        query_id: under which the answer has its values.
        metric: the name of the metric.
        statistic: such as ``Average``.
    """
    named = {"Namespace": TRAINING_JOBS, "MetricName": metric, "Dimensions": [{"Name": HOST, "Value": host}]}
    return {"Id": query_id, "MetricStat": {"Metric": named, "Period": period_s, "Stat": statistic}}


def metric_results(
    cloudwatch: Any, queries: Sequence[Mapping[str, Any]], *, start_s: float, end_s: float, pages: int
) -> Iterator[Mapping[str, Any]]:
    """Yield the results of queries; without queries nothing is requested.

    Args:
        cloudwatch: a boto3 client of CloudWatch.
        start_s: when the values begin, s since 1970.
        end_s: when they end, s since 1970.
        pages: maximum number of pages.

    Raises:
        botocore.exceptions.ClientError: AWS refuses the call.
    """
    if not queries:
        return
    times = {"StartTime": datetime.fromtimestamp(start_s, UTC), "EndTime": datetime.fromtimestamp(end_s, UTC)}
    found = cloudwatch.get_paginator("get_metric_data").paginate(MetricDataQueries=queries, **times)
    for page in islice(found, pages):
        yield from page["MetricDataResults"]
