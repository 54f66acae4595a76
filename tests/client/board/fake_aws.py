"""CloudWatch in memory, as the figures of a job are read from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headway_client.errors import NotAllowedError
from tests.client.fakes.log_store import LogStore


class Aws:
    """The metrics and the logs of training jobs.

    Attributes:
        logs: the logs.
        values: by metric, a value for each minute since the start of the attempt; None where there is none.
    """

    def __init__(self) -> None:
        self.logs = LogStore()
        self.values: dict[str, list[float | None]] = {}

    def client_of(self, service: str) -> Any:
        if service == "cloudwatch" and not self.values:
            raise NotAllowedError("The utilization can't be read (AccessDenied); allow cloudwatch:GetMetricData.")
        return self.logs if service == "logs" else self

    def get_paginator(self, _: str) -> Aws:
        return self

    def paginate(self, *, MetricDataQueries: Any, StartTime: Any, **_: Any) -> list[dict[str, Any]]:  # noqa: N803
        results = []
        for query in MetricDataQueries:
            values = self.values.get(query["MetricStat"]["Metric"]["MetricName"], [])
            known = [(StartTime + timedelta(minutes=place), value) for place, value in enumerate(values) if value]
            times, found = [each[0] for each in known], [each[1] for each in known]
            results.append({"Id": query["Id"], "Timestamps": times, "Values": found})
        return [{"MetricDataResults": results}]
