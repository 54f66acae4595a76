"""What CloudWatch and the logs have of the queue, its functions and a training job."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from headway.jobpolicy.utilization import HOST, PUBLISHED_EVERY_S, TRAINING_JOBS
from headway_service.observability import metrics as printed
from headway_verification.acceptance.checks.signals import CPU, MEMORY
from headway_verification.acceptance.evidence import AlarmSent, ColdStarts, Figures, Invocations, QueueMetrics
from headway_verification.acceptance.target import FUNCTIONS, Target
from headway_verification.acceptance.temporary import Temporary
from headway_verification.acceptance.waiting import until

PAST_S = 1800
ALARM_S = 60.0
METRICS_S = 180.0
_EVERY_S = 2.0
_REPORT = re.compile(r"Init Duration: (?P<ms>[0-9.]+) ms")
"""Of a REPORT line in the text format (Lambda developer guide, "Log format")."""


class FiguresReader:
    """The figures of a training job's first host, and when the first one came.

    Args:
        target: the queue.
        training_job: the training job; it keeps all cores busy.
    """

    def __init__(self, target: Target, training_job: str) -> None:
        self._target = target
        self._client = target.client("cloudwatch")
        self._host = f"{training_job}/algo-1"
        self._delay_s: float | None = None

    def look(self) -> bool:
        """Notice when the first figure comes; return whether it has come."""
        if self._delay_s is None:
            times, _ = self._read(CPU)
            if times:
                self._delay_s = self._target.api.now_s() - (min(times) + PUBLISHED_EVERY_S)
        return self._delay_s is not None

    def figures(self) -> Figures:
        """Return all figures."""
        listed = self._client.list_metrics(Namespace=TRAINING_JOBS, Dimensions=[{"Name": HOST, "Value": self._host}])[
            "Metrics"
        ]
        return Figures(
            dimensions=tuple({each["Name"]: each["Value"] for each in metric["Dimensions"]} for metric in listed),
            values={metric: tuple(self._read(metric)[1]) for metric in (CPU, MEMORY)},
            vcpus=self._target.vcpus,
            delay_s=self._delay_s,
        )

    def _read(self, metric: str) -> tuple[list[float], list[float]]:
        now_s = self._target.api.now_s()
        query = _query("a", TRAINING_JOBS, metric, {HOST: self._host}, stat="Average")
        found = _data(self._client, [query], since_s=now_s - PAST_S, until_s=now_s + PUBLISHED_EVERY_S)["a"]
        return [moment for moment, _ in found], [value for _, value in found]


def alarm_sent(target: Target, temporary: Temporary) -> AlarmSent:
    """Set a temporary alarm on a metric that nobody publishes to ALARM, with the queue's topic as its action."""
    client, logs = target.client("cloudwatch"), target.client("logs")
    name, began_ms = temporary.alarm(), int(time.time() * 1000)
    client.put_metric_alarm(
        AlarmName=name,
        AlarmDescription="Of a run of Headway's acceptance; may be deleted",
        Namespace=temporary.name("alarm"),
        MetricName="nothing",
        Statistic="Average",
        Period=PUBLISHED_EVERY_S,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="LessThanThreshold",
        TreatMissingData="ignore",
        AlarmActions=[target.outputs["WatchTopicArn"]],
        Tags=temporary.tags,
    )
    client.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="a run of the acceptance")
    group = _log_group(target, "Watch")

    def is_heard() -> bool:
        found = logs.filter_log_events(logGroupName=group, startTime=began_ms, filterPattern=f'"{name}"')["events"]
        return any(name in each["message"] for each in found)

    heard = until(is_heard, timeout_s=ALARM_S, every_s=_EVERY_S)
    items = client.describe_alarm_history(AlarmName=name, HistoryItemType="Action")["AlarmHistoryItems"]
    return AlarmSent(
        actions=tuple(each["HistorySummary"] for each in items),
        heard=heard,
        log_level=target.parameters.get("LogLevel", "INFO"),
    )


def queue_metrics(target: Target) -> QueueMetrics:
    """Return how many values a metric has that the reconciler prints in each run, after a wait for the first."""
    client, name = target.client("cloudwatch"), printed.MEASURED.name
    query = _query("a", printed.NAMESPACE, name, {"service": target.stack})

    def count() -> int:
        now_s = time.time()
        return len(_data(client, [query], since_s=now_s - PAST_S, until_s=now_s + PUBLISHED_EVERY_S)["a"])

    return QueueMetrics(values={name: until(count, timeout_s=METRICS_S, every_s=_EVERY_S)})


def invocations(target: Target) -> Invocations:
    """Return what Lambda counted of each function."""
    names = ("Invocations", "Errors")
    queries = [
        _query(f"{metric.lower()}{function}", "AWS/Lambda", metric, {"FunctionName": target.function(function)})
        for function in FUNCTIONS
        for metric in names
    ]
    found = _data(target.client("cloudwatch"), queries, since_s=time.time() - PAST_S, until_s=time.time())

    def total(metric: str, function: str) -> float:
        return sum(value for _, value in found[f"{metric.lower()}{function}"])

    return Invocations(counts={each: (total(names[0], each), total(names[1], each)) for each in FUNCTIONS})


def cold_starts(target: Target) -> ColdStarts:
    """Return the times of cold starts in the logs of the functions."""
    logs, since_ms = target.client("logs"), int((time.time() - 24 * 3600) * 1000)
    times = {}
    for function in FUNCTIONS:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=_log_group(target, function),
            startTime=since_ms,
            filterPattern='?"initDurationMs" ?"Init Duration"',
            PaginationConfig={"MaxItems": 500},
        )
        times[function] = tuple(init_times(each["message"] for page in pages for each in page["events"]))
    return ColdStarts(init_ms=times, in_vpc=bool(target.parameters.get("FunctionSubnetIds")))


def init_times(lines: Iterable[str]) -> Iterator[float]:
    """Yield the times of cold starts in REPORT lines, in the text and in the JSON format, ms.

    Source: Lambda developer guide, "Configuring JSON and plain text log formats": `platform.report`.
    """
    for line in lines:
        if found := _REPORT.search(line):
            yield float(found["ms"])
            continue
        try:
            document = json.loads(line)
            yield float(document["record"]["metrics"]["initDurationMs"])
        except (KeyError, TypeError, ValueError):
            continue


def _log_group(target: Target, function: str) -> str:
    return f"/aws/lambda/{target.stack}-{function.lower()}"


def _query(
    key: str, namespace: str, metric: str, dimensions: Mapping[str, str], *, stat: str = "Sum"
) -> dict[str, Any]:
    listed = [{"Name": name, "Value": value} for name, value in dimensions.items()]
    asked = {"Namespace": namespace, "MetricName": metric, "Dimensions": listed}
    return {"Id": key, "MetricStat": {"Metric": asked, "Period": PUBLISHED_EVERY_S, "Stat": stat}}


def _data(
    client: Any, queries: list[dict[str, Any]], *, since_s: float, until_s: float
) -> dict[str, list[tuple[float, float]]]:
    """Return the values of each query, each with its time."""
    found: dict[str, list[tuple[float, float]]] = {each["Id"]: [] for each in queries}
    pages = client.get_paginator("get_metric_data").paginate(
        MetricDataQueries=queries,
        StartTime=datetime.fromtimestamp(since_s, UTC),
        EndTime=datetime.fromtimestamp(until_s, UTC),
    )
    for result in (each for page in pages for each in page["MetricDataResults"]):
        values = zip(result["Timestamps"], result["Values"], strict=True)
        found[result["Id"]] += [(moment.timestamp(), value) for moment, value in values]
    return found
