"""Spot instances and on-demand instances of a type in pools of their own."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.request_builder import G5
from headway_service.config.document import validate
from headway_service.errors import ImpossibleDemand, InvalidConfiguration
from headway_service.pools.apply_config import apply_configuration
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World, on, request

SPOT_POOL = f"{P5}.spot"
SPOT: dict[str, Any] = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 40_000, "MaxWaitTimeInSeconds": 90_000},
    "Environment": {"SANDBOX_RUN_SECONDS": "36000"},
}


def world_of(pools: dict[str, int] | None = None, **document: Any) -> World:
    world = World(pools=pools or {P5: 1, SPOT_POOL: 2})
    configure(world, pools or {P5: 1, SPOT_POOL: 2}, **document)
    return world


def configure(world: World, pools: dict[str, int], **document: Any) -> None:
    world.configuration.write({"pools": {pool: {"size": size} for pool, size in pools.items()}, **document})


def interrupt(world: World, name: str) -> None:
    attempt = world.seen(name).job.live_attempt
    assert attempt is not None
    world.pass_time(900)
    world.fleet.interrupt(attempt, now=world.now_s)
    world.pass_time(1)
    world.check()


def free(world: World) -> dict[str, int]:
    return {pool.pool: pool.free for pool in read_ledger(world.table).pools}


def test_jobs_on_spot_and_on_demand_instances_do_not_wait_for_each_other() -> None:
    world = world_of()
    world.submit("plain", 1)
    for name in ("spot1", "spot2", "spot3"):
        world.submit(name, 9, **SPOT)
    world.tick()
    world.check()
    assert world.states("plain", "spot1", "spot2", "spot3") == {
        "plain": "running",
        "spot1": "running",
        "spot2": "running",
        "spot3": "pending",
    }
    assert free(world) == {P5: 0, SPOT_POOL: 0}
    assert world.seen("spot3").reason.message.startswith(f"needs 1 more {SPOT_POOL}, held by")


def test_without_a_spot_pool_spot_jobs_share_the_pool_of_their_type() -> None:
    world = world_of({P5: 1})
    assert world.submit("spot", 1, **SPOT).job.demand == {P5: 1}


def test_a_demand_that_the_spot_pool_can_never_hold_is_refused() -> None:
    world = world_of()
    with pytest.raises(ImpossibleDemand, match=rf"the pool {SPOT_POOL} has 2 instances, not 3"):
        world.submit("spot", 1, ResourceConfig=on(3), **SPOT)
    assert world.submit("fits", 1, ResourceConfig=on(2), **SPOT).job.demand == {SPOT_POOL: 2}


def test_a_job_that_leaves_spot_takes_its_instances_from_the_on_demand_pool() -> None:
    world = world_of(spot={"maxInterruptions": 0})
    world.submit("a", 5, **SPOT)
    world.tick()
    assert free(world) == {P5: 1, SPOT_POOL: 1}
    interrupt(world, "a")
    world.pass_time(600)
    world.check()
    job = world.seen("a").job
    assert (job.job_state, job.demand, job.on_demand) == ("running", {P5: 1}, True)
    assert free(world) == {P5: 0, SPOT_POOL: 2}
    assert job.limit_ms == (40_000 + 1800) * 1000


def test_a_job_that_leaves_spot_waits_for_the_on_demand_pool() -> None:
    world = world_of(spot={"maxInterruptions": 0})
    world.submit("plain", 9, Environment={"SANDBOX_RUN_SECONDS": "36000"})
    world.submit("a", 5, **SPOT)
    world.tick()
    interrupt(world, "a")
    world.pass_time(600)
    world.check()
    assert world.states("a") == {"a": "pending"}
    assert world.seen("a").reason.message.startswith(f"needs 1 more {P5}, held by")


@pytest.mark.parametrize(
    ("pools", "teams"),
    [
        ({SPOT_POOL: 2, G5: 1}, {}),
        ({SPOT_POOL: 2, P5: 1}, {}),
        ({SPOT_POOL: 2, P5: 2}, {"default": {"limit": {P5: 1}}}),
    ],
    ids=["there is no on-demand pool", "it is too small", "the team's limit is too low"],
)
def test_a_job_that_no_on_demand_pool_can_hold_stays_on_spot(pools: dict[str, int], teams: dict[str, Any]) -> None:
    world = world_of(pools, teams=teams, spot={"maxInterruptions": 0})
    world.submit("a", 5, ResourceConfig=on(2), **SPOT)
    world.tick()
    interrupt(world, "a")
    assert (world.states("a"), world.called("StopTrainingJob")) == ({"a": "running"}, [])


@pytest.mark.parametrize(("size", "state"), [(1, "running"), (0, "stopped")])
def test_a_job_without_spot_instances_moves_only_to_a_pool_that_can_hold_it(size: int, state: str) -> None:
    world = world_of({SPOT_POOL: 1, P5: size})
    world.submit("a", **{**SPOT, "StoppingCondition": {"MaxRuntimeInSeconds": 600, "MaxWaitTimeInSeconds": 600}})
    world.tick()
    world.pass_time(1000)
    assert world.states("a") == {"a": state}


def test_groups_of_one_type_that_meet_in_a_pool_add_up() -> None:
    world = world_of({SPOT_POOL: 1, P5: 1, G5: 1}, spot={"maxInterruptions": 0})
    groups = [
        {"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": 1} for name, kind in [("a", P5), ("b", G5)]
    ]
    resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
    job = world.submit("a", ResourceConfig=resources, **SPOT).job
    assert job.demand == {SPOT_POOL: 1, G5: 1}
    world.tick()
    interrupt(world, "a")
    world.pass_time(600)
    world.check()
    assert world.seen("a").job.demand == {P5: 1, G5: 1}


def test_a_job_that_left_spot_stays_in_its_pool_when_its_request_changes() -> None:
    world = world_of({P5: 2, SPOT_POOL: 4}, spot={"maxInterruptions": 0})
    world.submit("plain", 9, ResourceConfig=on(2), Environment={"SANDBOX_RUN_SECONDS": "36000"})
    world.submit("a", 5, **SPOT)
    world.tick()
    interrupt(world, "a")
    world.pass_time(600)
    assert world.seen("a").job.demand == {P5: 1}
    assert world.changes.change("a", RequestChange(instances=2), ROOT).job.demand == {P5: 2}
    with pytest.raises(ImpossibleDemand, match=f"the pool {P5} has 2 instances, not 3"):
        world.changes.change("a", RequestChange(instances=3), ROOT)
    world.check()


def test_a_job_that_waits_keeps_its_pool_when_a_spot_pool_comes() -> None:
    world = world_of({P5: 1})
    world.submit("first", 5, **SPOT)
    world.submit("second", 5, **SPOT)
    world.tick()
    configure(world, {P5: 1, SPOT_POOL: 1})
    apply_configuration(world.table, world.configuration.first, world.clocks)
    world.submit("third", 5, **SPOT)
    world.tick()
    world.check()
    states = world.states("first", "second", "third")
    assert states == {"first": "running", "second": "pending", "third": "running"}


@pytest.mark.parametrize(("spot", "charged"), [(True, {SPOT_POOL: 1}), (False, {P5: 1})])
def test_a_rogue_job_is_charged_to_the_pool_of_its_kind(spot: bool, charged: dict[str, int]) -> None:
    world = world_of()
    world.tick()
    world.fleet.create(request("rogue", **SPOT if spot else {}), now=world.now_s)
    world.pass_time(1)
    (rogue,) = read_ledger(world.table).rogues
    assert rogue.charged == charged


@pytest.mark.parametrize("pool", ["ml.p5.48xlarge.spott", "p5.48xlarge.spot", "ml.p5.48xlarge.spot.spot"])
def test_another_name_of_a_pool_is_refused_with_what_to_write(pool: str) -> None:
    with pytest.raises(InvalidConfiguration, match=r"the type and \.spot for spot instances"):
        validate({"pools": {pool: {"size": 1}}})
