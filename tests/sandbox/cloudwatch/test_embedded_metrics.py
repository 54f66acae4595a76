"""CloudWatch's metrics from the output of functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.cloudwatch.embedded_metrics import Point, points


def line(**changes: Any) -> str:
    """Return a line with two metrics under two sets of dimensions."""
    directive = {
        "Namespace": "Headway",
        "Dimensions": [["service"], ["service", "pool"]],
        "Metrics": [{"Name": "Waiting", "Unit": "Count"}, {"Name": "Oldest"}],
    }
    about = {"Timestamp": 1_800_000_000_500, "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": about, "service": "headway", "pool": "p5", "Waiting": [1, 2], "Oldest": 3, **changes})


def test_each_value_is_published_under_each_set_of_dimensions():
    narrow, wide = {"service": "headway"}, {"service": "headway", "pool": "p5"}
    assert list(points(line())) == [
        Point("Headway", name, dimensions, unit, 1_800_000_000.5, value)
        for dimensions in (narrow, wide)
        for name, unit, value in (("Waiting", "Count", 1.0), ("Waiting", "Count", 2.0), ("Oldest", "None", 3.0))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "START RequestId: 1",
        '{"level": "INFO", "message": "tick"}',
        '{"_aws": ',
        '{"_aws": 1}',
        '{"_aws": {"Timestamp": 1}}',
        line(Waiting="many"),
        '"_aws"',
        '{"_aws": ' + "[" * 100_000,
        '{"_aws": {"Timestamp": 1, "CloudWatchMetrics": [{"Dimensions": [[]], "Metrics": ["Waiting"]}]}}',
        line(Waiting=10**400),
    ],
)
def test_a_line_in_another_format_publishes_nothing(text: str):
    assert [each for each in points(text) if each.name == "Waiting"] == []
