"""The metrics of job events, and the form in which CloudWatch gets them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headway.lifecycle import JOB_TRANSITIONS, TERMINAL, WAITING, JobTrigger
from headway_sandbox.cloudwatch.embedded_metrics import Point, points
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.metrics import MetricValue, time_to_start
from tests.service.world import P5, ROOT, World

LONG = {"SANDBOX_RUN_SECONDS": "90000"}


def published(capsys: pytest.CaptureFixture[str]) -> list[Point]:
    """The metrics that CloudWatch extracts from the output since the last call."""
    return [each for line in capsys.readouterr().out.splitlines() for each in points(line)]


def of(found: list[Point], name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(each.dimensions), each.value) for each in found if each.name == name]


def waited_s(world: World, name: str) -> list[float]:
    return [each.value for each in time_to_start(world.seen(name).job, world.clock())]


def test_metrics_with_the_same_dimensions_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "headway")
    record([metrics.FREE.of(1, P5), metrics.STUCK.of(4), metrics.ALLOCATED.of(3, P5), metrics.FREE.of(2, "other")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    stack = {"service": "headway"}
    assert [
        (each.namespace, each.name, dict(each.dimensions), each.unit, each.value)
        for each in (point for line in lines for point in points(line))
    ] == [
        ("Headway", "Free", {"pool": P5, **stack}, "Count", 1),
        ("Headway", "Allocated", {"pool": P5, **stack}, "Count", 3),
        ("Headway", "Stuck", stack, "Count", 4),
        ("Headway", "Free", {"pool": "other", **stack}, "Count", 2),
    ]


def test_no_line_is_printed_without_metrics_or_without_problems(capsys: pytest.CaptureFixture[str]) -> None:
    record([])
    record([metrics.STUCK.of(0), metrics.WAITING_IN_POOL.of(0, P5)])
    assert capsys.readouterr().out == ""


def test_zero_free_instances_are_published_since_no_value_means_all_free(capsys: pytest.CaptureFixture[str]) -> None:
    record([metrics.FREE.of(0, P5), metrics.UTILISATION.of(0, P5), metrics.ALLOCATED.of(0, P5)])
    assert {each.name for each in published(capsys)} == {"Free"}


@pytest.mark.parametrize("number", [99, 100, 101, 200, 249])
def test_more_values_than_fit_into_one_line_are_all_published(capsys: pytest.CaptureFixture[str], number: int) -> None:
    record([metrics.STUCK.of(value) for value in range(1, number + 1)])
    assert [value for _, value in of(published(capsys), "Stuck")] == [*range(1, number + 1)]


@pytest.mark.parametrize(
    "trigger", sorted({trigger for (state, trigger), then in JOB_TRANSITIONS.items() if state not in WAITING
                       and (then in TERMINAL or then in WAITING) and trigger is not JobTrigger.LAUNCH_DEFERRED})
)  # fmt: skip
def test_every_end_of_an_attempt_has_an_outcome(trigger: JobTrigger) -> None:
    figure = metrics.ended(trigger)
    assert (figure.metric, figure.value, figure.which != "") == (metrics.ENDED, 1, True)


def test_a_job_waits_from_its_acceptance_and_changes_of_its_priority_change_nothing() -> None:
    world = World()
    world.submit("a", 1)
    world.now_s += 30
    world.commands.set_priority("a", 5, ROOT)
    world.now_s += 30
    assert waited_s(world, "a") == [60]


def test_a_requeued_job_waits_from_its_last_return(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(pools={P5: 1})
    world.submit("low", 1, Environment=LONG)
    world.now_s += 5
    world.tick()
    world.pass_time(900)
    world.submit("high", 5, Environment={"SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    started = published(capsys)
    assert [value for _, value in of(started, "TimeToStart")] == [5]
    assert [value for _, value in of(started, "WorkLost")] == [900]
    # The victim ends, the other one runs; then the victim continues.
    world.pass_time(2000)
    found = published(capsys)
    (returned,) = [s.time_ms for s in world.seen("low").job.history if s.job_state == "preempted"]
    (*_, again) = [s.time_ms for s in world.seen("low").job.history if s.job_state == "running"]
    assert [value for _, value in of(found, "TimeToStart")][-1] == (again - returned) / 1000
    assert {dimensions["outcome"] for dimensions, _ in of(found, "Ended")} == {"preempted", "completed"}


def test_the_starts_of_one_tick_are_one_line_per_pool(capsys: pytest.CaptureFixture[str]) -> None:
    world = World(pools={P5: 3})
    for name in ("a", "b", "c"):
        world.submit(name, 1)
    capsys.readouterr()
    world.tick()
    lines = [line for line in capsys.readouterr().out.splitlines() if "TimeToStart" in line]
    assert [[each.value for each in points(line)] for line in lines] == [[0, 0, 0]]


def test_the_starts_of_a_tick_are_published_although_it_fails_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(pools={P5: 2})
    world.submit("a", 1)
    world.submit("b", 0)
    capsys.readouterr()
    create = world.training_jobs.create

    def fails_later(request: Mapping[str, Any]) -> None:
        if request["TrainingJobName"] == "b":
            raise ZeroDivisionError
        create(request)

    monkeypatch.setattr(world.training_jobs, "create", fails_later)
    with pytest.raises(ZeroDivisionError):
        world.tick()
    assert [value for _, value in of(published(capsys), "TimeToStart")] == [0]


def test_a_job_on_two_pools_starts_in_both() -> None:
    world = World(pools={P5: 1, "ml.g5.xlarge": 1})
    groups = [{"InstanceGroupName": kind, "InstanceType": kind, "InstanceCount": 1} for kind in (P5, "ml.g5.xlarge")]
    world.submit("a", ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    assert time_to_start(world.seen("a").job, world.clock()) == [
        MetricValue(metrics.TIME_TO_START, 0, pool) for pool in ("ml.g5.xlarge", P5)
    ]


def test_metrics_have_names_and_numbers_and_nothing_of_a_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World()
    world.submit("a", HyperParameters={"token": "hunter2"}, Environment={"SECRET": "hunter2"})
    world.tick()
    out = capsys.readouterr().out
    assert any("_aws" in json.loads(line) for line in out.splitlines())
    assert "hunter2" not in out
