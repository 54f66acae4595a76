"""Promises 1 and 6 over random lives of a queue: whatever people, SageMaker and crashes do, in whatever order."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.lifecycle import TERMINAL
from headway_sandbox.errors import AwsError
from headway_sandbox.faults import Faults
from headway_service.errors import RequestError
from headway_service.ledger import read_ledger
from headway_service.ports import Key, Write
from headway_service.records import JobRecord, LineEntry
from tests.service.world import P5, World, on, request

NAMES = [f"j{i}" for i in range(12)]
G5 = "ml.g5.xlarge"
POOLS = {P5: 2, G5: 3}
TEAMS: list[dict[str, Any]] = [
    {},
    {"a": {}, "default": {"weight": 3}},
    {"a": {"guaranteed": {P5: 1}, "limit": {G5: 2}}, "b": {"guaranteed": {G5: 1}, "maxPriority": 2}},
]
"""Who shares the pools, from one document to the next."""

FOREIGN = "ml.c5.xlarge"
"""What somebody else's training jobs run on: not a pool of the queue's."""


class Crash(BaseException):
    """The function process is gone."""


class Fragile:
    """A table that kills the process beside its n-th write from now, if told to."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.left = 0
        self.after = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)

    def write(self, writes: list[Write]) -> None:
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Crash
        self.table.write(writes)
        if self.left == 0:
            raise Crash


def fragile_world() -> World:
    world = World(pools=POOLS)
    world.table = world.observer._table = world.desk._table = Fragile(world.table)  # type: ignore[assignment]
    world.desk._explainer._table = world.table
    return world


Step = Callable[[World], Any]


def submit(name: str, tags: dict[str, str], demand: list[tuple[str, int]], run_s: int, outcome: str) -> Step:
    environment = {"SANDBOX_RUN_SECONDS": str(run_s), "SANDBOX_OUTCOME": outcome}
    if len(demand) == 1:
        ((pool, count),) = demand
        resources = on(count, pool)
    else:
        groups = [
            {"InstanceGroupName": f"g{i}", "InstanceType": pool, "InstanceCount": count}
            for i, (pool, count) in enumerate(demand)
        ]
        resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    return lambda world: world.submit(name, ResourceConfig=resources, Environment=environment, Tags=listed)


def crash(at: int, *, after: bool) -> Step:
    def arm(world: World) -> None:
        table: Any = world.table
        table.left, table.after = at, after

    return arm


def faults(**switches: Any) -> Step:
    def turn(world: World) -> None:
        world.fleet.faults = replace(world.fleet.faults, **switches)

    return turn


def configure(sizes: dict[str, int], teams: dict[str, Any], **rules: Any) -> Step:
    document = {"pools": {pool: {"size": size} for pool, size in sizes.items()}, "teams": teams, **rules}
    return lambda world: world.configuration.write(json.dumps(document))


def life(random: Random) -> Iterator[Step]:
    """Sixty things that happen to a queue, mostly submissions, ticks and time, now and then an accident."""
    kinds: dict[str, tuple[int, Callable[[], Step]]] = {
        "submit": (
            8,
            lambda: submit(
                random.choice(NAMES),
                {"priority": str(random.randint(0, 3)), **random.choice([{}, {"team": "a"}, {"team": "b"}])},
                random.choice(
                    [[(P5, 1)], [(P5, 2)], [(G5, 1)], [(G5, 2)], [(P5, 1), (G5, 1)], [(G5, 1), (P5, 1), (G5, 1)]]
                ),
                random.choice([10, 300, 2000]),
                random.choice(["complete", "complete", "complete", "AlgorithmError: x", "CapacityError"]),
            ),
        ),
        "tick": (8, lambda: World.tick),
        "time": (8, partial(_later, random, deliver=True)),
        "time without events": (1, partial(_later, random, deliver=False)),
        "reconcile": (1, lambda: partial(World.reconcile, after_s=60)),
        "stop": (1, lambda: _stop(random.choice(NAMES))),
        "priority": (2, lambda: _prioritise(random.choice(NAMES), random.randint(0, 3))),
        "crash": (2, lambda: crash(random.randint(1, 5), after=random.random() < 0.5)),
        "configure": (
            2,
            lambda: configure(
                {P5: random.choice([1, 2, 2, 3]), G5: random.choice([1, 3, 3])},
                random.choice(TEAMS),
                backfill={"enabled": random.random() < 0.7, "reservedHeads": random.choice([1, 2])},
                preemption={"maxPerJob": random.choice([1, 10]), "minRunTimeSeconds": random.choice([0, 0, 200])},
                ageing=random.choice([None, None, {"intervalSeconds": 60, "cap": 2}]),
            ),
        ),
        "foreign": (1, lambda: _take_name(random.choice(NAMES))),
        "faults": (
            1,
            lambda: faults(
                throttle=random.choice([{}, {"CreateTrainingJob": 1}, {"StopTrainingJob": 1}]),
                lose_answer=random.choice([{}, {"CreateTrainingJob": 1}, {"StopTrainingJob": 1}]),
                event_duplicate=random.choice([0.0, 0.5]),
                event_delay=random.choice([0.0, 0.5]),
                event_shuffle=random.choice([0.0, 1.0]),
                quotas=random.choice([{}, {"ml.p5.48xlarge": 3}]),
            ),
        ),
    }
    weights = [weight for weight, _ in kinds.values()]
    for kind in random.choices(list(kinds), weights, k=60):
        yield kinds[kind][1]()


def _later(random: Random, *, deliver: bool) -> Step:
    seconds = random.choice([1, 40, 130, 400])
    return lambda world: world.pass_time(seconds, deliver=deliver)


def _stop(name: str) -> Step:
    return lambda world: world.desk.stop(name)


def _prioritise(name: str, priority: int) -> Step:
    return lambda world: world.desk.set_priority(name, priority)


def _take_name(name: str) -> Step:
    """Somebody else creates a training job of that name, beside the queue."""

    def create(world: World) -> None:
        with contextlib.suppress(AwsError):
            world.fleet.create(request(name, ResourceConfig=on(1, FOREIGN)), now=world.now_s)

    return create


@given(st.integers(0, 2**64))
@settings(max_examples=40)
def test_whatever_happens_nothing_is_lost_or_doubled_and_no_pool_is_ever_exceeded(seed: int) -> None:
    world = fragile_world()
    world.tick()
    accepted: set[str] = set()
    for step in life(Random(seed)):
        with contextlib.suppress(Crash, RequestError):
            step(world)
        accepted |= {name for name in NAMES if world.table.get(_key(name)) is not None}
        _check(world)
        world.now_s += 1

    # Everything is well again: the pool has room, SageMaker answers, and the reconciler runs every minute.
    crash(0, after=False)(world)
    world.fleet.faults = Faults()
    configure(POOLS, Random(seed).choice(TEAMS[:2]))(world)
    for _ in range(700):
        world.now_s += 60
        world.pass_time(0)
        world.reconcile(after_s=120)
        world.tick()
        _check(world)
        if not _live(world, accepted):
            break
    assert not _live(world, accepted), "an accepted job reached no end"
    ledger = read_ledger(world.table)
    assert not ledger.attempts
    assert not ledger.reservations
    ours = [job for job in world.fleet.jobs(now=world.now_s) if "headway:job" in job.tags]
    assert all(job.ended for job in ours), "a training job runs that the queue does not know"


def _check(world: World) -> None:
    ledger = read_ledger(world.table)
    for pool in ledger.pools:
        held = sum(attempt.demand.get(pool.pool, 0) for attempt in ledger.attempts)
        reserved = sum(each.demand.get(pool.pool, 0) for each in ledger.reservations)
        assert pool.free == pool.size - held - reserved
        assert world.fleet.in_use().get(pool.pool, 0) <= held, "SageMaker runs what the ledger does not hold"
    jobs = [attempt.job_name for attempt in ledger.attempts]
    assert len(set(jobs)) == len(jobs), "a job has two live attempts"
    for name in NAMES:
        item = world.table.get(_key(name))
        if item is None:
            continue
        waits = item["jobState"] in {"pending", "preempted"}
        for kind in POOLS:
            entries = [team for team in ("", "a", "b", "default") if name in _line(world, kind, team)]
            assert entries == ([item["team"]] if waits and kind in item["demand"] else []), "the line is off"
        assert (item.get("liveAttempt") is not None) == (item["jobState"] in {"running", "stopping"})


def _line(world: World, pool: str, team: str) -> list[str]:
    return [entry["jobName"] for entry in world.table.query(LineEntry.partition(pool, team), limit=99)]


def _live(world: World, accepted: set[str]) -> list[str]:
    return [name for name in accepted if world.seen(name).job.job_state not in TERMINAL]


def _key(name: str) -> Key:
    return JobRecord.key(name)
