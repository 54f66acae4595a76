"""Preemptions by the checkpoints of jobs over the whole service layer: the tag, the policy, and the wait."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from tests.service.scheduling.test_teams import world_of
from tests.service.world import World, on

INTERVAL_TAG = "headway:checkpoint-interval-s"
EVERY_S, WAIT_S = 600, 300
CHECKPOINTS = {"S3Uri": "s3://bucket/checkpoints"}


def world_with(**preemption: Any) -> World:
    return world_of({}, preemption={"waitForCheckpointSeconds": WAIT_S, **preemption})


def submit(world: World, name: str, count: int = 4, *, every_s: int | None = EVERY_S) -> None:
    tags = [] if every_s is None else [{"Key": INTERVAL_TAG, "Value": str(every_s)}]
    long = {"MaxRuntimeInSeconds": 86_400}
    world.submit(
        name,
        ResourceConfig=on(count),
        CheckpointConfig=CHECKPOINTS,
        StoppingCondition=long,
        Environment={"SANDBOX_RUN_SECONDS": "80000"},
        Tags=tags,
    )
    world.tick()


def attempt(world: World, name: str) -> AttemptRecord:
    job = JobRecord.parse(world.table.get(JobRecord.key(name)) or {})
    return AttemptRecord.parse(world.table.get(AttemptRecord.key(str(job.live_attempt))) or {})


def trains_for(world: World, name: str, seconds: float) -> None:
    """Let time pass until a job has trained this long."""
    if attempt(world, name).training_since_ms is None:
        world.pass_time(300)
    since_ms = attempt(world, name).training_since_ms
    assert since_ms is not None
    world.pass_time(since_ms / 1000 + seconds - world.now_s)


def test_a_preemption_waits_until_the_checkpoint_counts_as_written() -> None:
    world = world_with()
    submit(world, "long")
    trains_for(world, "long", EVERY_S - 100)
    world.submit("urgent", 9, ResourceConfig=on(4))
    world.tick()
    world.check()
    assert world.states("long", "urgent") == {"long": "running", "urgent": "pending"}
    reason = world.seen("urgent").reason
    assert reason.code == "WaitsForCheckpoint"
    assert "in place of `long`, which is stopped for it in 2 min 40 s" in reason.message
    # Each minute a tick decides again.
    world.pass_time(100)
    world.tick()
    assert world.states("long") == {"long": "running"}
    world.pass_time(60)
    world.tick()
    world.check()
    assert world.states("long") == {"long": "stopping"}
    assert world.seen("long").job.reason.message.endswith("; its last checkpoint was due 1 min before")
    world.pass_time(130)
    assert world.states("urgent") == {"urgent": "running"}


def test_no_other_job_gets_the_free_instances_that_the_waiting_job_counts_on() -> None:
    world = world_with()
    submit(world, "long", 3)
    trains_for(world, "long", EVERY_S - 100)
    world.submit("urgent", 9, ResourceConfig=on(4))
    world.submit("small", 1, ResourceConfig=on(1))
    world.tick()
    assert world.states("urgent", "small") == {"urgent": "pending", "small": "pending"}


def test_a_tick_reports_the_jobs_whose_preemptions_wait() -> None:
    world = world_with()
    submit(world, "long")
    trains_for(world, "long", EVERY_S - 100)
    world.submit("urgent", 9, ResourceConfig=on(4))
    report = world.tick()
    assert (report.delayed, report.preempted) == (["urgent"], [])


@pytest.mark.parametrize(
    ("preemption", "every_s", "waits"),
    [
        ({}, EVERY_S, True),
        ({}, None, False),
        ({"checkpointsEverySeconds": EVERY_S}, None, True),
        # What the job says counts.
        ({"checkpointsEverySeconds": EVERY_S}, 7200, False),
        ({"waitForCheckpointSeconds": 0}, EVERY_S, False),
    ],
)
def test_the_interval_is_that_of_the_job_or_of_the_policy(
    preemption: dict[str, Any], every_s: int | None, *, waits: bool
) -> None:
    world = world_with(**preemption)
    submit(world, "long", every_s=every_s)
    trains_for(world, "long", EVERY_S - 100)
    world.submit("urgent", 9, ResourceConfig=on(4))
    world.tick()
    assert world.states("long") == {"long": "running" if waits else "stopping"}


def test_the_start_of_the_training_counts_once_it_is_known() -> None:
    world = world_with()
    submit(world, "long")
    before = attempt(world, "long").allocation()
    assert (before.training_since_ms, before.terms.checkpoints_every_ms) == (None, EVERY_S * 1000)
    world.pass_time(300)
    after = attempt(world, "long").allocation()
    assert after.training_since_ms is not None
    assert after.training_since_ms > after.since_ms


@pytest.mark.parametrize(("every_s", "lost_s"), [(60, 60), (None, 600), (2000, 2000)])
def test_usage_counts_at_most_one_interval_as_lost(every_s: int | None, lost_s: int) -> None:
    world = world_of({})
    submit(world, "long", every_s=every_s)
    trains_for(world, "long", 5000)
    world.submit("urgent", 9, ResourceConfig=on(4))
    world.tick()
    world.pass_time(130)
    job = JobRecord.parse(world.table.get(JobRecord.key("long")) or {})
    assert [each.lost_ms for each in job.attempts] == [lost_s * 1000]
