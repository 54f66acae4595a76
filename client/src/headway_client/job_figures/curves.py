"""The utilization of an attempt over time, as a few curves for people.

Source: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch": the values of a host are the sums over its
processors, 0 to 100 for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.instances import spec_of
from headway.pool_names import on_demand_pool
from headway_client.job_figures.metric_data import metric_query, metric_results, period_of
from headway_client.job_figures.training_job import types_of
from headway_client.models import Attempt, JobDetails

MAX_CURVE_HOSTS = 8
"""Maximum number of hosts whose metrics are read for curves: four metrics each, billed by CloudWatch in each read."""

MAX_CURVE_POINTS = 60
"""Maximum number of values of a curve: a longer attempt has longer periods."""

# Name of the curve, metric, and what its values are sums over.
_CURVES = (
    ("GPU", "GPUUtilization", "gpus"),
    ("GPU memory", "GPUMemoryUtilization", "gpus"),
    ("CPU", "CPUUtilization", "vcpus"),
    ("Memory", "MemoryUtilization", ""),
)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Values over time.

    Attributes:
        name: what is used.
        percent: the share that is used in each period, the average over hosts; None where there is no value. More than
            100 only if the instance type is not known.
    """

    name: str
    percent: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """The utilization of an attempt.

    Attributes:
        attempt: the attempt.
        start_s: when the first period begins, s since 1970.
        period_s: the length of a period, s.
        hosts: how many hosts the values are of.
        of_hosts: how many the attempt has.
        curves: those with values.
    """

    attempt: str
    start_s: float
    period_s: int
    hosts: int
    of_hosts: int
    curves: tuple[Curve, ...]


def host_types(job: JobDetails, attempt: Attempt) -> tuple[str | None, ...]:
    """Return the instance type of each host, in the order in which SageMaker numbers them; None where it is not known.

    Args:
        attempt: one of its attempts.
    """
    demand = attempt.demand or job.demand
    types = Counter({on_demand_pool(pool): 0 for pool in demand})
    for pool, count in demand.items():
        types[on_demand_pool(pool)] += count
    if len(types) == 1:
        return tuple(types.elements())
    # Hosts of several groups are numbered by group. Of an alternative, the request may have other groups.
    numbered = types_of(job.request.get("ResourceConfig") or {})
    return numbered if Counter(numbered) == types else (None,) * types.total()


def read_curves(
    cloudwatch: Any, attempt: str, types: Sequence[str | None], *, start_s: float, end_s: float, now_s: float
) -> Curves:
    """Read the utilization of the first hosts of an attempt, in one call.

    Args:
        cloudwatch: a boto3 client of CloudWatch.
        attempt: the name of the training job.
        types: the instance type of each host; None where it is not known.
        start_s: when the attempt started, s since 1970.
        end_s: until when, s since 1970.
        now_s: the current time, s since 1970.

    Raises:
        botocore.exceptions.ClientError: AWS refuses the call.
    """
    read = types[:MAX_CURVE_HOSTS]
    period_s = period_of(start_s, end_s, now_s, points=MAX_CURVE_POINTS)
    # CloudWatch's periods begin at multiples of their length.
    first_s = start_s // period_s * period_s
    queries = [
        metric_query(f"{attempt}/algo-{number}", f"h{number}m{which}", metric, "Average", period_s)
        for number in range(1, len(read) + 1)
        for which, (_, metric, _) in enumerate(_CURVES)
    ]
    results = {
        result["Id"]: result for result in metric_results(cloudwatch, queries, start_s=first_s, end_s=end_s, pages=1)
    }
    periods = int((end_s - first_s) // period_s) + 1
    found = []
    for which, (name, _, summed) in enumerate(_CURVES):
        values: list[list[float]] = [[] for _ in range(periods)]
        for number, instance_type in enumerate(read, start=1):
            _add(values, results.get(f"h{number}m{which}"), _parts(instance_type, summed), first_s, period_s)
        if any(values):
            percent = tuple(round(sum(each) / len(each), 1) if each else None for each in values)
            found.append(Curve(name=name, percent=percent))
    return Curves(
        attempt=attempt,
        start_s=first_s,
        period_s=period_s,
        hosts=len(read),
        of_hosts=len(types),
        curves=tuple(found),
    )


def _parts(instance_type: str | None, summed: str) -> int:
    """Return over how many processors the values of a host are sums."""
    spec = None if instance_type is None else spec_of(instance_type)
    return max(1, getattr(spec, summed)) if spec is not None and summed else 1


def _add(
    values: Sequence[list[float]], result: Mapping[str, Any] | None, parts: int, first_s: float, period_s: int
) -> None:
    """Add the values of a host to those of their periods."""
    if result is None:
        return
    for time, value in zip(result["Timestamps"], result["Values"], strict=True):
        place = int((time.timestamp() - first_s) // period_s)
        if 0 <= place < len(values):
            values[place].append(value / parts)
