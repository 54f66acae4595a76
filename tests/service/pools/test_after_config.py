"""What a configuration will make of the ledger is what it makes of it when it is applied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_service.config.document import validate
from headway_service.pools.after_config import ledger_under
from headway_service.pools.apply_config import get_effective
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.unreadable import UnreadableItem
from tests.service.world import P5, World, on, request

G5 = "ml.g5.xlarge"
PLAN = f"{P5}.plan.spring"
PLAN_ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
HALF_DAY_S = 43_200

sizes = st.integers(0, 3)
windows = st.sampled_from([("00:00", "12:00"), ("08:00", "09:00"), ("18:00", "24:00")])


@st.composite
def pools(draw: st.DrawFn) -> dict[str, Any]:
    """A pool with a size or a schedule."""
    pool: dict[str, Any] = {"size": draw(sizes)}
    if draw(st.booleans()):
        begin, end = draw(windows)
        pool["schedule"] = [{"days": ["fri"], "from": begin, "to": end, "size": draw(sizes)}]
        pool["atShrink"] = draw(st.sampled_from(["run", "stop"]))
    return pool


documents = st.fixed_dictionaries({}, optional={P5: pools(), G5: pools()}).filter(bool).map(lambda of: {"pools": of})


def seen(ledger: Ledger) -> tuple[dict[str, tuple[int, int]], dict[str, tuple[Any, ...]]]:
    """Sizes and free instances by pool, and the later sizes, without pools that have nothing."""
    found = {pool.pool: (pool.size, pool.free) for pool in ledger.pools if pool.size or pool.free}
    return found, {each.pool: (each.sizes, each.stops) for each in ledger.calendars}


def running(document: dict[str, Any]) -> World:
    """A world with a document in force, in which a job runs if there is an instance for it."""
    world = World()
    world.configuration.write(document)
    world.tick()
    if P5 in document["pools"] and world.configured().most(P5, ""):
        world.submit("a", ResourceConfig=on(1), Environment={"SANDBOX_RUN_SECONDS": "50000"})
        world.tick()
    return world


@settings(max_examples=60)
@given(documents, documents, st.sampled_from([0, 3600, HALF_DAY_S]))
def test_sizes_and_calendars_are_those_that_a_tick_gives_the_pools(
    before: dict[str, Any], after: dict[str, Any], passed_s: int
) -> None:
    world = running(before)
    world.now_s += passed_s
    world.tick()
    told = ledger_under(validate(after), read_ledger(world.table), world.clock())
    world.configuration.write(after)
    world.tick()
    assert world.configured() == validate(after)
    # A job that the same tick starts, or stops, changes what is free.
    sizes_told, calendars_told = seen(told)
    sizes_now, calendars_now = seen(read_ledger(world.table))
    assert {name: size for name, (size, _) in sizes_told.items() if size} == {
        name: size for name, (size, _) in sizes_now.items() if size
    }
    assert calendars_told == calendars_now


def test_the_free_instances_of_a_pool_follow_its_size() -> None:
    world = running({"pools": {P5: {"size": 2}}})
    (pool,) = ledger_under(validate({"pools": {P5: {"size": 3}}}), read_ledger(world.table), world.clock()).pools
    assert (pool.size, pool.free) == (3, 2)


def test_a_pool_that_is_removed_stays_without_instances() -> None:
    world = running({"pools": {P5: {"size": 2}}})
    told = ledger_under(validate({"pools": {G5: {"size": 1}}}), read_ledger(world.table), world.clock())
    assert {pool.pool: (pool.size, pool.free) for pool in told.pools} == {P5: (0, -1), G5: (1, 1)}


def test_a_pool_of_a_plan_that_sagemaker_has_not_described_has_no_instances() -> None:
    world = running({"pools": {P5: {"size": 2}}})
    document = validate({"pools": {P5: {"size": 2}, PLAN: {"plan": PLAN_ARN}}})
    told = ledger_under(document, read_ledger(world.table), world.clock())
    assert {pool.pool: pool.size for pool in told.pools} == {P5: 2, PLAN: 0}
    assert [(each.pool, each.known) for each in told.calendars] == [(PLAN, False)]


def test_a_calendar_that_cannot_be_read_is_not_made_again() -> None:
    world = running({"pools": {P5: {"size": 2}}})
    unreadable = UnreadableItem(kind="calendar", name=P5, problem="")
    ledger = replace(read_ledger(world.table), unreadable=(unreadable,))
    schedule = [{"days": ["fri"], "from": "00:00", "to": "24:00", "size": 0}]
    told = ledger_under(validate({"pools": {P5: {"size": 2, "schedule": schedule}}}), ledger, world.clock())
    assert not told.calendars


def test_a_pool_whose_record_cannot_be_read_is_not_added_again() -> None:
    world = running({"pools": {P5: {"size": 2}}})
    ledger = read_ledger(world.table)
    unreadable = UnreadableItem(kind="pool", name=P5, problem="")
    assert get_effective(world.table, world.configuration.first, world.clocks).version
    told = ledger_under(validate({"pools": {P5: {"size": 2}}}), replace(ledger, pools=(), unreadable=(unreadable,)), 0)
    assert told.pools == ()


@pytest.mark.parametrize(("charge", "marked", "charged"), [(True, False, 1), (False, False, 0), (False, True, 1)])
def test_rogue_jobs_are_charged_as_the_configuration_says(charge: bool, marked: bool, charged: int) -> None:
    world = running({"pools": {P5: {"size": 3}}, "rogues": {"charge": not charge}})
    world.fleet.create(request("rogue", Environment={"SANDBOX_RUN_SECONDS": "50000"}), now=world.now_s)
    world.pass_time(1200)
    world.patrol()
    ledger = read_ledger(world.table)
    rogues = tuple(each.model_copy(update={"marked": marked}) for each in ledger.rogues)
    document = validate({"pools": {P5: {"size": 3}}, "rogues": {"charge": charge}})
    told = ledger_under(document, replace(ledger, rogues=rogues), world.clock())
    assert [sum(each.charged.values()) for each in told.rogues] == [charged]
    assert told.pools[0].free == 3 - 1 - charged
