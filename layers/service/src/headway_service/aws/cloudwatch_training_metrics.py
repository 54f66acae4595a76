"""The metrics that training jobs report, in CloudWatch.

Source: SageMaker guide, "Monitor and Analyze Training Jobs Using Amazon CloudWatch Metrics"; the SDK's
``sagemaker.analytics.TrainingJobAnalytics`` has the namespace and the dimension. GetMetricData is billed by the number
of metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from headway.jobpolicy.utilization import TRAINING_JOBS
from headway_service.aws.transient_errors import raise_retry_later
from headway_service.errors import MetricsRefused
from headway_service.observability.logging import logger
from headway_service.ports.training_metrics import MAX_METRICS, JobMetric, Series
from headway_service.response_check import check_answers, member

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef, MetricDataResultTypeDef

_DIMENSION = "TrainingJobName"

MAX_PAGES = 5
"""Pages that are read of an answer, of up to 100,800 values each (API reference). What is left out is not known."""

_retry_later = partial(raise_retry_later, "CloudWatch", refused=MetricsRefused)


class CloudWatchTrainingMetrics:
    """:class:`headway_service.ports.training_metrics.TrainingMetrics` on CloudWatch.

    Args:
        client: of CloudWatch.
    """

    def __init__(self, client: CloudWatchClient) -> None:
        self._client = check_answers(client)

    def read(
        self, metrics: Sequence[JobMetric], *, since_s: int, until_s: int, period_s: int
    ) -> Mapping[JobMetric, Series]:
        """See :class:`headway_service.ports.training_metrics.TrainingMetrics`."""
        if len(metrics) > MAX_METRICS:
            raise ValueError(f"{len(metrics)} metrics; a call takes {MAX_METRICS}")
        # An ID begins with a lower-case letter, and two metrics have different ones (API reference, MetricDataQuery).
        wanted = {f"m{number}": each for number, each in enumerate(metrics)}
        found: dict[str, list[tuple[int, float]]] = {each: [] for each in wanted}
        complete: set[str] = set()
        pages = self._client.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[_query(key, each, period_s) for key, each in wanted.items()],
            StartTime=datetime.fromtimestamp(since_s, UTC),
            EndTime=datetime.fromtimestamp(until_s, UTC),
        )
        with _retry_later():
            for number, page in enumerate(pages):
                if number == MAX_PAGES:
                    logger.warning("metrics have more values than are read", extra={"metrics": len(metrics)})
                    return {}
                for result in member(page, "MetricDataResults"):
                    key = result.get("Id", "")
                    if key in found:
                        found[key] += _values(result)
                        # PartialData: more values come with the next page, or cannot be had (API reference).
                        (complete.add if result.get("StatusCode") == "Complete" else complete.discard)(key)
        return {wanted[key]: tuple(sorted(found[key])) for key in complete}


def _query(key: str, metric: JobMetric, period_s: int) -> MetricDataQueryTypeDef:
    return {
        "Id": key,
        "MetricStat": {
            "Metric": {
                "Namespace": TRAINING_JOBS,
                "MetricName": metric.metric,
                "Dimensions": [{"Name": _DIMENSION, "Value": metric.training_job}],
            },
            "Period": period_s,
            "Stat": "Average",
        },
        "ReturnData": True,
    }


def _values(result: MetricDataResultTypeDef) -> list[tuple[int, float]]:
    times = [int(each.timestamp()) for each in result.get("Timestamps", ())]
    return list(zip(times, result.get("Values", ()), strict=True))
