"""States that wait for a person are told, and ring; healthy ones are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headway_sandbox.cloudwatch.alarm_evaluation import Sample, sample
from headway_sandbox.local.checkout import Checkout
from headway_service.monitoring import gauges
from headway_service.monitoring.neglected import FORGOTTEN_MS, Neglected, neglected
from headway_service.monitoring.queue_depth import Backlog
from headway_service.observability.metrics import Neglect
from headway_service.pools.operations import PoolOperations
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_verification.alarms.rings import rings
from headway_verification.alarms.template import alarms_of
from tests.service.world import P5, World, on, request

G5 = "ml.g5.xlarge"
PLAN = f"{P5}.plan.spring"
LONG = {"SANDBOX_RUN_SECONDS": "900000"}
DAY_S = FORGOTTEN_MS // 1000


def world_of(**document: Any) -> World:
    world = World(pools={P5: 2})
    world.configuration.write({"pools": {P5: {"size": 2}, G5: {"size": 1}}, **document})
    world.tick()
    return world


def operations(world: World) -> PoolOperations:
    return PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )


def pause(world: World, pool: str) -> None:
    operations(world).pause(pool, "user/ada", "a reason")


def told(world: World) -> dict[str, float]:
    """The figures of the reconciler, by code; the sum under no code."""
    found = gauges.gauges(world.table, read_ledger(world.table), world.clock(), world.machine_clock(), 300)
    return {each.which: each.value for each in found if each.metric.name == "Neglected" and each.value}


def paused_for_a_day() -> World:
    world = world_of()
    pause(world, P5)
    world.now_s += DAY_S
    return world


def all_paused_for_a_day() -> World:
    world = world_of()
    pause(world, PauseRecord.EVERYTHING)
    world.now_s += DAY_S
    return world


def a_job_too_large_for_a_smaller_pool() -> World:
    world = world_of()
    world.submit("large", ResourceConfig=on(2))
    world.configuration.write({"pools": {P5: {"size": 1}, G5: {"size": 1}}})
    world.tick()
    return world


def rogues_in_half_of_a_pool() -> World:
    world = world_of()
    world.fleet.create(request("rogue", Environment=LONG), now=world.now_s)
    world.pass_time(1200)
    world.patrol()
    world.submit("a", Environment=LONG)
    world.submit("b", Environment=LONG)
    world.tick()
    return world


def jobs_of_which_no_event_tells() -> World:
    world = world_of()
    for name in ("a", "b"):
        world.submit(name, Environment=LONG)
    world.tick()
    world.pass_time(1200, deliver=False)
    world.reconcile()
    return world


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (jobs_of_which_no_event_tells, "NoEvents"),
        (paused_for_a_day, "PauseForgotten"),
        (all_paused_for_a_day, "PauseForgotten"),
        (a_job_too_large_for_a_smaller_pool, "NeverStarts"),
        (rogues_in_half_of_a_pool, "RoguesFillPool"),
    ],
)
def test_a_state_that_waits_for_a_person_is_told(state: Callable[[], World], code: str) -> None:
    assert told(state()) == {"": 1, code: 1}


def a_pause_of_a_night() -> World:
    world = world_of()
    pause(world, P5)
    world.now_s += DAY_S - 1
    return world


def a_job_that_waits_for_others() -> World:
    world = world_of()
    for name in ("a", "b", "c"):
        world.submit(name, ResourceConfig=on(2), Environment=LONG)
    world.tick()
    return world


def a_single_lost_event() -> World:
    world = world_of()
    for name in ("a", "b"):
        world.submit(name, Environment=LONG)
        world.tick()
        world.pass_time(0 if name == "a" else 1200)
    world.submit("c", ResourceConfig={"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 1}, Environment=LONG)
    world.tick()
    world.pass_time(1200, deliver=False)
    world.reconcile()
    return world


def events_that_came_late_once() -> World:
    world = world_of()
    for name in ("a", "b"):
        world.submit(name, Environment=LONG)
    world.tick()
    late = list(world.due_events(1200))
    world.reconcile()
    assert told(world) == {"": 1, "NoEvents": 1}
    for detail in late:
        world.on_event(detail)
    return world


def rogues_that_nobody_waits_for() -> World:
    world = world_of()
    world.fleet.create(request("rogue", Environment=LONG), now=world.now_s)
    world.pass_time(1200)
    world.patrol()
    return world


@pytest.mark.parametrize(
    "state",
    [
        *(world_of, a_pause_of_a_night, a_job_that_waits_for_others, a_single_lost_event, events_that_came_late_once),
        rogues_that_nobody_waits_for,
    ],
)
def test_a_healthy_state_is_not_told(state: Callable[[], World]) -> None:
    assert told(state()) == {}


@pytest.mark.parametrize(
    ("record", "waits", "is_told"),
    [
        ({"status": "Expired"}, True, True),
        ({"status": "Active", "problem": "is not found"}, True, True),
        ({"status": "Active"}, True, False),
        ({"status": "Expired"}, False, False),
    ],
)
def test_a_plan_that_is_over_is_told_while_jobs_wait_for_it(record: dict[str, Any], waits: bool, is_told: bool) -> None:
    world = world_of()
    ledger: Ledger = replace(read_ledger(world.table), plans=(PlanRecord(pool=PLAN, arn="arn", **record),))
    backlog = Backlog(pool=PLAN, team="", waiting=1 if waits else 0, oldest_ms=0, failed=())
    found = list(neglected(ledger, [backlog], None, world.clock()))
    assert found == ([Neglected(code=Neglect.PLAN, name=PLAN)] if is_told else [])


def test_the_alarm_rings_after_half_an_hour_of_it_and_ends_with_it() -> None:
    alarm = alarms_of(Checkout.here().template())["Neglected"]
    world = a_pause_of_a_night()
    begin_s, samples = world.now_s, list[Sample]()
    for minute in range(120):
        if minute == 60:
            operations(world).resume(P5, "user/ada")
        samples += [sample(world.now_s, value) for value in [told(world).get("")] if value]
        world.now_s += 60
    (ring,) = rings("Neglected", alarm, {alarm.series["value"].metric: samples}, begin_s=begin_s, end_s=world.now_s)
    assert 30 * 60 <= ring.since_s - begin_s <= 32 * 60
    assert ring.until_s is not None
    assert 60 * 60 < ring.until_s - begin_s <= 65 * 60
