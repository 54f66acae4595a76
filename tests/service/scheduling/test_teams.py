"""Teams, preemption rules and instance groups, over the whole service layer on virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headway.lifecycle import WAITING
from headway_service.errors import Conflict, InvalidRequest
from headway_service.pools.apply_config import TEAM_KEPT_MS
from headway_service.store import transitions
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_ledger
from tests.service.world import DAY_S, P5, ROOT, World, on

G5 = "ml.g5.xlarge"
HOUR = {"MaxRuntimeInSeconds": 3600}
TWO_TEAMS = {"a": {"guaranteed": {P5: 2}}, "b": {"guaranteed": {P5: 2}}}


def world_of(teams: Mapping[str, Any] | None = None, *, pools: Mapping[str, int] | None = None, **rules: Any) -> World:
    world = World(pools=pools or {P5: 4})
    configure(world, teams, **rules)
    return world


def configure(world: World, teams: Mapping[str, Any] | None = None, **rules: Any) -> None:
    document = {**world.configuration.document, "teams": dict(teams or {}), **rules}
    world.configuration.write(document)
    world.tick()


def tags(team: str, priority: int = 0, **more: str) -> list[dict[str, str]]:
    found = {"team": team, "priority": str(priority), **{f"headway:{key}": value for key, value in more.items()}}
    return [{"Key": key, "Value": value} for key, value in found.items()]


def test_a_team_borrows_free_instances_of_another_and_returns_them_on_demand() -> None:
    world = world_of(TWO_TEAMS)
    for i in range(4):
        world.submit(f"a{i}", Tags=tags("a", 5))
        world.now_s += 1
    world.tick()
    assert set(world.states("a0", "a1", "a2", "a3").values()) == {"running"}, "nobody else wants them"
    world.pass_time(300)

    world.submit("b0", Tags=tags("b", 0), ResourceConfig=on(2))
    world.tick()
    world.check()
    stopping = [name for name, state in world.states("a0", "a1", "a2", "a3").items() if state == "stopping"]
    assert len(stopping) == 2, "b reclaims its guarantee although its priority is lower"
    world.pass_time(130)
    world.check()
    assert world.states("b0") == {"b0": "running"}
    assert [seen.job.job_name for seen in world.queries.jobs(JobFilter(states=WAITING), 9, None)[0]] == sorted(stopping)
    # What a waits for now is beyond its guarantee, so it reclaims nothing, and the two do not go back and forth.
    world.tick()
    assert world.states("b0") == {"b0": "running"}
    world.pass_time(20_000)
    world.check()
    assert set(world.states("a0", "a1", "a2", "a3", "b0").values()) == {"completed"}


def test_a_team_at_its_limit_waits_with_that_reason_while_others_start() -> None:
    world = world_of({"a": {"limit": {P5: 1}}, "b": {}})
    world.submit("a0", Tags=tags("a", 9))
    world.submit("a1", Tags=tags("a", 9))
    world.submit("b0", Tags=tags("b", 0))
    world.tick()
    world.check()
    assert world.states("a0", "a1", "b0") == {"a0": "running", "a1": "pending", "b0": "running"}
    assert "limit" in world.seen("a1").reason.message


def test_a_teams_backlog_does_not_block_another_teams_job() -> None:
    world = world_of(TWO_TEAMS, backfill={"window": 0})
    for i in range(200):
        world.submit(f"a{i:03d}", Tags=tags("a", 9))
    world.tick()
    world.submit("b0", Tags=tags("b"))
    world.tick()
    assert "stopping" in {state for name, state in world.states(*(f"a{i:03d}" for i in range(4))).items()}
    seen = world.seen("b0")
    assert "starts on" in seen.reason.message, "what it reclaims is being freed"


def test_the_place_of_a_job_counts_the_queues_of_all_teams() -> None:
    world = world_of({"a": {}, "b": {}})
    world.submit("x", Tags=tags("a", 9), ResourceConfig=on(4))
    world.tick()
    for i in range(150):
        world.submit(f"a{i:03d}", Tags=tags("a", 1))
        world.submit(f"b{i:03d}", Tags=tags("b", 2))
        world.now_s += 1
    assert world.seen("a149").place == 300
    assert world.seen("b149").place == 150
    (use,) = world.capacity()
    assert use.waiting == 300


def test_a_job_document_has_the_team_and_keeps_it_over_restarts() -> None:
    world = world_of(TWO_TEAMS)
    world.submit("a0", Tags=tags("a"))
    world.tick()
    job, attempt, *_ = world.queries.show("a0", ROOT)
    assert job.job.team == "a"
    assert attempt is not None
    assert (attempt.team, attempt.limit_ms, attempt.entry_time) == ("a", (86_400 + 1800) * 1000, job.job.entry_time)


def test_in_the_order_short_the_smaller_job_is_ahead_and_another_order_moves_no_waiting_job() -> None:
    world = world_of({}, priority={"order": "short"})
    world.submit("x", 9, ResourceConfig=on(4))
    world.tick()
    for name, count in (("wide", 4), ("narrow", 1)):
        world.submit(name, ResourceConfig=on(count), StoppingCondition=HOUR)
        world.now_s += 1
    assert [world.seen(name).place for name in ("wide", "narrow")] == [2, 1]
    configure(world, {}, priority={"order": "fifo"})
    world.submit("last", ResourceConfig=on(1), StoppingCondition=HOUR)
    # Its turn is its entry time, and the turns of the others come hours after theirs.
    assert [world.seen(name).place for name in ("wide", "narrow", "last")] == [3, 2, 1]


def test_a_short_job_starts_first_where_limits_count_and_a_preempted_one_keeps_its_turn() -> None:
    world = world_of({}, priority={"order": "short"})
    world.submit("x", 9, ResourceConfig=on(4))
    world.tick()
    for name, stopping in (("long", {"MaxRuntimeInSeconds": DAY_S}), ("short", HOUR), ("second", HOUR)):
        world.submit(name, ResourceConfig=on(4), StoppingCondition=stopping)
        world.now_s += 1
    assert [world.seen(name).place for name in ("long", "short", "second")] == [3, 1, 2]
    world.commands.stop("x", ROOT)
    world.tick()
    world.pass_time(200)
    assert world.states("long", "short") == {"long": "pending", "short": "running"}
    world.submit("high", 9, ResourceConfig=on(4))
    world.tick()
    world.pass_time(200)
    assert world.seen("short").job.job_state == "preempted"
    assert [world.seen(name).place for name in ("long", "short", "second")] == [3, 1, 2]


def test_a_changed_priority_respects_the_maximum_of_the_team() -> None:
    world = world_of({"a": {"maxPriority": 5}, "b": {}})
    world.submit("x", Tags=tags("a", 1))
    with pytest.raises(InvalidRequest, match="0 to 5 for the team a"):
        world.commands.set_priority("x", 6, ROOT)
    assert world.commands.set_priority("x", 5, ROOT).job.priority == 5
    world.submit("y", Tags=tags("b", 1))
    assert world.commands.set_priority("y", 9999, ROOT).job.priority == 9999


def test_jobs_of_a_removed_team_continue_to_run_and_wait() -> None:
    world = world_of(TWO_TEAMS, pools={P5: 4})
    world.submit("a0", Tags=tags("a"), ResourceConfig=on(4))
    world.tick()
    world.submit("a1", Tags=tags("a"))
    configure(world, {"b": {}})
    assert world.states("a0", "a1") == {"a0": "running", "a1": "pending"}
    assert world.commands.set_priority("a1", 7, ROOT).job.priority == 7
    world.pass_time(3000)
    world.check()
    assert world.states("a0", "a1") == {"a0": "completed", "a1": "completed"}


def test_a_removed_team_is_deleted_after_a_day_without_waiting_or_running_jobs() -> None:
    def teams() -> list[str]:
        return [team.team for team in read_ledger(world.table).teams]

    world = world_of({"a": {}, "b": {}}, pools={P5: 1})
    world.submit("a0", Tags=tags("a"), Environment={"SANDBOX_RUN_SECONDS": "500000"})
    world.submit("a1", Tags=tags("a"))
    world.tick()
    configure(world)
    assert teams() == ["a", "b"]
    world.now_s += TEAM_KEPT_MS / 1000 + 1
    configure(world)
    assert teams() == ["a"], "b had no jobs; a has"
    world.commands.stop("a1", ROOT)
    configure(world)
    assert teams() == ["a"], "a job that runs may come back to the line"
    world.commands.stop("a0", ROOT)
    world.tick()
    world.pass_time(DAY_S)
    world.check()
    configure(world)
    assert teams() == []
    configure(world, {"a": {}})
    assert teams() == ["a"]


def test_a_restored_team_is_a_team_again() -> None:
    world = world_of({"a": {}})
    configure(world)
    configure(world, {"a": {}})
    world.now_s += TEAM_KEPT_MS / 1000 + 1
    configure(world, {"a": {"weight": 2}})
    assert [(team.team, team.left_ms) for team in read_ledger(world.table).teams] == [("a", None)]


def starts_of(world: World, team: str) -> int:
    return next(each.starts for each in read_ledger(world.table).teams if each.team == team)


def test_a_removed_and_restored_team_keeps_the_count_of_its_starts() -> None:
    world = world_of({"a": {"limit": {P5: 1}}})
    world.submit("a0", Tags=tags("a"))
    world.tick()
    assert starts_of(world, "a") == 1
    configure(world)
    assert starts_of(world, "a") == 1
    configure(world, {"a": {"limit": {P5: 1}}})
    assert starts_of(world, "a") == 1


@pytest.mark.parametrize("is_new", [False, True])
def test_a_team_is_not_added_while_its_start_is_counted(is_new: bool) -> None:
    world = world_of({"a": {"limit": {P5: 1}}})
    (known,) = (each for each in read_ledger(world.table).teams if each.team == "a")
    world.submit("a0", Tags=tags("a"))
    world.tick()
    with pytest.raises(Conflict):
        world.table.write(transitions.add_team("a", None if is_new else known))
    with pytest.raises(Conflict):
        world.table.write(transitions.retire_team(known, world.clock()))
    assert starts_of(world, "a") == 1


def test_a_job_with_instance_groups_starts_when_all_groups_fit() -> None:
    world = world_of(pools={P5: 2, G5: 3})
    groups = [
        {"InstanceGroupName": "train", "InstanceType": P5, "InstanceCount": 1},
        {"InstanceGroupName": "data", "InstanceType": G5, "InstanceCount": 1},
        {"InstanceGroupName": "more", "InstanceType": G5, "InstanceCount": 1},
    ]
    world.submit("g", 5, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    world.submit("h", 4, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    world.tick()
    world.check()
    assert world.states("g", "h") == {"g": "running", "h": "pending"}
    assert world.fleet.in_use() == {P5: 1, G5: 2}
    assert world.seen("h").job.demand == {P5: 1, G5: 2}
    assert {use.pool: (use.allocated, use.free, use.waiting) for use in world.capacity()} == {
        P5: (1, 1, 1),
        G5: (2, 1, 1),
    }
    world.pass_time(300)
    world.submit("top", 9, ResourceConfig=on(3, G5))
    world.tick()
    world.check()
    assert world.states("g") == {"g": "stopping"}
    world.pass_time(130)
    world.check()
    assert world.states("g", "h", "top") == {"g": "preempted", "h": "pending", "top": "running"}
    world.pass_time(20_000)
    world.check()
    assert set(world.states("g", "h", "top").values()) == {"completed"}


def test_a_job_that_has_been_preempted_as_often_as_allowed_is_left_alone() -> None:
    world = world_of(pools={P5: 1}, preemption={"maxPerJob": 2})
    world.submit("low", 0, Environment={"SANDBOX_RUN_SECONDS": "9000"})
    world.tick()
    for i in range(3):
        world.pass_time(300)
        world.submit(f"high{i}", 5)
        world.tick()
        world.pass_time(150)
        world.check()
        assert world.seen("low").job.preemption_count == min(i + 1, 2)
        world.pass_time(2000)
    assert world.states("low", "high0", "high1", "high2") == {
        "low": "running",
        "high0": "completed",
        "high1": "completed",
        "high2": "pending",
    }


def test_a_job_that_opted_out_is_not_preempted() -> None:
    world = world_of({"a": {}}, pools={P5: 1}, preemption={"optOut": True})
    world.submit("low", Tags=tags("a", 0, preemptible="false"))
    world.tick()
    world.pass_time(300)
    world.submit("high", Tags=tags("a", 9))
    world.tick()
    assert world.states("low", "high") == {"low": "running", "high": "pending"}


def test_no_job_is_stopped_without_preemption() -> None:
    world = world_of(pools={P5: 1}, preemption={"enabled": False})
    world.submit("low", 0)
    world.tick()
    world.submit("high", 9)
    world.tick()
    assert world.states("low", "high") == {"low": "running", "high": "pending"}


def test_a_short_job_overtakes_a_blocked_one_that_it_does_not_delay_and_a_long_one_does_not() -> None:
    world = world_of(pools={P5: 2})
    world.submit("x", 5)
    world.tick()
    world.submit("big", 5, ResourceConfig=on(2))
    world.now_s += 1
    world.submit("long", 5, StoppingCondition={"MaxRuntimeInSeconds": 2 * DAY_S})
    world.submit("short", 5, StoppingCondition={"MaxRuntimeInSeconds": 900})
    world.tick()
    world.check()
    assert world.states("big", "long", "short") == {"big": "pending", "long": "pending", "short": "running"}
    world.pass_time(30_000)
    assert set(world.states("x", "big", "long", "short").values()) == {"completed"}


def test_a_job_that_has_waited_long_outranks_a_newer_one_of_higher_priority() -> None:
    world = world_of(pools={P5: 1}, ageing={"intervalSeconds": 60, "cap": 5})
    world.submit("x", 9)
    world.tick()
    world.submit("old", 0)
    world.pass_time(700)
    world.submit("new", 2)
    assert [world.seen("old").place, world.seen("new").place] == [1, 2]
    world.pass_time(400)
    world.check()
    assert world.states("x", "old", "new") == {"x": "completed", "old": "running", "new": "pending"}


def test_two_concurrent_ticks_do_not_exceed_the_limit_of_a_team() -> None:
    world = world_of({"a": {"limit": {P5: 2}}})
    for name in ("a0", "a1", "a2", "a3"):
        world.submit(name, Tags=tags("a"))

    def act() -> None:
        """The others move to the front, and another tick starts them."""
        world.commands.set_priority("a3", 9, ROOT)
        world.commands.set_priority("a2", 9, ROOT)
        world.tick()

    assert world.interrupted_tick(act).rejected == 2
    world.check()
    assert sorted(world.called("CreateTrainingJob")) == ["a2", "a3"]
