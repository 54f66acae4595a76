"""Running jobs that a watch may stop by a configuration, and that it then stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from mypy_boto3_cloudwatch import CloudWatchClient

from headway_service.effects.effect import MAX_REQUESTS, Effects
from headway_service.effects.service import ConfigurationEffects
from tests.service.monitoring.test_utilization_monitor import LONG, Watched
from tests.service.world import P5, ROOT

IDLE: dict[str, Any] = {"belowPercent": 1, "periods": 3, "warmUpSeconds": 1800, "action": "stop"}
STRICT = {"belowPercent": 99, "warmUpSeconds": 0, "action": "stop"}


@pytest.fixture
def client() -> Iterator[CloudWatchClient]:
    with mock_aws():
        yield boto3.client("cloudwatch", region_name="eu-west-1")


def effects(queue: Watched, **watches: Any) -> Effects:
    world = queue.world
    service = ConfigurationEffects(table=world.table, clocks=world.clocks, in_force=world.in_force)
    return service.of({"pools": {P5: {"size": 4}, "ml.trn1.32xlarge": {"size": 1}}, "watches": watches})


def watched(client: CloudWatchClient, **watches: Any) -> Watched:
    """A queue in which a job trains under watches."""
    queue = Watched(client, watches=watches)
    queue.train("a")
    return queue


def test_a_strict_watch_may_stop_what_runs_and_does(client: CloudWatchClient) -> None:
    queue = watched(client)
    (found,) = effects(queue, strict=STRICT).effects
    assert (str(found.code), found.count, list(found.names)) == ("Watched", 1, ["a"])
    assert found.message == (
        "1 running job may be stopped by the watch `strict` within the hour, if GPUUtilization is below 99 % for 15 min"
    )
    queue.configure(watches={"strict": STRICT})
    queue.world.tick()
    queue.watch()
    queue.world.pass_time(1200)
    queue.say(queue.attempt("a"), "ALARM", watch="strict")
    queue.watch()
    queue.world.tick()
    queue.world.pass_time(600)
    assert queue.world.states("a") == {"a": "stopped"}


# name, watch in force (None for none), watch in the document, whether it may stop more
CASES: list[tuple[str, dict[str, Any] | None, dict[str, Any], bool]] = [
    ("a new one", None, IDLE, True),
    ("a new one that requeues", None, {**IDLE, "action": "requeue"}, True),
    ("a new one that notifies", None, {**IDLE, "action": "notify"}, False),
    ("the same", IDLE, IDLE, False),
    ("one that only notified", {**IDLE, "action": "notify"}, IDLE, True),
    ("a higher threshold", IDLE, {**IDLE, "belowPercent": 2}, True),
    ("a lower threshold", IDLE, {**IDLE, "belowPercent": 0.5}, False),
    ("fewer periods", IDLE, {**IDLE, "periods": 2}, True),
    ("more periods", IDLE, {**IDLE, "periods": 4}, False),
    ("a shorter warm-up", IDLE, {**IDLE, "warmUpSeconds": 1799}, True),
    ("a longer warm-up", IDLE, {**IDLE, "warmUpSeconds": 1801}, False),
    ("a stop in place of a requeue", {**IDLE, "action": "requeue"}, IDLE, True),
    ("a requeue in place of a stop", IDLE, {**IDLE, "action": "requeue"}, False),
    ("a lower priority of what is requeued", {**IDLE, "action": "requeue", "requeuePriority": 5}, IDLE, True),
    ("any host in place of all", IDLE, {**IDLE, "allHosts": False}, True),
    ("all hosts in place of any", {**IDLE, "allHosts": False}, IDLE, False),
    ("another metric", IDLE, {**IDLE, "metric": "GPUMemoryUtilization"}, True),
    ("shorter periods", IDLE, {**IDLE, "periodSeconds": 60}, True),
    ("more jobs", {**IDLE, "when": {"tags": {"x": ["y"]}}}, IDLE, True),
    ("other jobs", IDLE, {**IDLE, "when": {"tags": {"x": ["y"]}}}, False),
    ("other instances", IDLE, {**IDLE, "instanceTypes": ["ml.g5.*"]}, False),
    ("a warm-up longer than the hour", None, {**IDLE, "warmUpSeconds": 7200}, False),
]


@pytest.mark.parametrize(("before", "after", "stops"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_watch_is_told_if_it_may_stop_more(
    client: CloudWatchClient, before: dict[str, Any] | None, after: dict[str, Any], *, stops: bool
) -> None:
    queue = watched(client, mine=before) if before is not None else watched(client)
    found = effects(queue, mine=after).effects
    assert [str(each.code) for each in found] == (["Watched"] if stops else [])


def test_a_job_that_stops_already_or_is_not_launched_is_not_told(client: CloudWatchClient) -> None:
    queue = watched(client)
    queue.world.submit("b", Environment=LONG)
    queue.world.commands.stop("a", ROOT)
    assert effects(queue, strict=STRICT).effects == []


def test_many_running_jobs_are_told_in_part_and_that_is_said(
    client: CloudWatchClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = watched(client)
    queue.train("b")
    monkeypatch.setattr("headway_service.effects.running.MAX_REQUESTS", 1)
    monkeypatch.setattr("headway_service.effects.service.MAX_REQUESTS", 1)
    told = effects(queue, strict=STRICT)
    assert [each.count for each in told.effects] == [1]
    assert not told.is_whole
    assert told.note.endswith("Watches were tried on the first 1 running jobs only.")
    assert MAX_REQUESTS == 200
