"""Jobs with attempts, and AWS as their figures are read from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from headway_client.models import JobDetails
from headway_sandbox.inprocess.stub_client import stub_client
from tests.client.fakes.contract import Queue
from tests.client.fakes.log_store import LogStore

NOW_S = 1_767_335_400.0
"""2026-01-02T06:30:00Z."""

P5 = "ml.p5.48xlarge"


def attempt(number: int, start: str | None, end: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "attemptName": f"job1-{number}", "number": number, "attemptState": "ended" if end else "live",
        "trainingJobStatus": "InProgress", "secondaryStatus": "Training", "failureReason": None, "reason": None,
        "startedTime": start and f"2026-01-02T{start}Z", "endedTime": end and f"2026-01-02T{end}Z",
        "demand": {P5: 2}, **changes,
    }  # fmt: skip


def details(*attempts: dict[str, Any], **changes: Any) -> JobDetails:
    document = Queue().add("job1", attempts=list(attempts), **changes)
    return JobDetails.from_document({**document, "place": None})


class Aws:
    """CloudWatch's metrics and logs of one account.

    Attributes:
        values: what GetMetricData has for each metric of a host, one for each minute from 06:00.
        requests: the calls.
        refuses: the code with which calls of metrics are refused.
    """

    def __init__(self) -> None:
        self.logs = LogStore()
        self.values: dict[tuple[str, str], list[float]] = {}
        self.requests: list[str] = []
        self.refuses = ""
        self._cloudwatch = stub_client("cloudwatch", self._answer)

    def client_of(self, service: str) -> Any:
        self.requests.append(f"client of {service}")
        return {"cloudwatch": self._cloudwatch, "logs": self.logs}[service]

    @property
    def metric_calls(self) -> int:
        return self.requests.count("GetMetricData")

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.requests.append(operation)
        if self.refuses:
            raise ClientError({"Error": {"Code": self.refuses, "Message": "no"}}, operation)
        results = []
        for query in request["MetricDataQueries"]:
            metric = query["MetricStat"]["Metric"]
            values = self.values.get((metric["Dimensions"][0]["Value"], metric["MetricName"]), [])
            times = [NOW_S - 1800 + 60 * minute for minute in range(len(values))]
            results.append({"Id": query["Id"], "Timestamps": times, "Values": values})
        return {"MetricDataResults": results}
