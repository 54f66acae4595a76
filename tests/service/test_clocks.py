"""Training time and machine time: at speed 60 an hour of training takes a minute of the machine.

What SageMaker reports, and what is shown, is in training time. Leases, deadlines, back-offs of calls and the time to
live of items are in machine time.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from headway.lifecycle import AttemptState
from headway.scheduling.invariants import check_plan
from headway_sandbox.inprocess.deployment import START_S
from headway_service.actions.action import KEPT_S, ActionKind, Author
from headway_service.actions.history import read_actions
from headway_service.bootstrap import container as base
from headway_service.bootstrap import patrol, schedule
from headway_service.invocation import LEASE_MARGIN_MS
from headway_service.launching.backoff import FIRST_BACK_OFF_S
from headway_service.launching.proofs import ASK_AGAIN_S
from headway_service.monitoring import gauges
from headway_service.monitoring.utilization_monitor import REST_MS
from headway_service.pools.config_history import read_history
from headway_service.sagemaker_api.visibility import VISIBLE_AFTER_S
from headway_service.scheduling import tick
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_given_up, find_job, find_team
from headway_service.store.transitions.job import GIVEN_UP_KEPT_S
from headway_service.tracking import rogue_scan
from tests.service.launching.test_backoff import break_sagemaker, pool_record
from tests.service.world import INVOCATION_S, P5, ROOT, World, request

SPEED = 60.0
HOUR_S = 3600
OVERHEAD_S = 1800
"""The allowance for a start and a stop in a job's limit, by default."""


@pytest.fixture
def world() -> World:
    world = World(pools={P5: 1}, speed=SPEED)
    # The clocks differ from the beginning.
    world.now_s += HOUR_S
    return world


def trains(hours: float, limit_hours: float = 24) -> dict[str, Any]:
    return {
        "Environment": {"SANDBOX_RUN_SECONDS": str(int(hours * HOUR_S))},
        "StoppingCondition": {"MaxRuntimeInSeconds": int(limit_hours * HOUR_S)},
    }


def job(world: World, name: str) -> JobRecord:
    found = find_job(world.table, name)
    assert found is not None
    return found


def attempt(world: World) -> AttemptRecord:
    (found,) = read_ledger(world.table).attempts
    return found


def gauge(world: World, name: str) -> float:
    """A gauge without a dimension."""
    found = gauges.gauges(world.table, read_ledger(world.table), world.clock(), world.machine_clock(), 300)
    return next(each.value for each in found if each.metric.name == name and not each.which)


def left_ms(world: World) -> int | None:
    """When the team `red` was removed."""
    team = find_team(world.table, "red")
    assert team is not None
    return team.left_ms


def pass_machine_time(world: World, seconds: float) -> None:
    world.pass_time(seconds * SPEED, tick=False)


# ------------------------------------------------------------------------------------------------------ training time


def test_limit_forecast_elapsed_time_and_instance_hours_agree_with_sagemaker(world: World) -> None:
    world.submit("one", 5, **trains(1, limit_hours=2))
    world.submit("two", 5, **trains(1))
    world.tick()
    (expected,) = world.forecast_service.forecast(None, 10).jobs
    assert expected.start_ms == attempt(world).since_ms + (2 * HOUR_S + OVERHEAD_S) * 1000
    world.pass_time(2 * HOUR_S)
    one, told = job(world, "one"), world.fleet.describe("one", now=world.now_s)
    assert told["TrainingTimeInSeconds"] == HOUR_S + 50
    assert one.attempts[0].ended_ms == told["TrainingEndTime"] * 1000
    assert one.usage.instance_ms[P5] == (told["TrainingEndTime"] - told["CreationTime"]) * 1000


def test_a_job_that_failed_is_retried_after_training_time(world: World) -> None:
    retries = {"code": {"maxPerJob": 1, "backoffSeconds": 300}}
    world.configuration.write({"pools": {P5: {"size": 1}}, "retries": retries})
    world.submit("a", Environment={"SANDBOX_OUTCOME": "AlgorithmError: exit code 1", "SANDBOX_RUN_SECONDS": "60"})
    world.tick()
    world.pass_time(HOUR_S, tick=False)
    assert job(world, "a").not_before_ms == job(world, "a").attempts[0].ended_ms + 300_000


# ------------------------------------------------------------------------------------------------------- machine time


def test_a_lease_lasts_as_long_as_its_invocation(world: World) -> None:
    world.submit("a")
    invocation = world.invocation()
    lasts_ms = INVOCATION_S * 1000 + LEASE_MARGIN_MS
    assert invocation.lease_until_ms == world.machine_clock() + lasts_ms
    world.tick()
    launching = attempt(world).model_copy(
        update={
            "attempt_state": AttemptState.LAUNCHING,
            "lease_holder": "another",
            "lease_until_ms": invocation.lease_until_ms,
        }
    )
    pass_machine_time(world, lasts_ms / 1000 - 1)
    assert not world.launcher().pending(launching)
    pass_machine_time(world, 2)
    assert world.launcher().pending(launching)


def test_a_decision_starts_nothing_in_a_pool_that_backs_off() -> None:
    world = World(pools={P5: 3}, speed=SPEED)
    world.now_s += HOUR_S
    break_sagemaker(world, P5)
    world.submit("a")
    world.submit("z")
    world.tick()
    world.submit("b")
    with mock.patch.object(tick, "check_plan", wraps=check_plan) as checked:
        world.tick()
    (call,) = checked.call_args_list
    assert call.args[1].actions == ()


def test_a_round_of_the_patrol_begins_in_machine_time(world: World) -> None:
    world.tick()
    began_ms: list[int] = []
    with mock.patch.object(rogue_scan._Run, "round_completed", lambda _, at_ms: began_ms.append(at_ms)):
        world.patrol()
    assert began_ms == [world.machine_clock()]


def test_a_tick_has_the_whole_time_of_its_invocation(world: World) -> None:
    executor = world.executor()
    pass_machine_time(world, INVOCATION_S - 11)
    assert executor.has_time()
    pass_machine_time(world, 2)
    assert not executor.has_time()


def test_a_pool_backs_off_for_machine_time_and_a_forecast_starts_after_it() -> None:
    world = World(pools={P5: 2}, speed=SPEED)
    world.now_s += HOUR_S
    tried = break_sagemaker(world, P5)
    world.submit("a", **trains(1))
    world.submit("b", **trains(1))
    world.tick()
    until_ms = world.machine_clock() + FIRST_BACK_OFF_S * 1000
    assert (tried, pool_record(world).backoff_until_ms) == (["a", "b"], until_ms)
    pass_machine_time(world, FIRST_BACK_OFF_S - 1)
    world.tick()
    assert tried == ["a", "b"]
    pass_machine_time(world, INVOCATION_S)
    world.tick()
    assert tried[:3] == ["a", "b", "a"]


@pytest.mark.parametrize("passed_s", [0, HOUR_S])
def test_a_back_off_that_is_not_over_delays_waiting_jobs(world: World, passed_s: int) -> None:
    world.tick()
    world.now_s += passed_s
    until_ms = world.machine_clock() + 5_000
    ledger = read_ledger(world.table)
    (pool,) = ledger.pools
    backing_off = pool.model_copy(update={"backoff_until_ms": until_ms, "backoffs": 1, "backoff_cause": "no answer"})
    world.table.write(transitions.back_off(backing_off))
    world.submit("a")
    seen = world.seen("a")
    assert "no answer" in seen.reason.message
    (expected,) = world.forecast_service.forecast(None, 10).jobs
    assert expected.start_ms == world.clock() + 5_000
    assert gauge(world, "Startable") == 0
    assert world.tick().started == []
    pass_machine_time(world, 6)
    assert gauge(world, "Startable") == 1
    assert world.tick().started == ["a"]


def test_an_unclear_launch_is_given_up_after_machine_time(world: World) -> None:
    world.fleet.faults = world.fleet.faults.with_changes({"lose_answer": {"CreateTrainingJob": 1}})
    world.submit("a", **trains(1))
    world.tick()
    world.commands.stop("a", ROOT)
    del world.fleet._jobs["a"], world.fleet._live["a"]
    pass_machine_time(world, INVOCATION_S + LEASE_MARGIN_MS / 1000 + 1)
    world.tick()
    unanswered_ms = attempt(world).unanswered_ms
    assert unanswered_ms is not None
    assert attempt(world).lease_until_ms == world.machine_clock() + ASK_AGAIN_S * 1000
    pass_machine_time(world, ASK_AGAIN_S + 1)
    world.tick()
    assert world.states("a") == {"a": "stopping"}
    pass_machine_time(world, VISIBLE_AFTER_S)
    world.tick()
    assert world.states("a") == {"a": "stopped"}
    given_up = find_given_up(world.table, "a")
    assert given_up is not None
    assert given_up.expires_at == world.machine_clock() // 1000 + GIVEN_UP_KEPT_S


def test_a_live_attempt_is_missing_only_after_machine_time(world: World) -> None:
    world.submit("a", **trains(20))
    world.tick()
    world.fleet._jobs.clear()
    world.fleet._live.clear()
    pass_machine_time(world, 301)
    world.reconcile(300)
    assert attempt(world).missing_since_ms == world.machine_clock()
    pass_machine_time(world, VISIBLE_AFTER_S - 1)
    world.reconcile(300)
    assert world.states("a") == {"a": "running"}
    pass_machine_time(world, 1)
    world.reconcile(300)
    assert world.states("a") == {"a": "failed"}


def test_a_status_is_old_after_machine_time(world: World) -> None:
    world.submit("a", **trains(20))
    world.tick()
    assert attempt(world).seen_ms == world.machine_clock()
    world.pass_time(600, tick=False)
    seen_ms = attempt(world).seen_ms
    assert START_S * 1000 < seen_ms <= world.machine_clock()
    asked = len(world.calls)
    world.now_s += 299 * SPEED - 600
    world.reconcile(300)
    assert len(world.calls) == asked
    world.now_s += 20 * SPEED
    world.reconcile(300)
    assert len(world.calls) > asked
    assert attempt(world).seen_ms == world.machine_clock()


@pytest.mark.parametrize("ends", ["stopped while it waits", "completed"])
def test_an_ended_job_is_kept_for_machine_time(world: World, ends: str) -> None:
    world.submit("a", **trains(1))
    if ends == "completed":
        world.tick()
        world.pass_time(2 * HOUR_S)
        ended_ms = job(world, "a").ended_ms
        assert ended_ms is not None
        expected_s = START_S + (ended_ms / 1000 - START_S) / SPEED
    else:
        world.now_s += HOUR_S
        world.commands.stop("a", ROOT)
        expected_s = world.machine_clock() // 1000
    expires_at = job(world, "a").expires_at
    assert expires_at is not None
    assert expires_at - world.container.settings.retention_s == int(expected_s)


def test_the_configuration_has_machine_time(world: World) -> None:
    world.tick()
    world.now_s += HOUR_S
    assert world.container.config_editor.resize(P5, 3).modified_ms == world.machine_clock()


def test_what_operators_did_is_shown_in_training_time_and_kept_for_machine_time(world: World) -> None:
    world.tick()
    world.now_s += HOUR_S
    world.container.pool_operations.pause(P5, "user/ada", "repair")
    world.container.config_editor.resize(P5, 3, Author("user/ada"))
    now_ms, forgotten_s = world.clock(), world.machine_clock() // 1000 + KEPT_S
    actions = read_actions(world.table, 2).actions
    assert {each.kind for each in actions} == {ActionKind.PAUSE, ActionKind.CONFIGURE}
    assert {(each.time_ms, each.expires_at) for each in actions} == {(now_ms, forgotten_s)}
    newest, _ = read_history(world.table, 1).records[0]
    assert (newest.changed_ms, newest.expires_at) == (now_ms, forgotten_s)


def test_a_removed_team_is_kept_for_machine_time(world: World) -> None:
    pools = {P5: {"size": 1}}
    world.configuration.write({"pools": pools, "teams": {"red": {}}})
    world.tick()
    world.submit("a", Tags=[{"Key": "team", "Value": "red"}])
    world.commands.hold("a", ROOT)
    world.now_s += HOUR_S
    world.configuration.write({"pools": pools})
    world.tick()
    assert left_ms(world) == world.machine_clock()
    world.now_s += HOUR_S
    world.commands.release("a", ROOT)
    assert left_ms(world) == world.machine_clock()


def test_a_launch_is_stuck_after_machine_time(world: World) -> None:
    break_sagemaker(world, P5)
    world.submit("a")
    world.tick()
    pass_machine_time(world, gauges.STUCK_LAUNCHING_S)
    assert gauge(world, "Stuck") == 0
    pass_machine_time(world, 1)
    assert gauge(world, "Stuck") == 1


def test_an_attempt_is_stuck_while_it_starts_after_training_time(world: World) -> None:
    world.submit("a")
    world.tick()
    world.now_s += gauges.STUCK_STARTING_S
    assert gauge(world, "Stuck") == 0
    world.now_s += 1
    assert gauge(world, "Stuck") == 1


def test_an_unconfirmed_attempt_is_drift_after_machine_time(world: World) -> None:
    world.submit("a")
    world.tick()
    pass_machine_time(world, 0)
    world.now_s += gauges.UNCONFIRMED_S * SPEED
    assert gauge(world, "Drift") == 0
    world.now_s += SPEED
    assert gauge(world, "Drift") == 1


def test_the_patrol_checks_a_rogue_job_again_after_machine_time(world: World) -> None:
    world.tick()
    world.fleet.create(request("rogue", **trains(20)), now=world.now_s)
    world.patrol()
    (rogue,) = read_ledger(world.table).rogues
    assert (rogue.seen_ms, rogue.since_ms) == (world.machine_clock(), world.clock())
    world.now_s += 299 * SPEED
    assert world.patrol() == 0
    world.now_s += SPEED
    assert world.patrol() == 1
    (rogue,) = read_ledger(world.table).rogues
    assert (rogue.seen_ms, rogue.created_ms) == (world.machine_clock(), (START_S + HOUR_S) * 1000)


def test_the_patrol_has_the_whole_time_of_its_invocation(world: World) -> None:
    world.tick()
    for name in ("r1", "r2"):
        world.fleet.create(request(name, **trains(20)), now=world.now_s)
    call = world.fleet.call

    def slow(operation: str, body: Any, *, now: float) -> Any:
        # Every call takes three seconds of the machine.
        world.now_s += 3 * SPEED
        return call(operation, body, now=now)

    world.fleet.call = slow  # type: ignore[method-assign,assignment]
    assert world.patrol() == 2


def test_alarms_are_not_listed_again_before_machine_time_has_passed(world: World) -> None:
    monitor = world.container.utilization_monitor
    alarms = world.container.alarms
    with mock.patch.object(alarms, "seen", wraps=alarms.seen) as listed:
        for passed_s, times in ((0, 1), (REST_MS / 1000 - 1, 1), (1, 2)):
            world.now_s += passed_s * SPEED
            monitor.run(read_ledger(world.table))
            assert listed.call_count == times


# ----------------------------------------------------------------------------------------------------------- the wiring


@pytest.mark.parametrize(("module", "what"), [(schedule, "Scheduler"), (patrol, "scan_rogue_jobs")])
def test_an_invocation_gets_both_clocks_and_a_deadline_in_machine_time(
    world: World, module: ModuleType, what: str
) -> None:
    world.now_s += HOUR_S
    container = world.container
    with mock.patch.object(module, what) as made:
        _ = container.tick(1000) if what == "Scheduler" else container.scan_rogue_jobs(1000)
    given = made.call_args.kwargs
    if what == "Scheduler":
        clocks, deadline_ms, part = given["invocation"].clocks, given["invocation"].deadline_ms, given["launcher"]
    else:
        clocks, deadline_ms, part = given["clocks"], given["deadline_ms"], given["rogues"]
    assert (clocks.training_ms(), clocks.machine_ms()) == (world.clock(), world.machine_clock())
    assert deadline_ms == world.machine_clock() + 1000
    assert part._machine_clock() == world.machine_clock()


def test_what_the_container_builds_has_machine_time(world: World) -> None:
    world.now_s += HOUR_S
    container = world.container
    assert container.rogue_jobs._machine_clock() == world.machine_clock()
    with mock.patch.object(base, "get_effective") as made:
        container.in_force()
    assert made.call_args.args[2] is container.clocks
    both = (container.submitter, container.job_commands, container.forecast_service, container.utilization_monitor)
    given = {part._clocks for part in (*both, container.submitter._explainer, container.job_queries._explainer)}
    assert given == {container.clocks}
    assert (container.clocks.training_ms(), container.clocks.machine_ms()) == (world.clock(), world.machine_clock())
    assert container.pool_operations._clocks is container.clocks
