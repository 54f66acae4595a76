"""The training plans that a reconcile run describes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway_service.errors import OutcomeUnknown, RetryLater, Throttled
from headway_service.ports.training_plans import ReservedCapacity, TrainingPlan
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.testing.memory_training_plans import MemoryTrainingPlans
from headway_service.tracking.training_plans import refresh_plans
from tests.service.world import P5, World

PREFIX = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/"


def plan(name: str, *, status: str = "Active") -> TrainingPlan:
    block = ReservedCapacity(instance_type=P5, count=2, status="Active", start_ms=0, end_ms=1 << 42)
    return TrainingPlan(arn=f"{PREFIX}{name}", status=status, targets=("training-job",), capacities=(block,))


def world_of(*names: str) -> World:
    world = World()
    pools = {f"{P5}.plan.{name}": {"plan": f"{PREFIX}{name}"} for name in names}
    world.configuration.write({"pools": {P5: {"size": 1}, **pools}})
    world.tick()
    return world


def refresh(
    world: World, plans: MemoryTrainingPlans, has_time: Callable[[], bool] = lambda: True
) -> dict[str, PlanRecord]:
    refresh_plans(world.table, plans, read_ledger(world.table), world.machine_clock, has_time=has_time)
    return {each.name: each for each in read_ledger(world.table).plans}


def raise_retry_later(*_: object) -> None:
    raise RetryLater("x")


def test_without_a_pool_of_a_plan_sagemaker_is_not_asked() -> None:
    plans = MemoryTrainingPlans(plan("spring"))
    assert refresh(world_of(), plans) == {}
    assert plans.described == []


def test_each_plan_is_described_once() -> None:
    plans = MemoryTrainingPlans(plan("spring"), plan("autumn"))
    found = refresh(world_of("spring", "autumn"), plans)
    assert {name: each.status for name, each in found.items()} == {"spring": "Active", "autumn": "Active"}
    assert sorted(plans.described) == ["autumn", "spring"]


@pytest.mark.parametrize("error", [Throttled("x"), OutcomeUnknown("x")])
def test_while_sagemaker_does_not_answer_the_known_plan_holds(error: Exception) -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    before = refresh(world, plans)
    plans.errors["spring"] = error
    assert refresh(world, plans) == before


def test_a_plan_that_sagemaker_does_not_describe_delays_no_other() -> None:
    world, plans = world_of("autumn", "spring"), MemoryTrainingPlans(plan("autumn"), plan("spring"))
    plans.errors["autumn"] = OutcomeUnknown("x")
    assert refresh(world, plans).keys() == {"spring"}
    assert plans.described == ["autumn", "spring"]


def test_only_what_has_changed_is_written() -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    assert refresh(world, plans)["spring"].version == 1
    assert refresh(world, plans)["spring"].version == 1
    plans.plans["spring"] = plan("spring", status="Expired")
    assert (refresh(world, plans)["spring"].version, refresh(world, plans)["spring"].status) == (2, "Expired")


@pytest.mark.parametrize("known", [True, False])
def test_a_plan_is_missing_only_if_it_is_not_found_again_after_two_minutes(known: bool) -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    if known:
        refresh(world, plans)
    del plans.plans["spring"]
    for wait_s, problem in [(0, ""), (60, ""), (59, ""), (1, "is not found in this account and region")]:
        world.now_s += wait_s
        assert refresh(world, plans)["spring"].problem.startswith(problem)
        assert bool(refresh(world, plans)["spring"].problem) is bool(problem)
    plans.plans["spring"] = plan("spring")
    found = refresh(world, plans)["spring"]
    assert (found.problem, found.missing_since_ms) == ("", None)


def test_of_another_plan_that_is_not_found_nothing_of_the_former_holds() -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    refresh(world, plans)
    other = PREFIX.replace("123456789012", "210987654321") + "spring"
    world.configuration.write({"pools": {P5: {"size": 1}, f"{P5}.plan.spring": {"plan": other}}})
    world.tick()
    del plans.plans["spring"]
    found = refresh(world, plans)["spring"]
    assert (found.arn, found.status, found.blocks) == (other, "", ())


def test_a_plan_that_is_found_in_between_is_missing_from_then_on() -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans()
    refresh(world, plans)
    world.now_s += 100
    plans.plans["spring"] = plan("spring")
    refresh(world, plans)
    del plans.plans["spring"]
    world.now_s += 100
    assert refresh(world, plans)["spring"].problem == ""


def test_what_a_throttled_table_does_not_take_is_written_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    with monkeypatch.context() as throttled:
        throttled.setattr(type(world.table), "write", raise_retry_later)
        assert refresh(world, plans) == {}
    assert refresh(world, plans)["spring"].status == "Active"


def test_a_concurrent_run_is_no_error() -> None:
    world, plans = world_of("spring"), MemoryTrainingPlans(plan("spring"))
    before = read_ledger(world.table)
    refresh(world, plans)
    refresh_plans(world.table, plans, before, world.machine_clock, has_time=lambda: True)
    assert refresh(world, plans)["spring"].version == 1


def test_each_plan_has_its_turn_if_a_run_has_no_time_for_all() -> None:
    world, plans = world_of("a", "b", "c"), MemoryTrainingPlans(plan("a"), plan("b"), plan("c"))
    for number in range(3):
        assert len(refresh(world, plans, iter([True, False]).__next__)) == number + 1
        world.now_s += 60
    assert refresh(world, MemoryTrainingPlans(), lambda: False).keys() == {"a", "b", "c"}
