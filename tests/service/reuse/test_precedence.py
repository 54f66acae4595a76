"""Of two equal jobs that have not started, the one that can start first computes, and the other one waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from headway.lifecycle import JobState
from headway.pool_names import SPOT_SUFFIX
from headway.reasons import ReasonCode
from headway_sandbox.sagemaker.faults import Faults
from headway_service.admission.submission import Submission
from headway_service.ports.table import Put
from headway_service.store.ledger import read_ledger
from headway_service.testing.memory_table import MemoryTable
from tests.service.reuse.test_reuse import (
    DATA,
    OUTPUTS,
    computed,
    configure,
    document,
    job,
    reason,
    submit,
)
from tests.service.world import ADA, BOB, P5, ROOT, World, on

SPOT = P5 + SPOT_SUFFIX


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 2, SPOT: 2})
    world.objects.put(OUTPUTS, "other", b"")
    world.objects.put(DATA, "train/a", b"1")
    return world


def urgent(priority: int = 9) -> dict[str, Any]:
    return {"Tags": [{"Key": "priority", "Value": str(priority)}]}


def fill(world: World, seconds: int = 600) -> None:
    """Have other jobs use both pools."""
    for name, more in (("uses", {}), ("uses-spot", spot())):
        world.submit(name, 99, ResourceConfig=on(2), Environment={"SANDBOX_RUN_SECONDS": str(seconds)}, **more)
    world.tick()


def pass_hours(world: World, *computing: str) -> None:
    """Let jobs run to their ends; some of them write outputs."""
    for name in computing:
        world.objects.put(OUTPUTS, f"output/{name}/output/model.tar.gz", b"model")
    for _ in range(12):
        world.pass_time(300)
        world.tick()
        world.check()


def until_others_end(world: World) -> None:
    """Let the jobs of :func:`fill` end."""
    while job(world, "uses").job_state is not JobState.COMPLETED:
        world.pass_time(60)


def spot() -> dict[str, Any]:
    limits = {"MaxRuntimeInSeconds": 86_400, "MaxWaitTimeInSeconds": 90_000}
    return {"EnableManagedSpotTraining": True, "StoppingCondition": limits}


def held(world: World) -> dict[str, Any]:
    submit(world, "first")
    world.commands.hold("first", ROOT)
    return {}


def behind(world: World) -> dict[str, Any]:
    fill(world)
    submit(world, "first")
    return urgent()


def paused(world: World) -> dict[str, Any]:
    submit(world, "first", **spot())
    world.container.pool_operations.pause(SPOT, "user/ada", "repair")
    return {}


def in_a_held_array(world: World) -> dict[str, Any]:
    """A member that is set aside."""
    fill(world)
    world.submitter.submit(Submission(request=document("array"), sweep={"list": [{"seed": "1"}]}, reuse=True), ROOT)
    world.tick()
    world.commands.hold("array", ROOT)
    world.tick()
    assert job(world, "array_0").is_set_aside
    return {"HyperParameters": {"seed": "1"}}


def denied(world: World, launches: int = 2) -> dict[str, Any]:
    submit(world, "first")
    world.fleet.faults = Faults(quotas={P5: 0})
    for _ in range(launches):
        world.tick()
        world.pass_time(30)
    assert job(world, "first").is_unlaunchable(world.clock()) is (launches > 1)
    world.fleet.faults = Faults()
    return {}


@pytest.mark.parametrize("state", [held, behind, paused, denied])
def test_an_equal_job_that_can_start_first_computes_and_the_other_one_gets_its_outputs(
    world: World, state: Callable[[World], dict[str, Any]]
):
    changes = state(world)
    seen = submit(world, "second", **changes)
    assert seen.job.reason.code is ReasonCode.ENTERED
    assert (job(world, "second").twin, job(world, "first").twin) == ("", "second")
    assert [item["jobName"] for item in computed(world)] == ["second"]
    assert not job(world, "first").computes_for_others
    world.check()
    launched = world.called("CreateTrainingJob").count("first")
    world.tick()
    pass_hours(world, "second")
    found = job(world, "first")
    assert (found.job_state, found.held, found.reused_from) == (JobState.COMPLETED, False, "second")
    assert world.called("CreateTrainingJob").count("first") == launched


def test_a_job_that_was_refused_once_computes_for_an_equal_one(world: World):
    submit(world, "second", **denied(world, launches=1))
    assert job(world, "second").twin == "first"


def test_when_a_job_becomes_unlaunchable_an_equal_one_computes_once(world: World):
    world.fleet.faults = Faults(quotas={P5: 0})
    for name in ("first", "second", "third"):
        submit(world, name)
    computes: list[str] = []
    with mock.patch.object(MemoryTable, "write", autospec=True, side_effect=MemoryTable.write) as write:
        for _ in range(60):
            world.tick()
            computes += [item["jobName"] for item in computed(world)]
            world.pass_time(30)
            world.check()
    puts = [each for call in write.call_args_list for each in call.args[1] if isinstance(each, Put)]
    assert [each.key.sk for each in puts if each.key.sk.startswith("recheck#")] == ["recheck#first", "recheck#second"]
    assert computes == sorted(computes)
    assert set(computes) == {"first", "second"}
    assert {name: job(world, name).twin for name in ("first", "second", "third")} == {
        "first": "second", "second": "", "third": "first",
    }  # fmt: skip
    world.fleet.faults = Faults()
    pass_hours(world, "second")
    assert [job(world, name).reused_from for name in ("first", "third")] == ["second", "second"]


def test_an_urgent_job_is_not_kept_by_an_equal_one_whose_array_is_held(world: World):
    submit(world, "single", **in_a_held_array(world))
    assert job(world, "array_0").twin == "single"
    world.commands.release("array", ROOT)
    world.tick()
    assert job(world, "array_0").twin == "single"
    pass_hours(world, "single")
    assert job(world, "array_0").reused_from == "single"
    assert job(world, "array").job_state is JobState.COMPLETED


def test_a_job_that_waits_for_a_member_computes_when_the_array_is_held(world: World):
    fill(world)
    world.submitter.submit(Submission(request=document("array"), sweep={"list": [{"seed": "1"}]}, reuse=True), ROOT)
    world.tick()
    submit(world, "single", HyperParameters={"seed": "1"})
    assert job(world, "single").twin == "array_0"
    world.commands.hold("array", ROOT)
    world.tick()
    assert (job(world, "single").is_queued, job(world, "array_0").twin) == (True, "single")
    world.check()


def test_a_member_that_waits_in_the_queue_computes_alone_too(world: World):
    fill(world)
    world.submitter.submit(Submission(request=document("array"), sweep={"list": [{"seed": "1"}]}, reuse=True), ROOT)
    world.tick()
    assert job(world, "array_0").is_queued
    submit(world, "single", **urgent(), HyperParameters={"seed": "1"})
    assert job(world, "single").is_queued
    member = job(world, "array_0")
    assert (member.is_queued, member.twin, member.computes_for_others) == (True, "", False)


@pytest.mark.parametrize("what", ["equal priority", "it runs", "both are paused", "both are held"])
def test_the_equal_job_that_came_first_computes_if_the_other_one_cannot_start_before(world: World, what: str):
    fill(world)
    submit(world, "first", **(urgent(3) if what == "it runs" else {}))
    if what == "it runs":
        until_others_end(world)
        assert job(world, "first").job_state is JobState.RUNNING
    if what == "both are paused":
        world.container.pool_operations.pause(P5, "user/ada", "repair")
    if what == "both are held":
        world.submit("before", 99)
        submit(world, "second", after=[{"job": "before"}], **urgent())
        for name in ("first", "second"):
            world.commands.hold(name, ROOT)
        pass_hours(world, "before")
        world.tick()
    else:
        submit(world, "second", **(urgent() if what == "it runs" else {}))
    assert job(world, "second").twin in {"first", ""}
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_those_that_wait_for_a_job_that_gave_way_are_answered_too(world: World):
    fill(world)
    for name in ("first", "follows"):
        submit(world, name)
    submit(world, "urgent", **urgent())
    assert [job(world, name).twin for name in ("first", "follows")] == ["urgent", "first"]
    pass_hours(world, "urgent")
    assert [job(world, name).reused_from for name in ("first", "follows")] == ["urgent", "urgent"]
    assert world.called("CreateTrainingJob").count("urgent") == 1
    world.check()


def test_a_job_that_gave_way_goes_on_if_the_other_one_fails(world: World):
    fill(world)
    submit(world, "first")
    submit(world, "urgent", **urgent())
    world.commands.stop("urgent", ROOT)
    world.tick()
    assert job(world, "first").is_queued
    assert job(world, "first").computes_for_others
    pass_hours(world, "first")
    assert submit(world, "third").job.reused_from == "first"


def test_the_instances_that_are_reserved_for_a_job_that_gives_way_become_free(world: World):
    fill(world)
    world.submit("other", 3, ResourceConfig=on(1), Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.pass_time(700)
    world.tick()
    submit(world, "first", ResourceConfig=on(2), **urgent(5))
    world.tick()
    world.check()
    assert [each.job_name for each in read_ledger(world.table).reservations] in (["first"], [])
    submit(world, "urgent", ResourceConfig=on(2), **urgent())
    assert job(world, "first").twin == "urgent"
    assert "first" not in [each.job_name for each in read_ledger(world.table).reservations]
    world.check()
    world.tick()
    world.pass_time(150)
    world.tick()
    assert world.states("urgent") == {"urgent": "running"}


def test_a_job_that_had_an_attempt_and_keeps_checkpoints_keeps_its_computation(world: World):
    place: dict[str, Any] = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints/a"}}
    submit(world, "first", **place)
    world.tick()
    world.submit("more", 50, ResourceConfig=on(2))
    world.tick()
    world.pass_time(200)
    world.tick()
    assert job(world, "first").job_state is JobState.PREEMPTED
    world.commands.hold("first", ROOT)
    submit(world, "second", **place, **urgent())
    assert job(world, "second").twin == "first"
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_a_job_that_had_an_attempt_without_checkpoints_computes_alone(world: World):
    submit(world, "first")
    world.tick()
    world.submit("more", 50, ResourceConfig=on(2))
    world.tick()
    world.pass_time(200)
    world.tick()
    world.commands.hold("first", ROOT)
    submit(world, "second", **urgent())
    first = job(world, "first")
    assert (job(world, "second").is_queued, first.twin, first.computes_for_others) == (True, "", False)
    world.commands.release("first", ROOT)
    world.pass_time(2000)
    world.tick()
    assert first.reuse is not None
    assert world.states("first") in ({"first": "running"}, {"first": "completed"})


def test_the_owner_of_the_job_that_gives_way_learns_only_of_jobs_that_he_may_see(world: World):
    configure(world, {"access": {"details": "owner", "admins": ["user/bob"]}})
    fill(world)
    submit(world, "first", ADA)
    submit(world, "second", BOB, **urgent())
    first = job(world, "first")
    assert (first.is_queued, first.twin) == (True, "")
    assert not first.computes_for_others
    assert [item["jobName"] for item in computed(world)] == ["second"]


def test_a_job_that_starts_meanwhile_keeps_its_computation(world: World, monkeypatch: pytest.MonkeyPatch):
    submit(world, "first")
    whole, pending = MemoryTable.write, [world.tick]

    def write(table: Any, writes: Any) -> None:
        if pending:
            pending.pop()()
        whole(table, writes)

    monkeypatch.setattr(MemoryTable, "write", write)
    submit(world, "second", **urgent())
    assert (job(world, "first").job_state, job(world, "second").twin) == (JobState.RUNNING, "first")
    assert reason(world, "second")[0] is ReasonCode.WAITS_FOR_JOBS


def test_a_job_says_what_the_equal_one_waits_for(world: World):
    submit(world, "first")
    submit(world, "second")
    world.commands.hold("first", ROOT)
    code, message = reason(world, "second")
    assert code is ReasonCode.WAITS_FOR_JOBS
    assert message.endswith(f"; `first` waits now, too: {job(world, 'first').reason.message}")
    # A third one computes, and answers both, whoever releases the first.
    submit(world, "third")
    pass_hours(world, "third")
    assert [job(world, name).reused_from for name in ("first", "second")] == ["third", "third"]


def test_when_a_job_is_held_an_equal_one_that_waits_for_it_computes(world: World):
    for name in ("first", "second", "third"):
        submit(world, name)
    world.commands.hold("first", ROOT)
    world.tick()
    assert job(world, "second").job_state is JobState.RUNNING
    assert [job(world, name).twin for name in ("first", "third")] == ["second", "first"]
    assert job(world, "second").history[1].reason.message == (
        "computes by itself, as `first` cannot start before it; entered the queue"
    )
    pass_hours(world, "second")
    assert [job(world, name).reused_from for name in ("first", "third")] == ["second", "second"]
    assert read_ledger(world.table).rechecks == ()


def test_a_held_job_that_is_released_before_a_lesser_equal_one_started_computes_again(world: World):
    fill(world)
    submit(world, "first", **urgent())
    submit(world, "second")
    world.commands.hold("first", ROOT)
    world.tick()
    assert (job(world, "first").twin, job(world, "second").is_queued) == ("second", True)
    world.commands.release("first", ROOT)
    world.tick()
    assert (job(world, "second").twin, job(world, "first").is_queued) == ("first", True)
    assert [item["jobName"] for item in computed(world)] == ["first"]
    pass_hours(world, "first")
    assert job(world, "second").reused_from == "first"
    assert world.called("CreateTrainingJob").count("second") == 0


@pytest.mark.parametrize(("raised", "to"), [("first", 0), ("second", 9)])
def test_a_change_of_priority_has_equal_jobs_compared_again(world: World, raised: str, to: int):
    fill(world)
    submit(world, "first", **urgent(5))
    submit(world, "second", **urgent(3))
    world.commands.set_priority(raised, to, ROOT)
    world.tick()
    assert (job(world, "first").twin, job(world, "second").is_queued) == ("second", True)
    world.tick()
    assert (job(world, "first").twin, job(world, "second").is_queued) == ("second", True)
    world.check()


def test_a_job_that_waits_for_something_else_or_is_held_too_computes_for_no_held_one(world: World):
    world.submit("before", 99)
    submit(world, "first")
    submit(world, "second")
    submit(world, "third", after=[{"job": "before"}])
    world.commands.hold("second", ROOT)
    world.commands.hold("first", ROOT)
    assert len(read_ledger(world.table).rechecks) == 1
    world.tick()
    assert read_ledger(world.table).rechecks == ()
    assert [item["jobName"] for item in computed(world)] == ["first"]


def test_a_job_without_equal_ones_is_never_compared_again(world: World):
    submit(world, "first")
    world.submit("plain")
    for name in ("first", "plain"):
        world.commands.hold(name, ROOT)
        world.commands.release(name, ROOT)
        world.commands.set_priority(name, 7, ROOT)
    assert read_ledger(world.table).rechecks == ()
