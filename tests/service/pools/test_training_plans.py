"""Pools that follow a training plan of SageMaker."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.inprocess.deployment import START_S
from headway_sandbox.sagemaker.capacity.training_plan import Block, TrainingPlan
from headway_service.errors import ImpossibleDemand, InvalidRequest
from headway_service.sagemaker_api.request_change import RequestChange
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World, on, request

POOL = f"{P5}.plan.spring"
HOUR_S = 3600.0
#: What still runs is stopped so long before the end of a block: SageMaker's 30 minutes and the queue's 5.
MARGIN_S = 35 * 60.0
CHECKPOINTS: dict[str, Any] = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints"}}
LONG = {"Environment": {"SANDBOX_RUN_SECONDS": "500000"}}


def plan_of(*hours: tuple[float, float], count: int = 2, name: str = "spring", **more: Any) -> TrainingPlan:
    """A plan with blocks from and to these hours after the start of the world."""
    blocks = tuple(Block(start=START_S + begin * HOUR_S, end=START_S + end * HOUR_S) for begin, end in hours)
    return TrainingPlan(name=name, instance_type=P5, instance_count=count, blocks=blocks, **more)


def world_of(*hours: tuple[float, float], pool: dict[str, Any] | None = None, **more: Any) -> World:
    """A world with a pool of a plan, which SageMaker has described."""
    world = World(pools={P5: 1})
    put(world, *hours, **more)
    plan = {"plan": arn_of(world), **(pool or {})}
    world.configuration.write({"pools": {P5: {"size": 1}, POOL: plan}})
    settle(world)
    return world


def put(world: World, *hours: tuple[float, float], **more: Any) -> None:
    world.fleet.put_plan(plan_of(*hours, **more), now=world.now_s)


def arn_of(world: World, name: str = "spring") -> str:
    return world.fleet.arn("").replace("training-job/", f"training-plan/{name}")


def settle(world: World) -> None:
    """A minute's functions."""
    world.tick()
    world.reconcile()
    world.tick()


def advance(world: World, seconds: float) -> None:
    """Let time pass with a reconcile run and a tick every minute."""
    end_s = world.now_s + seconds
    while world.now_s < end_s:
        world.pass_time(min(60, end_s - world.now_s))
        settle(world)


def in_plan(world: World, count: int = 1, name: str = "spring") -> dict[str, Any]:
    """The changes to a request that make it one for the plan."""
    return {"ResourceConfig": {**on(count), "TrainingPlanArn": arn_of(world, name)}}


def limited(hours: float) -> dict[str, Any]:
    """A job that may hold its instances for so long, of which half an hour is for its start and end."""
    return {"StoppingCondition": {"MaxRuntimeInSeconds": round((hours - 0.5) * HOUR_S)}, **LONG}


def size(world: World) -> int:
    return next(pool.size for pool in read_ledger(world.table).pools if pool.pool == POOL)


def test_a_job_in_the_plan_is_charged_to_its_pool_and_others_are_not() -> None:
    world = world_of((0, 10))
    world.submit("planned", **in_plan(world), **limited(2))
    world.submit("plain")
    world.tick()
    world.check()
    assert world.states("planned", "plain") == {"planned": "running", "plain": "running"}
    assert world.seen("planned").job.demand == {POOL: 1}
    assert world.seen("plain").job.demand == {P5: 1}


def test_without_a_pool_of_the_plan_its_jobs_are_charged_to_the_pool_of_their_type() -> None:
    world = World(pools={P5: 1})
    put(world, (0, 10))
    world.submit("planned", **in_plan(world))
    assert world.seen("planned").job.demand == {P5: 1}
    world.reconcile()
    assert [operation for operation, _ in world.calls if operation == "DescribeTrainingPlan"] == []


def test_the_size_follows_the_blocks_of_the_plan() -> None:
    world = world_of((1, 3), (5, 8))
    seen = []
    for _ in range(9):
        seen.append(size(world))
        advance(world, HOUR_S)
    assert seen == [0, 2, 2, 0, 0, 2, 2, 2, 0]


@pytest.mark.parametrize(("pool", "unhealthy", "expected"), [({"size": 1}, 0, 1), ({"size": 3}, 0, 2), ({}, 1, 1)])
def test_the_size_is_bounded_and_leaves_out_what_is_unhealthy(
    pool: dict[str, Any], unhealthy: int, expected: int
) -> None:
    assert size(world_of((0, 10), pool=pool, unhealthy=unhealthy)) == expected


def test_before_sagemaker_has_described_the_plan_nothing_starts_there() -> None:
    world = World(pools={P5: 1})
    put(world, (0, 10))
    world.configuration.write({"pools": {P5: {"size": 1}, POOL: {"plan": arn_of(world)}}})
    world.tick()
    world.submit("planned", **in_plan(world), **limited(2))
    world.tick()
    assert world.states("planned") == {"planned": "pending"}
    assert world.seen("planned").reason.message == (
        f"waits for 1 {POOL}: the training plan `spring` has not been described by SageMaker yet, which takes some "
        "minutes at most"
    )
    settle(world)
    assert world.states("planned") == {"planned": "running"}


def test_a_plan_with_another_arn_has_not_been_described_yet() -> None:
    world = world_of((0, 10))
    assert size(world) == 2
    other = arn_of(world).replace(":123456789012:", ":210987654321:")
    assert other != arn_of(world)
    world.configuration.write({"pools": {P5: {"size": 1}, POOL: {"plan": other}}})
    world.tick()
    assert size(world) == 0
    calendar = next(each for each in read_ledger(world.table).calendars if each.pool == POOL)
    assert "has not been described by SageMaker yet" in calendar.about
    assert not calendar.stops


def test_a_job_for_a_scheduled_plan_waits_and_says_when_that_begins() -> None:
    world = world_of((2, 10))
    world.submit("planned", **in_plan(world), **limited(2))
    world.tick()
    assert world.seen("planned").reason.message.startswith(
        f"waits for 1 {POOL}: the pool has 0 now, and 2 from 10:00 UTC on; starts by 10:00 UTC"
    )
    advance(world, 2 * HOUR_S)
    assert world.states("planned") == {"planned": "running"}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        (limited(4), "running"),
        (limited(5), "pending"),
        ({**limited(5), **CHECKPOINTS}, "running"),
        ({**limited(5), "Tags": [{"Key": "headway:stop-at-plan-end", "Value": "true"}]}, "running"),
        ({**limited(5), "Tags": [{"Key": "headway:stop-at-plan-end", "Value": "false"}]}, "pending"),
    ],
    ids=["in time", "too long", "checkpoints", "asks for it", "asks not for it"],
)
def test_only_a_job_that_ends_in_time_or_may_be_stopped_starts(changes: dict[str, Any], state: str) -> None:
    world = world_of((0, 5))
    world.submit("planned", **in_plan(world), **changes)
    world.tick()
    assert world.states("planned") == {"planned": state}
    if state == "pending":
        assert "one that writes checkpoints (CheckpointConfig) or has the tag" in world.seen("planned").reason.message


def test_a_start_that_is_carried_out_late_is_decided_again_unless_it_may_be_stopped() -> None:
    world = world_of((0, 5))
    exact = round((5 * HOUR_S - MARGIN_S) / HOUR_S, 6)
    world.submit("limited", **in_plan(world), **limited(exact))
    world.submit("stoppable", **in_plan(world), **limited(exact), **CHECKPOINTS)

    def later() -> None:
        world.now_s += 1

    report = world.interrupted_tick(later)
    assert (report.rejected, report.started) == (1, ["stoppable"])
    assert world.states("limited") == {"limited": "pending"}


def test_a_job_is_stopped_before_its_instances_go_and_resumes_in_the_next_block() -> None:
    world = world_of((0, 2), (4, 10))
    world.submit("planned", **in_plan(world, 2), **CHECKPOINTS, **limited(20))
    world.tick()
    advance(world, 2 * HOUR_S - MARGIN_S + 60)
    assert world.called("StopTrainingJob") == ["planned"]
    assert world.seen("planned").job.history[-1].reason.code == "PoolShrank"
    advance(world, 240)
    job = world.seen("planned").job
    assert job.job_state == "pending"
    assert job.preemption_count == 0
    advance(world, 2.5 * HOUR_S)
    assert world.states("planned") == {"planned": "running"}
    assert len(world.called("CreateTrainingJob")) == 2
    world.check()


@pytest.mark.parametrize("status", ["Stopped", "Failed"])
def test_a_job_whose_instances_sagemaker_took_waits_again(status: str) -> None:
    world = world_of((0, 2), (4, 10))
    world.fleet.faults = world.fleet.faults.with_changes({"plan_end": status})
    world.submit("planned", **in_plan(world), **CHECKPOINTS, **limited(20))
    world.tick()
    # No function runs for half an hour.
    world.pass_time(2 * HOUR_S, tick=False)
    job = world.seen("planned").job
    assert job.job_state == "pending"
    assert job.reason.message.startswith("ended as SageMaker took the instances of the training plan `spring`")
    advance(world, 2.1 * HOUR_S)
    assert world.states("planned") == {"planned": "running"}


def test_a_job_that_ends_within_a_block_ends_for_itself() -> None:
    world = world_of((0, 9))
    world.submit("planned", **in_plan(world), **CHECKPOINTS, **limited(20))
    world.tick()
    world.pass_time(HOUR_S)
    world.fleet.fail("planned", "AlgorithmError: a bug", now=world.now_s)
    world.pass_time(60)
    assert world.states("planned") == {"planned": "failed"}


def test_a_limit_that_is_reached_at_the_end_of_a_plan_ends_the_job() -> None:
    world = world_of((0, 2), (4, 10))
    world.submit("planned", **in_plan(world), **CHECKPOINTS, **limited(1.9))
    world.tick()
    world.pass_time(2 * HOUR_S, tick=False)
    assert world.states("planned")["planned"] in {"stopped", "failed"}


def test_an_extension_of_the_plan_is_followed() -> None:
    world = world_of((0, 5))
    world.submit("planned", **in_plan(world), **limited(6))
    world.tick()
    assert world.states("planned") == {"planned": "pending"}
    put(world, (0, 8))
    settle(world)
    assert world.states("planned") == {"planned": "running"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"failed": True}, "the training plan `spring` is Failed"),
        ({"ready_at": START_S + 4 * HOUR_S}, "the training plan `spring` is Pending"),
        ({"target": "hyperpod-cluster"}, "the training plan `spring` is for hyperpod-cluster, not for training jobs"),
    ],
)
def test_a_plan_that_cannot_be_used_has_no_instances_and_says_so(more: dict[str, Any], said: str) -> None:
    world = World(pools={P5: 1})
    put(world, (0, 10), **more)
    world.configuration.write({"pools": {P5: {"size": 1}, POOL: {"plan": arn_of(world)}}})
    world.tick()
    world.submit("planned", **in_plan(world), **limited(2))
    settle(world)
    assert size(world) == 0
    assert said in world.seen("planned").reason.message


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"failed": True}, "cannot be used, as the training plan `spring` is Failed"),
        ({"target": "hyperpod-cluster"}, "is for hyperpod-cluster, not for training jobs"),
    ],
)
def test_a_submission_to_a_plan_that_cannot_be_used_is_refused(more: dict[str, Any], said: str) -> None:
    world = world_of((0, 10), **more)
    with pytest.raises(InvalidRequest, match=said):
        world.submit("planned", **in_plan(world), **limited(2))


def test_a_submission_to_a_plan_that_has_ended_names_its_end() -> None:
    world = world_of((0, 2))
    world.submit("waits", **in_plan(world), **limited(20))
    accepted = world.submit("early", **in_plan(world), **limited(20))
    advance(world, 2.5 * HOUR_S)
    with pytest.raises(InvalidRequest, match=r"the training plan `spring` ended at 2027-01-15 10:00 UTC"):
        world.submit("late", **in_plan(world), **limited(2))
    assert world.submit("early", **in_plan(world), **limited(20)).job.job_name == accepted.job.job_name
    assert "stop the job and submit one without the plan" in world.seen("waits").reason.message
    with pytest.raises(InvalidRequest, match="`spring` ended"):
        world.changes.change("waits", RequestChange(instances=2), ROOT)


def test_a_submission_of_more_than_the_plan_has_is_refused() -> None:
    world = world_of((0, 10))
    with pytest.raises(ImpossibleDemand, match=f"the pool {POOL} has 2 instances at most from now on, not 3"):
        world.submit("planned", **in_plan(world, 3), **limited(2))


@pytest.mark.parametrize("missing_s", [60, 180])
def test_a_plan_that_is_not_found_has_no_instances_only_after_a_while(missing_s: int) -> None:
    world = world_of((0, 10))
    world.submit("runs", **in_plan(world), **limited(2))
    world.tick()
    advance(world, 600)
    world.fleet._supply.plans._plans.clear()
    advance(world, missing_s)
    assert size(world) == (2 if missing_s == 60 else 0)
    assert world.states("runs") == {"runs": "running"}, "that it is not found stops nothing"
    if missing_s == 180:
        with pytest.raises(InvalidRequest, match="is not found in this account and region"):
            world.submit("planned", **in_plan(world), **limited(2))
        put(world, (0, 10))
        settle(world)
        assert size(world) == 2


def test_what_turns_unhealthy_is_taken_from_the_cheapest_job() -> None:
    world = world_of((0, 20))
    world.submit("dear", 5, **in_plan(world), **limited(2))
    world.submit("cheap", 1, **in_plan(world), **limited(2))
    world.tick()
    put(world, (0, 20), unhealthy=1)
    settle(world)
    assert world.called("StopTrainingJob") == ["cheap"]


def test_a_job_that_is_not_preemptible_is_stopped_too() -> None:
    world = world_of((0, 2))
    policy = {"preemption": {"optOut": True}, "pools": {P5: {"size": 1}, POOL: {"plan": arn_of(world)}}}
    world.configuration.write(policy)
    settle(world)
    tags: dict[str, Any] = {"Tags": [{"Key": "headway:preemptible", "Value": "false"}]}
    world.submit("planned", **in_plan(world), **CHECKPOINTS, **limited(20), **tags)
    world.tick()
    advance(world, 2 * HOUR_S - MARGIN_S + 60)
    assert world.called("StopTrainingJob") == ["planned"]


def test_a_training_job_outside_the_queue_is_charged_to_the_pool_of_its_plan() -> None:
    world = world_of((0, 10))
    theirs = {**request("theirs"), **in_plan(world), **LONG}
    world.fleet.call("CreateTrainingJob", theirs, now=world.now_s)
    world.pass_time(200)
    world.patrol()
    free = {pool.pool: pool.free for pool in read_ledger(world.table).pools}
    assert free == {P5: 1, POOL: 1}


def test_a_pool_that_follows_no_plan_any_more_forgets_it() -> None:
    world = world_of((0, 10))
    world.configuration.write({"pools": {P5: {"size": 1}}})
    settle(world)
    ledger = read_ledger(world.table)
    assert (ledger.plans, ledger.calendars) == ((), ())
    assert [pool.pool for pool in ledger.pools] == [P5]


def test_a_forecast_follows_the_plan() -> None:
    world = world_of((2, 10))
    world.submit("planned", **in_plan(world), **limited(2))
    (expected,) = world.forecast_service.forecast("planned", 10).jobs
    assert expected.start_ms == (START_S + 2 * HOUR_S) * 1000


def test_an_unchanged_plan_is_not_written_again() -> None:
    world = world_of((0, 10))
    version = read_ledger(world.table).plans[0].version
    advance(world, 600)
    assert read_ledger(world.table).plans[0].version == version
