"""A held job waits in no queue: it does not start, preempts nothing, and has no reservation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway.errors import InvalidTransition
from headway.lifecycle import WAITING
from headway.reasons import ReasonCode, started
from headway_service.errors import Conflict, JobEnded, JobNotFound, NotWaiting
from headway_service.pools.apply_config import TEAM_KEPT_MS
from headway_service.ports.table import Item, Put, Update
from headway_service.store import transitions
from headway_service.store.job_filter import JobFilter
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on

LONG = {"SANDBOX_RUN_SECONDS": "90000"}


@pytest.fixture
def world() -> World:
    return World()


def entries(world: World) -> list[Item]:
    """The queue entries."""
    assert isinstance(world.table, MemoryTable)
    return sorted((item for item in world.table.items() if item["pk"].startswith("line#")), key=lambda item: item["sk"])


def stored(world: World, name: str) -> JobRecord:
    item = world.table.get(JobRecord.key(name))
    assert item is not None
    return JobRecord.parse(item)


def stopping_for_high(world: World) -> None:
    """Two jobs are being stopped for a larger one."""
    for name in ("x", "y"):
        world.submit(name, 1, Environment=LONG)
    world.tick()
    world.pass_time(300)
    world.submit("high", 5, ResourceConfig=on(2))
    world.tick()
    assert world.states("x", "y", "high") == {"x": "stopping", "y": "stopping", "high": "pending"}


def test_a_held_job_does_not_start_and_its_reason_names_the_holder_and_the_remedy(world: World) -> None:
    world.submit("a")
    seen = world.commands.hold("a", ROOT)
    world.tick()
    world.check()
    assert seen == world.seen("a")
    assert (seen.job.job_state, seen.job.held, seen.place) == ("pending", True, None)
    assert seen.reason.code is ReasonCode.HELD
    assert seen.reason.message == ("held on request of root; `headway release a` returns it to its place in the queue")
    assert [step.reason.code for step in seen.job.history] == ["Entered", "Held"]
    assert entries(world) == []


def test_a_released_job_returns_to_its_place(world: World) -> None:
    world.submit("x", 9, ResourceConfig=on(2))
    world.tick()
    for name in ("a", "b", "c"):
        world.submit(name)
        world.now_s += 1
    before = entries(world)
    world.commands.hold("b", ROOT)
    assert [world.seen(name).place for name in ("a", "b", "c")] == [1, None, 2]
    world.now_s += 100
    seen = world.commands.release("b", ROOT)
    assert (seen.job.held, seen.place) == (False, 2)
    assert entries(world) == before
    assert seen.job.history[-1].reason.message == ("released on request of root; returned to its place in the queue")
    assert seen.reason.code is not ReasonCode.RELEASED, "why it waits is worked out again"


def test_jobs_behind_a_held_job_start_first_and_the_scheduler_is_woken(world: World) -> None:
    world.submit("x", 5, Environment=LONG)
    world.tick()
    world.submit("large", 4, ResourceConfig=on(2))
    world.submit("small", 3, StoppingCondition={"MaxRuntimeInSeconds": 172_800})
    world.tick()
    assert world.states("small") == {"small": "pending"}
    world.wakes.clear()
    world.commands.hold("large", ROOT)
    assert world.wakes == ["held"]
    world.tick()
    world.check()
    assert world.states("large", "small") == {"large": "pending", "small": "running"}
    world.commands.release("large", ROOT)
    assert world.wakes[1:] == ["released"]


def test_a_repeated_hold_or_release_changes_nothing(world: World) -> None:
    world.submit("a")
    assert world.commands.release("a", ROOT).job.version == 1
    world.commands.hold("a", ROOT)
    assert world.commands.hold("a", ROOT).job.version == 2
    world.commands.release("a", ROOT)
    assert world.commands.release("a", ROOT).job.version == 3


def test_only_a_job_that_waits_can_be_held_but_any_that_has_not_ended_released(world: World) -> None:
    world.submit("a")
    world.tick()
    with pytest.raises(NotWaiting, match="`a` is running, and only a job that waits can be held"):
        world.commands.hold("a", ROOT)
    assert world.commands.release("a", ROOT).job.job_state == "running"
    world.commands.stop("a", ROOT)
    with pytest.raises(NotWaiting, match="is stopping"):
        world.commands.hold("a", ROOT)
    world.tick()
    world.pass_time(700)
    for act in (world.commands.hold, world.commands.release):
        with pytest.raises(JobEnded, match="has stopped already"):
            act("a", ROOT)
        with pytest.raises(JobNotFound):
            act("nobody", ROOT)


def test_the_reservation_of_a_job_is_released_when_it_is_held(world: World) -> None:
    stopping_for_high(world)
    attempts = {each.job_name: each.attempt_name for each in read_ledger(world.table).attempts}
    world.fleet.finish(attempts["x"], now=world.now_s)
    world.pass_time(1, tick=False)
    assert [each.demand for each in read_ledger(world.table).reservations] == [{P5: 1}]
    world.commands.hold("high", ROOT)
    world.check()
    (pool,) = world.capacity()
    assert (pool.reserved, pool.free, pool.waiting) == (0, 1, 0)


def test_instances_freed_for_a_held_job_are_free_for_others(world: World) -> None:
    stopping_for_high(world)
    world.commands.hold("high", ROOT)
    world.pass_time(150)
    world.check()
    assert read_ledger(world.table).reservations == ()
    assert world.states("x", "y", "high") == {"x": "running", "y": "running", "high": "pending"}


def test_instances_freed_for_a_job_held_meanwhile_are_its_own_after_its_release(world: World) -> None:
    stopping_for_high(world)
    world.commands.hold("high", ROOT)
    world.tick()
    world.commands.release("high", ROOT)
    world.pass_time(150)
    world.check()
    assert world.states("x", "y", "high") == {"x": "preempted", "y": "preempted", "high": "running"}


def test_the_next_decision_releases_a_reservation_made_during_a_hold(world: World) -> None:
    world.submit("a", ResourceConfig=on(2))
    world.commands.hold("a", ROOT)
    world.table.write(
        [
            ReservationRecord(job_name="a", demand={P5: 1}).put(was=None),
            Update(key=PoolRecord.key(P5), adds={"free": -1}),
        ]
    )
    ledger = read_ledger(world.table)
    assert read_snapshot(world.table, ledger, world.clock(), also=[stored(world, "a")]).waiting == ()
    assert world.tick().released == ["a"]
    world.check()
    assert read_ledger(world.table).reservations == ()


def test_a_job_that_is_held_between_the_decision_and_its_start_does_not_start(world: World) -> None:
    world.submit("a")
    report = world.interrupted_tick(lambda: world.commands.hold("a", ROOT))
    world.check()
    assert (report.rejected, report.started) == (1, [])
    assert world.called("CreateTrainingJob") == []


def test_no_start_of_a_held_job_can_even_be_written(world: World) -> None:
    world.submit("a")
    world.commands.hold("a", ROOT)
    with pytest.raises(InvalidTransition, match="cannot start while held"):
        world.intent_to_start("a")


@pytest.mark.parametrize(
    "act",
    [
        lambda world: world.commands.hold("high", ROOT),
        lambda world: world.commands.stop("high", ROOT),
        lambda world: world.commands.set_priority("high", 0, ROOT),
    ],
    ids=["held", "stopped", "given a lower priority"],
)
def test_no_job_is_stopped_for_a_job_that_has_changed_since_the_decision(
    world: World, act: Callable[[World], object]
) -> None:
    for name in ("x", "y"):
        world.submit(name, 1, Environment=LONG)
    world.tick()
    world.submit("high", 5, ResourceConfig=on(2))
    report = world.interrupted_tick(lambda: act(world))
    world.check()
    assert (report.rejected, report.preempted) == (2, [])
    assert world.states("x", "y") == {"x": "running", "y": "running"}


def test_the_changed_priority_of_a_held_job_applies_after_its_release_and_its_reason_stays(
    world: World,
) -> None:
    world.submit("x", 9, ResourceConfig=on(2))
    world.tick()
    world.submit("a", 1)
    world.submit("b", 2)
    world.commands.hold("a", ROOT)
    seen = world.commands.set_priority("a", 3, ROOT)
    assert (seen.job.priority, seen.reason.code, seen.place) == (3, ReasonCode.HELD, None)
    assert seen.job.history[-1].reason.code is ReasonCode.PRIORITY_CHANGED
    assert [item["jobName"] for item in entries(world)] == ["b"]
    world.commands.release("a", ROOT)
    assert [item["jobName"] for item in entries(world)] == ["a", "b"]


def test_a_held_job_can_be_stopped(world: World) -> None:
    world.submit("a")
    world.commands.hold("a", ROOT)
    seen, stopping = world.commands.stop("a", ROOT)
    world.check()
    assert (seen.job.job_state, seen.job.held, stopping) == ("stopped", False, False)


def test_a_retried_job_backs_off_even_if_it_is_held(world: World) -> None:
    world.submit("a")
    world.tick()
    world.pass_time(100)
    world.fleet.fail("a", "InternalServerError: We encountered an internal error.", now=world.now_s)
    world.pass_time(0)
    world.commands.hold("a", ROOT)
    world.now_s += 30
    seen = world.commands.release("a", ROOT)
    assert (seen.reason.code, seen.reason.message.partition(";")[0]) == (
        "BacksOff", "its last attempt failed (service)",
    )  # fmt: skip
    world.tick()
    assert world.states("a") == {"a": "pending"}
    world.now_s += 31
    world.tick()
    assert world.states("a") == {"a": "running"}


def test_a_preempted_job_can_be_held_and_stays_preempted(world: World) -> None:
    world.submit("low", 1, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    world.submit("high", 5)
    world.tick()
    world.pass_time(150)
    assert world.states("low") == {"low": "preempted"}
    assert world.commands.hold("low", ROOT).job.job_state == "preempted"
    world.pass_time(1000)
    assert world.states("low", "high") == {"low": "preempted", "high": "completed"}
    world.commands.release("low", ROOT)
    world.tick()
    assert world.states("low") == {"low": "running"}


def test_held_jobs_are_listed_as_waiting_and_counted_in_no_queue(world: World) -> None:
    world.submit("a", 2)
    world.submit("b", 1)
    world.commands.hold("a", ROOT)
    page, _ = world.queries.jobs(JobFilter(states=WAITING), 100, None)
    assert [(seen.job.job_name, seen.job.held, seen.place) for seen in page] == [("a", True, None), ("b", False, 1)]
    (pool,) = world.capacity()
    assert pool.waiting == 1


def test_a_job_stored_before_holds_existed_can_be_held_and_released(world: World) -> None:
    world.submit("a")
    item = world.table.get(JobRecord.key("a"))
    assert item is not None
    new = ("held", "usage", "idempotencyKey")
    world.table.write([Put(item={name: value for name, value in item.items() if name not in new})])
    world.commands.hold("a", ROOT)
    world.tick()
    assert world.states("a") == {"a": "pending"}
    world.commands.release("a", ROOT)
    world.tick()
    assert world.states("a") == {"a": "running"}


def with_team(world: World, teams: dict[str, Any]) -> None:
    world.configuration.write({"pools": {P5: {"size": 2}}, "teams": teams})
    world.tick()


def test_a_held_job_of_a_deleted_team_gets_its_queue_back(world: World) -> None:
    with_team(world, {"a": {}})
    world.submit("j", Tags=[{"Key": "team", "Value": "a"}])
    world.commands.hold("j", ROOT)
    with_team(world, {})
    world.now_s += TEAM_KEPT_MS / 1000 + 1
    with_team(world, {})
    assert read_ledger(world.table).queue_teams == ("",)
    world.commands.release("j", ROOT)
    world.tick()
    assert world.states("j") == {"j": "running"}


def test_a_team_is_not_deleted_while_its_job_is_being_released(world: World) -> None:
    with_team(world, {"a": {}})
    world.submit("j", Tags=[{"Key": "team", "Value": "a"}])
    world.commands.hold("j", ROOT)
    with_team(world, {})
    world.now_s += TEAM_KEPT_MS / 1000 + 1
    (team,) = read_ledger(world.table).teams
    world.commands.release("j", ROOT)
    with pytest.raises(Conflict):
        world.table.write(transitions.remove_team(team))


def test_a_release_detects_that_its_team_was_restored(world: World) -> None:
    with_team(world, {"a": {}})
    world.submit("j", Tags=[{"Key": "team", "Value": "a"}])
    world.commands.hold("j", ROOT)
    with_team(world, {})
    (left,) = read_ledger(world.table).teams
    _, writes = transitions.release(stored(world, "j"), left, started({}), world.clock(), machine_ms=world.clock())
    with_team(world, {"a": {}})
    with pytest.raises(Conflict):
        world.table.write(writes)
    item = world.table.get(TeamRecord.key("a"))
    assert item is not None
    assert TeamRecord.parse(item).left_ms is None
