"""A job that SageMaker has no instances for gives its part of the pool back, and preempts nobody until it has run."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.sagemaker.faults import Faults
from headway_service.store.ledger import read_ledger
from tests.service.world import P5, ROOT, World, on

HOUR_S = 3600
CPU = "ml.c5.xlarge"
MINUTES: dict[str, Any] = {"Environment": {"SANDBOX_RUN_SECONDS": "36000"}}
SPOT: dict[str, Any] = {
    "EnableManagedSpotTraining": True,
    "StoppingCondition": {"MaxRuntimeInSeconds": 40_000, "MaxWaitTimeInSeconds": 90_000},
}


def world_of(*, size: int = 1, **document: Any) -> World:
    world = World()
    pools = {P5: {"size": size}, CPU: {"size": 1}}
    world.configuration.write({"pools": pools, "maxPendingSeconds": HOUR_S, **document})
    world.fleet.faults = Faults(capacity={P5: 0, CPU: 0}, capacity_wait_s=10 * HOUR_S)
    return world


def minutes(world: World, count: int, *, deliver: bool = True) -> None:
    """Let minutes pass, each with the reconcile run of the deployment and the tick that it requests."""
    for _ in range(count):
        world.pass_time(60, deliver=deliver)
        world.reconcile()
        world.tick()
        world.check()


def launched(world: World) -> list[dict[str, Any]]:
    return [request for operation, request in world.calls if operation == "CreateTrainingJob"]


def codes(world: World, name: str) -> list[str]:
    return [step.reason.code for step in world.seen(name).job.history]


# MaxPendingTimeInSeconds has an effect on accelerated instances only, and is at least 1,800 s.
@pytest.mark.parametrize(
    ("pool", "ended_by"), [(P5, ["Retried"]), (CPU, ["NoInstances", "Retried"])], ids=["SageMaker", "the queue"]
)
def test_a_job_without_instances_ends_and_waits_in_its_place(pool: str, ended_by: list[str]) -> None:
    world = world_of()
    world.submit("a", 5, ResourceConfig=on(1, pool))
    world.tick()
    minutes(world, 59)
    assert world.states("a") == {"a": "running"}
    minutes(world, 4)
    seen = world.seen("a")
    assert (seen.job.job_state, seen.place, seen.job.retried) == ("pending", 1, {"capacity": 1})
    assert (seen.reason.code, seen.reason.message.startswith(f"its last launch on 1 {pool} got no instances: ")) == (
        "Unlaunchable",
        True,
    )
    assert seen.job.history[-1].reason.message == "got no instances within 1 h; retried in 5 min (retry 1)"
    assert codes(world, "a") == ["Entered", "Started", *ended_by]
    assert not read_ledger(world.table).attempts
    # When there are instances again, it gets them.
    world.fleet.faults = Faults()
    minutes(world, 30)
    assert world.states("a") == {"a": "completed"}


@pytest.mark.parametrize("ends_as", ["Stopped", "Failed"])
@pytest.mark.parametrize("policy_s", [None, 2 * HOUR_S])
def test_a_job_that_sagemaker_ends_after_its_own_pending_time_is_retried(ends_as: str, policy_s: int | None) -> None:
    world = world_of(maxPendingSeconds=policy_s)
    world.fleet.faults = world.fleet.faults.with_changes({"pending_expiry": ends_as})
    limits = {"MaxRuntimeInSeconds": HOUR_S, "MaxPendingTimeInSeconds": HOUR_S}
    world.submit("a", StoppingCondition=limits)
    world.tick()
    world.pass_time(HOUR_S + 10)
    seen = world.seen("a")
    assert (seen.job.job_state, seen.job.retried) == ("pending", {"capacity": 1})
    assert seen.job.history[-1].reason.message == "got no instances within 1 h; retried in 5 min (retry 1)"
    assert seen.job.attempts[-1].training_job_status == ends_as
    assert not world.called("StopTrainingJob")


def test_without_a_limit_a_pending_job_keeps_its_place_in_the_pool() -> None:
    world = world_of(maxPendingSeconds=None)
    world.submit("a")
    world.tick()
    minutes(world, 120)
    assert world.states("a") == {"a": "running"}
    assert launched(world)[0]["StoppingCondition"] == {"MaxRuntimeInSeconds": 86_400}


def test_a_job_stopped_outside_the_queue_before_its_pending_time_is_not_retried() -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    world.pass_time(HOUR_S // 2)
    world.fleet.stop("a", now=world.now_s)
    world.pass_time(60)
    assert world.states("a") == {"a": "stopped"}
    assert codes(world, "a")[-1] == "StoppedOutsideTheQueue"


def test_an_attempt_that_has_instances_is_not_stopped_however_late_it_got_them() -> None:
    world = world_of()
    world.submit("a", **MINUTES)
    world.tick()
    world.pass_time(HOUR_S - 120)
    world.fleet.faults = Faults()
    # Its events are lost, so only the reconcile run learns that it has instances.
    minutes(world, 120, deliver=False)
    assert (world.states("a"), world.called("StopTrainingJob")) == ({"a": "running"}, [])


def test_the_stop_is_due_although_the_listing_shows_no_change() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=on(1, CPU))
    world.tick()
    minutes(world, 58)
    described = len(world.called("DescribeTrainingJob"))
    assert described <= 12, "the listing is enough until then"
    minutes(world, 3)
    assert world.called("StopTrainingJob") == ["a"]


def test_a_spot_job_is_limited_by_its_own_waiting_time_until_it_leaves_spot() -> None:
    world = world_of()
    world.fleet.faults = world.fleet.faults.with_changes({"capacity_wait_s": 30 * HOUR_S})
    world.submit("a", **SPOT)
    world.tick()
    minutes(world, 120)
    assert world.states("a") == {"a": "running"}
    assert "MaxPendingTimeInSeconds" not in launched(world)[0]["StoppingCondition"]
    world.pass_time(90_000 - 120 * 60 + 300)
    assert world.seen("a").job.on_demand
    minutes(world, 62)
    assert launched(world)[1]["StoppingCondition"] == {
        "MaxRuntimeInSeconds": 40_000,
        "MaxPendingTimeInSeconds": HOUR_S,
    }
    assert world.seen("a").job.retried == {"capacity": 1}


def test_a_job_that_preempted_in_vain_preempts_nobody_until_it_has_had_instances() -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 9, "backoffSeconds": 60}})
    world.fleet.faults = Faults()
    world.submit("low", 1, **MINUTES)
    world.tick()
    minutes(world, 10)
    world.submit("high", 9, Environment={"SANDBOX_RUN_SECONDS": "600"})
    world.tick()
    world.fleet.faults = Faults(capacity={P5: 0}, capacity_wait_s=10 * HOUR_S)
    minutes(world, 5)
    assert world.states("low", "high") == {"low": "preempted", "high": "running"}
    world.fleet.faults = Faults(capacity={P5: 0}, pending_expiry="Failed")
    world.pass_time(HOUR_S)
    world.fleet.faults = Faults()
    # It backs off, and holds its reserved start; `low` would start beside it in a larger pool.
    assert world.seen("high").job.failed is not None
    world.commands.stop("low", ROOT)
    minutes(world, 20)
    assert world.states("high") == {"high": "completed"}
    assert world.seen("low").job.preemption_count == 1


def test_while_others_run_it_waits_for_them_and_a_release_allows_preemption_again() -> None:
    world = world_of(size=2)
    world.fleet.faults = Faults()
    world.submit("low", 1, **MINUTES)
    world.tick()
    minutes(world, 10)
    # SageMaker has instances for one job only.
    world.fleet.faults = Faults(capacity={P5: 1}, capacity_wait_s=10 * HOUR_S)
    world.submit("high", 9, **MINUTES)
    world.tick()
    minutes(world, 61)
    assert codes(world, "high")[-1] == "Retried"
    world.fleet.faults = Faults()
    world.submit("urgent", 10, **MINUTES)
    world.tick()
    minutes(world, 60)
    assert world.states("low", "high", "urgent") == {"low": "running", "high": "pending", "urgent": "running"}
    assert world.seen("high").reason.code == "Unlaunchable"
    assert world.seen("low").job.preemption_count == 0
    world.commands.hold("high", ROOT)
    world.commands.release("high", ROOT)
    assert "starts on 1 ml.p5.48xlarge as soon as `low` has stopped" in world.seen("high").reason.message
    world.tick()
    assert world.states("low") == {"low": "stopping"}


def test_a_job_out_of_retries_fails_with_the_reason() -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 0}})
    world.submit("a")
    world.tick()
    minutes(world, 63)
    seen = world.seen("a")
    assert (seen.job.job_state, seen.reason.code) == ("failed", "NoInstances")
    assert seen.reason.message == ("got no instances within 1 h; a failure of the kind `capacity` is not retried")


@pytest.mark.parametrize("fails", [False, True], ids=["stopped", "failed, as it does not take SIGTERM well"])
def test_an_attempt_that_gets_instances_just_before_its_stop_is_no_failure_for_want_of_capacity(fails: bool) -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 0}})
    world.submit("a", ResourceConfig=on(1, CPU), **MINUTES)
    world.tick()
    world.pass_time(HOUR_S)
    world.reconcile()
    assert codes(world, "a")[-1] == "NoInstances"
    world.fleet.faults = Faults()
    world.pass_time(300, tick=False)
    if fails:
        world.fleet.fail("a", "AlgorithmError: exit code 143", now=world.now_s)
    else:
        world.tick()
    world.pass_time(300, tick=False)
    job = world.seen("a").job
    assert (job.job_state, job.retried, job.failed) == ("pending", {}, None)
    reason = job.history[-1].reason
    assert reason.code == "Requeued"
    assert reason.message == (
        "waits again in its old place in the queue: stopped as it had no instances after 1 h; it got them just "
        "before the stop, so this counts as no failure"
    )
    minutes(world, 5)
    assert world.states("a") == {"a": "running"}


def test_a_stop_on_request_counts_although_the_queue_was_stopping_it() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=on(1, CPU))
    world.tick()
    world.pass_time(HOUR_S)
    world.reconcile()
    assert codes(world, "a")[-1] == "NoInstances"
    world.commands.stop("a", ROOT)
    minutes(world, 5)
    assert world.states("a") == {"a": "stopped"}


def test_a_job_that_completes_while_it_is_being_stopped_is_completed() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=on(1, CPU))
    world.tick()
    world.pass_time(HOUR_S)
    world.reconcile()
    world.fleet.finish("a", now=world.now_s)
    world.pass_time(5)
    assert world.states("a") == {"a": "completed"}


def preempts_in_vain(world: World) -> None:
    """`low` trains, and is preempted for `high`, which gets no instances and backs off for a minute."""
    world.fleet.faults = Faults()
    world.submit("low", 1, **MINUTES)
    world.tick()
    minutes(world, 10)
    world.submit("high", 9, **MINUTES)
    world.tick()
    world.fleet.faults = Faults(capacity={P5: 0}, pending_expiry="Failed")
    minutes(world, 63)
    assert world.seen("high").job.failed is not None
    world.commands.stop("low", ROOT)
    minutes(world, 2)


def test_a_job_that_has_had_instances_since_preempts_again() -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 9, "backoffSeconds": 60}})
    preempts_in_vain(world)
    world.fleet.faults = Faults()
    minutes(world, 20)
    # It trains, and waits again for another reason.
    world.fleet.fail(str(world.seen("high").job.live_attempt), "InternalServerError: x", now=world.now_s)
    world.pass_time(1)
    job = world.seen("high").job
    assert (job.job_state, job.retried["service"], job.waiting().failed) == ("pending", 1, None)


def test_a_job_whose_next_attempt_ends_before_it_gets_instances_still_preempts_nobody() -> None:
    world = world_of(retries={"capacity": {"maxPerJob": 9, "backoffSeconds": 60}})
    preempts_in_vain(world)
    minutes(world, 12)
    assert world.states("high") == {"high": "running"}
    world.submit("urgent", 10)
    world.tick()
    minutes(world, 5)
    assert world.states("urgent") == {"urgent": "running"}
    assert world.seen("high").job.failed is not None


def test_a_job_that_fails_by_its_own_fault_when_its_pending_time_ends_is_not_retried() -> None:
    world = world_of()
    world.submit("a")
    world.tick()
    world.pass_time(HOUR_S - 10)
    world.fleet.fail("a", "ClientError: the image does not exist", now=world.now_s)
    world.pass_time(1)
    assert world.states("a") == {"a": "failed"}


def test_a_preempted_job_whose_pending_time_ends_meanwhile_was_preempted() -> None:
    world = world_of()
    world.submit("low", 1)
    world.tick()
    world.pass_time(HOUR_S - 20)
    world.submit("high", 9)
    world.tick()
    minutes(world, 2)
    assert (world.states("low"), world.seen("low").job.retried) == ({"low": "preempted"}, {})


def test_neither_a_launch_without_an_answer_nor_a_job_that_trains_is_described_for_its_pending_time() -> None:
    world = world_of(size=2)
    world.fleet.faults = Faults()
    world.submit("trains", **MINUTES)
    world.tick()
    minutes(world, 30)
    world.fleet.faults = Faults(throttle={"CreateTrainingJob": 10_000})
    world.submit("launching")
    world.tick()
    world.pass_time(HOUR_S)
    world.calls.clear()
    assert [each.attempt_state for each in read_ledger(world.table).attempts] == ["launching", "live"]
    for _ in range(3):
        world.pass_time(30)
        world.reconcile()
    assert world.called("DescribeTrainingJob") == []


def test_one_run_describes_an_attempt_once_although_its_status_is_old_as_well() -> None:
    world = world_of()
    world.submit("a", ResourceConfig=on(1, CPU))
    world.tick()
    world.pass_time(HOUR_S, deliver=False)
    world.reconcile()
    assert world.called("DescribeTrainingJob") == ["a"]
