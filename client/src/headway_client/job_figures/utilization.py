"""The utilization of the hosts of a training job, from CloudWatch.

Source: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.advice import Host
from headway.jobpolicy.utilization import PUBLISHED_EVERY_S
from headway_client.job_figures.metric_data import metric_query, metric_results, period_of

MAX_HOSTS = 100
"""Maximum number of hosts whose metrics are read: four metrics each, and GetMetricData takes 500 in a call."""

MAX_POINTS = 200
"""Maximum number of values of a metric: a longer attempt has longer periods. A call returns up to 100,800."""

MAX_PAGES = 20
"""Maximum number of pages of one answer."""

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
    period_s = period_of(start_s, end_s, now_s, points=MAX_POINTS)
    queries = [
        metric_query(f"{training_job}/algo-{number}", f"h{number}m{which}", metric, statistic, period_s)
        for number in range(1, len(read) + 1)
        for which, (_, metric, statistic) in enumerate(_READ)
    ]
    values: dict[str, list[float]] = {query["Id"]: [] for query in queries}
    for result in metric_results(cloudwatch, queries, start_s=start_s, end_s=end_s, pages=MAX_PAGES):
        values[result["Id"]] += result["Values"]
    return tuple(_host(each, number, values, period_s) for number, each in enumerate(read, start=1))


def _host(instance_type: str, number: int, values: Mapping[str, Sequence[float]], period_s: int) -> Host:
    figures: dict[str, float] = {}
    for which, (field, _, statistic) in enumerate(_READ):
        found = values[f"h{number}m{which}"]
        if found:
            figures[field] = max(found) if statistic == "Maximum" else sum(found) / len(found)
    minutes = max(len(values[f"h{number}m{which}"]) for which in range(len(_READ))) * period_s // PUBLISHED_EVERY_S
    return Host(instance_type=instance_type, minutes=minutes, **figures)
