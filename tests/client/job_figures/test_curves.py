"""The utilization of an attempt over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway_client.job_figures.curves import (
    MAX_CURVE_HOSTS,
    MAX_CURVE_POINTS,
    Curve,
    Curves,
    host_types,
    read_curves,
)
from headway_client.models import JobDetails
from headway_sandbox.inprocess.stub_client import stub_client
from tests.client.fakes.contract import Queue

START_S = 1_767_322_800.0
"""A full hour."""

G5, P4, C5 = "ml.g5.12xlarge", "ml.p4d.24xlarge", "ml.c5.xlarge"

Points = Mapping[tuple[str, str], Sequence[tuple[float, float]]]


class CloudWatch:
    """Answers GetMetricData with points: by host and metric, pairs of seconds after the start and value."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.requests: list[Mapping[str, Any]] = []
        self.more = False

    def client(self) -> Any:
        return stub_client("cloudwatch", self._answer)

    def _answer(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        assert operation == "GetMetricData"
        self.requests.append(request)
        results = []
        for query in request["MetricDataQueries"]:
            stat = query["MetricStat"]
            (dimension,) = stat["Metric"]["Dimensions"]
            found = self.points.get((dimension["Value"], stat["Metric"]["MetricName"]), ())
            times, values = [START_S + after_s for after_s, _ in found], [value for _, value in found]
            results.append({"Id": query["Id"], "Timestamps": times, "Values": values})
        return {"MetricDataResults": results, **({"NextToken": "more"} if self.more else {})}


def curves(points: Points, *types: str | None, run_s: float = 120, offset_s: float = 0) -> Curves:
    end_s = START_S + run_s
    return read_curves(CloudWatch(points).client(), "a", types, start_s=START_S + offset_s, end_s=end_s, now_s=end_s)


def test_a_value_is_the_share_of_what_the_host_has():
    # 4 GPUs and 48 vCPUs.
    points = {
        ("a/algo-1", "GPUUtilization"): [(0, 200), (60, 400)],
        ("a/algo-1", "GPUMemoryUtilization"): [(0, 100)],
        ("a/algo-1", "CPUUtilization"): [(60, 480)],
        ("a/algo-1", "MemoryUtilization"): [(0, 30), (60, 31), (120, 32)],
    }
    assert curves(points, G5).curves == (
        Curve(name="GPU", percent=(50, 100, None)),
        Curve(name="GPU memory", percent=(25, None, None)),
        Curve(name="CPU", percent=(None, 10, None)),
        Curve(name="Memory", percent=(30, 31, 32)),
    )


def test_a_value_of_a_part_that_the_type_does_not_have_is_shown_as_it_is():
    assert curves({("a/algo-1", "GPUUtilization"): [(0, 7)]}, C5).curves[0].percent[0] == 7


def test_the_values_of_several_hosts_are_averaged():
    points = {
        ("a/algo-1", "GPUUtilization"): [(0, 400)],
        ("a/algo-2", "GPUUtilization"): [(0, 200), (60, 100)],
    }
    assert curves(points, G5, G5).curves == (Curve(name="GPU", percent=(75, 25, None)),)


def test_without_values_there_are_no_curves_and_of_an_unknown_type_values_stay_as_they_are():
    assert curves({}, G5).curves == ()
    points = {("a/algo-1", "CPUUtilization"): [(0, 480)]}
    assert curves(points, None).curves == (Curve(name="CPU", percent=(480, None, None)),)
    assert curves(points, "ml.unheard.of").curves == (Curve(name="CPU", percent=(480, None, None)),)


def test_a_period_that_has_begun_before_the_attempt_is_its_first():
    points = {("a/algo-1", "MemoryUtilization"): [(0, 5), (60, 6)]}
    found = curves(points, G5, offset_s=59)
    assert (found.start_s, found.curves) == (START_S, (Curve(name="Memory", percent=(5, 6, None)),))


def test_values_outside_of_the_attempt_are_left_out():
    points = {("a/algo-1", "MemoryUtilization"): [(-60, 5), (60, 6), (240, 7)]}
    assert curves(points, G5).curves == (Curve(name="Memory", percent=(None, 6, None)),)


def test_only_the_first_hosts_are_read_and_it_is_known_how_many():
    cloudwatch = CloudWatch({})
    found = read_curves(cloudwatch.client(), "a", [C5] * 50, start_s=START_S, end_s=START_S + 60, now_s=START_S + 60)
    assert (found.hosts, found.of_hosts) == (MAX_CURVE_HOSTS, 50)
    (request,) = cloudwatch.requests
    assert len(request["MetricDataQueries"]) == 4 * MAX_CURVE_HOSTS


def test_one_page_is_read():
    cloudwatch = CloudWatch({})
    cloudwatch.more = True
    read_curves(cloudwatch.client(), "a", [C5], start_s=START_S, end_s=START_S + 60, now_s=START_S + 60)
    assert len(cloudwatch.requests) == 1


@given(run_s=st.floats(0, 28 * 86_400), offset_s=st.floats(0, 3600))
def test_a_curve_has_a_bounded_number_of_values_and_covers_the_attempt(run_s: float, offset_s: float):
    asked: list[Mapping[str, Any]] = []

    class Client:
        def get_paginator(self, _: str) -> Client:
            return self

        def paginate(self, **arguments: Any) -> list[Mapping[str, Any]]:
            asked.append(arguments)
            result = {"Id": "h1m3", "Timestamps": [arguments["StartTime"]], "Values": [1.0]}
            return [{"MetricDataResults": [result]}]

    start_s = START_S + offset_s
    found = read_curves(Client(), "a", [C5], start_s=start_s, end_s=start_s + run_s, now_s=start_s + run_s)
    (curve,) = found.curves
    assert len(curve.percent) <= MAX_CURVE_POINTS + 2
    assert found.start_s <= start_s
    assert found.start_s + len(curve.percent) * found.period_s >= start_s + run_s
    assert {query["MetricStat"]["Period"] for query in asked[0]["MetricDataQueries"]} == {found.period_s}


GROUPS = [
    {"InstanceGroupName": "gpu", "InstanceType": P4, "InstanceCount": 1},
    {"InstanceGroupName": "cpu", "InstanceType": C5, "InstanceCount": 2},
]


@pytest.mark.parametrize(
    ("held", "groups", "types"),
    [
        ({G5: 2}, None, (G5, G5)),
        ({f"{G5}.spot": 2}, None, (G5, G5)),
        ({f"{G5}.plan.mine": 1}, None, (G5,)),
        ({P4: 1, C5: 2}, GROUPS, (P4, C5, C5)),
        ({P4: 1, C5: 3}, GROUPS, (None,) * 4),
        ({P4: 1, C5: 2}, None, (None,) * 3),
        ({}, None, ("ml.p5.48xlarge",)),
    ],
)
def test_the_types_of_hosts_follow_from_what_the_attempt_held(
    held: dict[str, int], groups: Any, types: tuple[str | None, ...]
):
    attempt = {
        "attemptName": "a", "number": 1, "attemptState": "live", "trainingJobStatus": None, "secondaryStatus": None,
        "startedTime": None, "endedTime": None, "failureReason": None, "reason": None, "demand": held,
    }  # fmt: skip
    resources = {} if groups is None else {"ResourceConfig": {"InstanceGroups": groups}}
    document = Queue().add("a", attempts=[attempt], request=resources, demand=held or {"ml.p5.48xlarge": 1})
    job = JobDetails.from_document({**document, "place": None})
    assert host_types(job, job.attempts[0]) == types
