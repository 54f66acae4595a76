"""Metrics embedded in log lines: CloudWatch Logs publishes them when it ingests the lines.

Source: CloudWatch user guide, "Specification: Embedded metric format". Lines that do not follow it have no metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_MARK = '"_aws"'


class Point(NamedTuple):
    """One value of a metric; `time_s` is in s since the epoch."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    unit: str
    time_s: float
    value: float


def points(line: str) -> Iterator[Point]:
    """Return the values in a line, each once per dimension set."""
    if _MARK not in line:
        return
    try:
        document = json.loads(line)
        about = document["_aws"]
        for directive in about["CloudWatchMetrics"]:
            yield from _of_directive(document, directive, about["Timestamp"] / 1000)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        # A line that looks like metrics and is none: CloudWatch Logs keeps it as text.
        return


def _of_directive(document: Mapping[str, Any], directive: Mapping[str, Any], time_s: float) -> Iterator[Point]:
    for names in directive["Dimensions"]:
        dimensions = {name: str(document[name]) for name in names}
        for metric in directive["Metrics"]:
            values = document[metric["Name"]]
            for value in values if isinstance(values, list) else [values]:
                unit = metric.get("Unit", "None")
                yield Point(directive["Namespace"], metric["Name"], dimensions, unit, time_s, float(value))
