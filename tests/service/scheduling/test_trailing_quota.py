"""Starts right after an end, while SageMaker still counts the ended job's instances against the account's quota."""

from __future__ import annotations

import pytest

from headway_sandbox.sagemaker.faults import Faults
from tests.service.world import P5, World, on

TRAILS_S = 150
"""How long use trails an end: beyond several of the queue's waits after a refusal."""

WAITS_S = (10, 20, 40, 60, 60)
"""These waits together exceed the time above."""


@pytest.fixture
def world() -> World:
    """A pool of two, with a quota that is no larger."""
    made = World(pools={P5: 2})
    made.fleet.faults = Faults(quotas={P5: 2}, quota_lag_s=TRAILS_S)
    return made


def minutes(world: World, many: int) -> None:
    """Let minutes pass, with a tick in each."""
    for _ in range(many):
        world.pass_time(60)
        world.tick()
        world.check()


def test_a_start_refused_because_of_an_ended_job_is_retried_later_and_not_overtaken(world: World) -> None:
    world.submit("first", ResourceConfig=on(2))
    world.tick()
    world.submit("second", ResourceConfig=on(2))
    world.fleet.finish("first", now=world.now_s)
    world.pass_time(1)
    assert world.states("first", "second") == {"first": "completed", "second": "pending"}
    assert "SageMaker did not launch it (ResourceLimitExceeded" in world.seen("second").reason.message
    started: list[str] = []
    for number in range(6):
        # One arrives at the very moment when it may be started again, and one in between.
        world.submit(f"late-{number}")
        world.pass_time(30)
        world.tick()
        world.check()
        if not started:
            started = [name for name, state in world.states("second", "late-0").items() if state == "running"]
    assert started == ["second"]
    assert set(world.called("CreateTrainingJob")) == {"first", "second"}
    assert sum(WAITS_S[:-1]) < TRAILS_S < sum(WAITS_S)
    assert len(world.called("CreateTrainingJob")) <= 2 + len(WAITS_S)


def test_a_preempted_job_is_not_started_instead_of_its_preemptor(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.submit("urgent", 9, ResourceConfig=on(2))
    world.tick()
    world.pass_time(180)
    assert world.states("low", "urgent") == {"low": "preempted", "urgent": "pending"}
    minutes(world, 4)
    assert world.states("low", "urgent") == {"low": "preempted", "urgent": "running"}
    assert world.seen("low").job.preemption_count == 1
    assert world.called("StopTrainingJob") == ["low"]
    world.pass_time(900)
    minutes(world, 5)
    assert world.states("low", "urgent") == {"low": "running", "urgent": "completed"}


@pytest.mark.parametrize(("trails_s", "tries"), [(5, 2), (10, 2), (11, 3), (30, 3), (31, 4)])
def test_a_preemptor_starts_soon_after_its_victims_instances_are_free(world: World, trails_s: int, tries: int) -> None:
    world.fleet.faults = Faults(quotas={P5: 2}, quota_lag_s=trails_s)
    world.submit("low", 1, ResourceConfig=on(2))
    world.tick()
    world.pass_time(300)
    world.submit("urgent", 9, ResourceConfig=on(2))
    world.tick()
    while world.states("low")["low"] != "preempted":
        world.pass_time(1)
    ended_s = world.now_s
    while world.states("urgent")["urgent"] != "running":
        world.pass_time(1)
        world.tick()
    assert world.called("CreateTrainingJob").count("urgent") == tries
    assert world.now_s - ended_s == sum(WAITS_S[: tries - 1])


def test_a_quota_that_stays_too_small_is_tried_more_and_more_rarely(world: World) -> None:
    world.fleet.faults = Faults(quotas={P5: 0})
    world.submit("a")
    for _ in range(3600):
        world.tick()
        world.pass_time(1)
    assert world.called("CreateTrainingJob") == ["a"] * 11


def test_jobs_start_one_after_the_other_in_order(world: World) -> None:
    names = [f"job-{number}" for number in range(6)]
    for name in names:
        world.submit(name)
        world.now_s += 1
    minutes(world, 60)
    assert set(world.states(*names).values()) == {"completed"}
    first_tries = list(dict.fromkeys(world.called("CreateTrainingJob")))
    assert first_tries == names
