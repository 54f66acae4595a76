"""Jobs that spot interrupts too often, or that get no spot instances, continue on demand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.world import P5, World, on

SPOT: dict[str, Any] = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 40_000, "MaxWaitTimeInSeconds": 90_000},
    "CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints/a"},
    "Environment": {"SANDBOX_RUN_SECONDS": "36000"},
}
UNTIL_IT_TRAINS_S = 900


def world_of(*, size: int = 1, **spot: Any) -> World:
    world = World()
    world.configuration.write({"pools": {P5: {"size": size}}, "spot": spot})
    return world


def attempt_of(world: World, name: str) -> str:
    attempt = world.seen(name).job.live_attempt
    assert attempt is not None
    return attempt


def interrupt(world: World, name: str, times: int = 1) -> None:
    """Spot takes the instances of the job's attempt so often, each time while it trains."""
    for _ in range(times):
        world.pass_time(UNTIL_IT_TRAINS_S)
        world.fleet.interrupt(attempt_of(world, name), now=world.now_s)
        world.pass_time(1)
        world.check()


def created(world: World) -> list[dict[str, Any]]:
    return [request for operation, request in world.calls if operation == "CreateTrainingJob"]


def test_a_job_interrupted_four_times_on_spot_continues_on_demand() -> None:
    world = world_of()
    world.submit("a", 5, **SPOT)
    world.tick()
    interrupt(world, "a", 3)
    assert world.called("StopTrainingJob") == [], "three interruptions are borne"
    interrupt(world, "a")
    first = attempt_of(world, "a")
    assert (world.states("a"), world.called("StopTrainingJob")) == ({"a": "stopping"}, [first])
    assert len(created(world)) == 1, "never two at once"

    world.pass_time(600)
    assert world.states("a") == {"a": "running"}
    spot, on_demand = created(world)
    assert on_demand["TrainingJobName"] == attempt_of(world, "a") != first
    assert "EnableManagedSpotTraining" not in on_demand
    assert on_demand["StoppingCondition"] == {"MaxRuntimeInSeconds": 40_000}
    same = ("CheckpointConfig", "ResourceConfig", "Environment", "RoleArn", "OutputDataConfig")
    assert [on_demand[key] for key in same] == [spot[key] for key in same]
    history = [(step.reason.code, step.reason.message) for step in world.seen("a").job.history]
    text = "spot instances were taken from it 4 times (3 are allowed); it continues on on-demand instances"
    assert ("OnDemand", text) in history
    world.pass_time(40_000)
    world.check()
    assert world.states("a") == {"a": "completed"}


def test_a_spot_job_keeps_its_place_and_holds_its_instances_no_longer_than_on_demand() -> None:
    world = world_of(maxInterruptions=0)
    world.submit("a", 5, **SPOT)
    entered = world.seen("a").job.entry_time
    assert world.seen("a").job.limit_ms == (90_000 + 1800) * 1000
    world.tick()
    world.now_s += 1
    world.submit("b", 5)
    interrupt(world, "a")
    world.pass_time(600)
    job = world.seen("a").job
    assert (job.job_state, job.entry_time, job.preemption_count) == ("running", entered, 0)
    assert job.limit_ms == (40_000 + 1800) * 1000
    assert world.states("b") == {"b": "pending"}


def test_interruptions_count_over_the_life_of_a_job_and_not_of_an_attempt() -> None:
    world = world_of(maxInterruptions=2)
    world.submit("a", 1, **SPOT)
    world.tick()
    interrupt(world, "a", 2)
    world.submit("urgent", 9)
    world.tick()
    world.pass_time(6000)
    assert world.states("a", "urgent") == {"a": "running", "urgent": "completed"}
    assert world.seen("a").job.interruptions == 2
    assert created(world)[-1]["EnableManagedSpotTraining"] is True
    interrupt(world, "a")
    world.pass_time(600)
    assert "EnableManagedSpotTraining" not in created(world)[-1]
    assert [str(step.reason.code) for step in world.seen("a").job.history].count("OnDemand") == 1


@pytest.mark.parametrize(
    ("spot", "state", "code"),
    [({}, "running", "OnDemand"), ({"afterWait": False}, "stopped", "Stopped")],
)
def test_a_spot_job_without_instances_continues_on_demand_unless_the_policy_forbids_it(
    spot: dict[str, Any], state: str, code: str
) -> None:
    world = world_of(**spot)
    world.submit("a", **{**SPOT, "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 600}})
    world.tick()
    world.pass_time(1000)
    assert world.states("a") == {"a": state}
    assert code in [step.reason.code for step in world.seen("a").job.history]


def test_interruptions_never_move_a_job_if_the_policy_forbids_it() -> None:
    world = world_of(maxInterruptions=None)
    world.submit("a", **SPOT)
    world.tick()
    interrupt(world, "a", 6)
    assert (world.states("a"), world.called("StopTrainingJob")) == ({"a": "running"}, [])


def test_repeated_and_late_events_count_no_interruption_twice() -> None:
    world = world_of(maxInterruptions=1)
    world.submit("a", **SPOT)
    world.tick()
    interrupt(world, "a")
    attempt = attempt_of(world, "a")
    for _ in range(3):
        sighting = world.training_jobs.describe(attempt)
        assert sighting is not None
        world.observer.apply_status(sighting, world.clock())
        world.observer.refresh(attempt, world.training_jobs, world.clock())
    assert (world.states("a"), world.called("StopTrainingJob")) == ({"a": "running"}, [])


def test_a_job_on_several_hosts_continues_with_the_same_number() -> None:
    world = world_of(size=2, maxInterruptions=0)
    world.submit("a", ResourceConfig=on(2), **SPOT)
    world.tick()
    interrupt(world, "a")
    world.pass_time(600)
    assert world.seen("a").job.job_state == "running"
    assert created(world)[-1]["ResourceConfig"]["InstanceCount"] == 2
