"""Chores have a share of a tick: its decision does not wait for the rest of them, which goes on after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from headway_service.admission.submission import Submission
from headway_service.arrays import comparing
from headway_service.launching.executor import RESERVED_MS
from headway_service.pools.operations import PoolOperations
from headway_service.scheduling import chores
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.store.ledger import read_ledger
from headway_service.store.repository import get_job
from headway_service.testing.memory_objects import MemoryObjects
from tests.service.arrays.test_reuse_of_members import numbers, sweep
from tests.service.world import INVOCATION_S, P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
CALL_S = 0.2
LATE_S = 6.0
"""A share of a tick, the call that was being made at its end, and the decision."""


@pytest.fixture
def world() -> World:
    world = World()
    limits = {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}
    pools = {P5: {"size": 400}, G5: {"size": 2}}
    world.configuration.write({"pools": pools, "limits": limits})
    world.objects.put("jobs", "other", b"")
    world.objects.put("data", "train/a", b"1")
    return world


@contextmanager
def slow(world: World, of: type, *names: str) -> Iterator[None]:
    """Let calls of methods take time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setattr(of, name, _slow(world, getattr(of, name)))
        yield


def _slow(world: World, whole: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        world.now_s += CALL_S
        return whole(*args, **options)

    return call


def urgent(world: World) -> None:
    world.submit("urgent", 9, ResourceConfig=on(1, G5))


def waited_s(world: World, name: str = "urgent") -> float:
    """How long a job has waited until it was started."""
    job = get_job(world.table, name)
    assert job.usage.started_ms is not None
    return (job.usage.started_ms - job.entry_time) / 1000


def compared(world: World, count: int, name: str = "array", **changes: Any) -> None:
    """Submit an array of which each member takes a call of S3 to be compared."""
    sweep(world, name, count, CheckpointConfig={"S3Uri": f"s3://jobs/{name}"}, **changes)


@pytest.mark.parametrize("count", [300, 10_000])
def test_an_urgent_job_starts_in_the_first_tick_while_members_are_compared(world: World, count: int) -> None:
    compared(world, count)
    urgent(world)
    began_s = world.now_s
    with slow(world, MemoryObjects, "list", "read"):
        report = world.tick()
    assert waited_s(world) <= LATE_S
    # The rest of the tick is used as well.
    assert numbers(world, "array").made > 60
    assert world.now_s - began_s <= INVOCATION_S - RESERVED_MS / 1000 + 2 * CALL_S
    assert report.decisions > 1


def test_members_go_on_being_compared_until_all_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MAX_COMPARED", 1000)
    compared(world, 300)
    with slow(world, MemoryObjects, "list", "read"):
        for _ in range(5):
            world.tick()
            world.now_s += 60
    assert numbers(world, "array").made == 300
    assert len(world.called("CreateTrainingJob")) == 300


def test_an_array_with_many_members_to_compare_leaves_time_to_the_others(world: World) -> None:
    compared(world, 300, "first")
    compared(world, 300, "second")
    grid = {"list": [{"seed": each} for each in range(3)]}
    world.submitter.submit(Submission(request=request("third"), sweep=grid), ROOT)
    with slow(world, MemoryObjects, "list", "read"):
        world.tick()
    assert waited_s(world, "third_0") <= LATE_S
    for name in ("first", "second"):
        assert waited_s(world, f"{name}_000") <= LATE_S
        assert numbers(world, name).made > 30


@pytest.mark.parametrize("arrays", [40, 80])
def test_each_of_many_arrays_has_its_turn(world: World, arrays: int) -> None:
    for number in range(arrays):
        compared(world, 10, f"array-{number:02}")
    with slow(world, MemoryObjects, "list", "read"):
        for _ in range(2):
            world.tick()
    assert all(numbers(world, f"array-{number:02}").made for number in range(arrays))


def test_the_final_metrics_of_many_members_are_asked_for_by_and_by(world: World) -> None:
    grid = {"list": [{"seed": each} for each in range(150)]}
    world.submitter.submit(Submission(request=request("array"), sweep=grid), ROOT)
    for _ in range(2):
        world.tick()
    world.pass_time(1000, tick=False)
    urgent(world)
    with slow(world, type(world.training_jobs), "describe"):
        world.tick()
        assert waited_s(world) <= LATE_S
        assert numbers(world, "array").completed >= 20
        for _ in range(4):
            world.tick()
    assert numbers(world, "array").completed == 150


def test_dependants_are_notified_by_and_by(world: World) -> None:
    """That may take calls of S3, to find equal jobs."""
    world.submit("before")
    for number in range(90):
        world.submitter.submit(Submission(request=request(f"after-{number}"), depends_on=[{"job": "before"}]), ROOT)
    world.tick()
    world.pass_time(1000, tick=False)
    urgent(world)
    with slow(world, DependantNotifier, "_try_to_notify"):
        world.tick()
        assert waited_s(world) <= LATE_S
        world.now_s += 60
        world.tick()
    assert len([each for each in read_ledger(world.table).attempts if each.job_name.startswith("after")]) == 90


def test_arrays_go_on_while_many_dependants_are_notified(world: World) -> None:
    world.submit("before")
    for number in range(90):
        world.submitter.submit(Submission(request=request(f"after-{number}"), depends_on=[{"job": "before"}]), ROOT)
    world.tick()
    world.pass_time(1000, tick=False)
    grid = {"list": [{"seed": each} for each in range(3)]}
    world.submitter.submit(Submission(request=request("array"), sweep=grid), ROOT)
    with slow(world, DependantNotifier, "_try_to_notify"):
        world.tick()
    # One share for dependants, and one for arrays.
    assert waited_s(world, "array_0") <= 2 * LATE_S


def test_drained_attempts_are_stopped_by_and_by(world: World) -> None:
    for number in range(100):
        world.submit(f"job-{number}")
    for _ in range(2):
        world.tick()
    PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    ).pause(P5, "user/ada", "move out", stops=True)
    urgent(world)
    with slow(world, type(world.training_jobs), "stop"):
        world.tick()
        assert waited_s(world) <= LATE_S
        for _ in range(2):
            world.now_s += 60
            world.tick()
    assert len(world.called("StopTrainingJob")) == 100


def test_chores_that_change_something_in_each_round_let_the_tick_decide(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "follow_schedules", lambda *_: True)
    urgent(world)
    report = world.tick()
    assert report.started == ["urgent"]
    assert report.decisions >= 2


def test_an_ordinary_tick_makes_one_decision_of_one_round(world: World) -> None:
    """Also if its launches take longer than the share of chores."""
    urgent(world)
    real = world.fleet.call

    def call(name: str, body: Any, *, now: float) -> Any:
        world.now_s += LATE_S
        return real(name, body, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    report = world.tick()
    assert (report.rounds, report.decisions, report.started) == (1, 1, ["urgent"])
