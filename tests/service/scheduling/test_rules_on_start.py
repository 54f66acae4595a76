"""The rules are looked at again when a job starts: they may have changed since it was submitted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.world import P5, World

TAGGED = {"require": {"tags": {"project": ["*"]}}}


def world_of(**rules: Any) -> World:
    world = World()
    configure(world, **rules)
    return world


def configure(world: World, **rules: Any) -> None:
    world.configuration.write({"pools": {P5: {"size": 1}}, "rules": rules})


def history(world: World, name: str) -> list[str]:
    return [str(step.reason.code) for step in world.seen(name).job.history]


def test_a_starting_job_that_violates_a_new_rule_is_stopped_if_the_rule_requires_it() -> None:
    world = world_of()
    world.submit("a", Environment={"SANDBOX_RUN_SECONDS": "86400"})
    configure(world, tagged={**TAGGED, "onStart": "stop"})
    world.tick()
    world.pass_time(600)
    world.check()
    seen = world.seen("a")
    assert (seen.job.job_state, seen.reason.code) == ("stopped", "StoppedByPolicy")
    assert seen.reason.message == (
        "stopped, as it breaks rules that it must not run against: Tags has no 'project': add it (rule `tagged`)"
    )
    assert len(world.called("StopTrainingJob")) == 1


def test_a_job_that_violates_a_reporting_rule_continues_and_is_notified_once() -> None:
    world = world_of()
    world.submit("a")
    configure(world, tagged=TAGGED)
    world.tick()
    world.pass_time(6000)
    assert world.states("a") == {"a": "completed"}
    assert history(world, "a").count("BreaksRules") == 1
    assert world.called("StopTrainingJob") == []


@pytest.mark.parametrize("on_start", ["report", "stop"])
def test_a_job_that_satisfies_the_rules_has_no_findings(on_start: str) -> None:
    world = world_of(tagged={**TAGGED, "onStart": on_start})
    world.submit("a", Tags=[{"Key": "project", "Value": "x"}])
    world.tick()
    world.pass_time(6000)
    assert world.states("a") == {"a": "completed"}
    assert "BreaksRules" not in history(world, "a")


def test_a_new_rule_does_not_apply_to_running_jobs() -> None:
    world = world_of()
    world.submit("a", Environment={"SANDBOX_RUN_SECONDS": "7200"})
    world.tick()
    world.pass_time(600)
    configure(world, tagged={**TAGGED, "onStart": "stop"})
    world.tick()
    world.pass_time(9000)
    assert world.states("a") == {"a": "completed"}


def test_a_job_is_checked_again_at_each_of_its_attempts() -> None:
    world = world_of()
    world.submit("a", 1, Environment={"SANDBOX_RUN_SECONDS": "7200"})
    world.tick()
    world.pass_time(600)
    world.submit("urgent", 9)
    configure(world, tagged={**TAGGED, "onStart": "stop"})
    world.tick()
    world.pass_time(6000)
    assert world.states("a", "urgent") == {"a": "stopped", "urgent": "stopped"}
