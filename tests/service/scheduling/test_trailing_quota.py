"""Starts right after an end, while SageMaker still counts the ended job's instances against the account's quota."""

from __future__ import annotations

import pytest

from headway_sandbox.sagemaker.faults import Faults
from tests.service.world import P5, World, on

TRAILS_S = 150
"""How long use trails an end: beyond two of the queue's pauses after a refusal, which take a minute each."""


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


def test_a_start_that_is_refused_for_a_job_which_has_ended_is_made_later_and_nobody_passes_it(world: World) -> None:
    world.submit("first", ResourceConfig=on(2))
    world.tick()
    world.submit("second", ResourceConfig=on(2))
    world.fleet.finish("first", now=world.now_s)
    world.pass_time(1)
    assert world.states("first", "second") == {"first": "completed", "second": "pending"}
    assert "SageMaker postponed the last launch" in world.seen("second").reason.message
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
    assert len(world.called("CreateTrainingJob")) <= 2 + TRAILS_S // 60 + 1, "once a minute, no more"


def test_the_job_that_was_preempted_is_not_started_again_in_the_place_of_its_preemptor(world: World) -> None:
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


def test_one_after_the_other_gets_its_turn_in_order(world: World) -> None:
    names = [f"job-{number}" for number in range(6)]
    for name in names:
        world.submit(name)
        world.now_s += 1
    minutes(world, 60)
    assert set(world.states(*names).values()) == {"completed"}
    first_tries = list(dict.fromkeys(world.called("CreateTrainingJob")))
    assert first_tries == names
