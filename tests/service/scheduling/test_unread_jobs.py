"""Jobs that cannot start hide none behind them for ever, however many they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.refusals import Cause, FailedLaunches
from headway_service.errors import RetryLater
from headway_service.ports.table import Item
from headway_service.scheduling import unread_jobs
from headway_service.scheduling.unread_jobs import MAX_FOUND, MAX_SEARCHED
from headway_service.store import queue_scan
from headway_service.store.ledger import read_ledger
from headway_service.store.queue_scan import MAX_QUEUE_READS
from headway_service.store.records.alternative import AlternativeRecord
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.unread_jobs import UnreadJobsRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.testing.memory_table import MemoryTable
from tests.service.scheduling.test_teams import tags
from tests.service.store.queues import G5, enqueue, waiting_job
from tests.service.world import P5, World, on

LIMITS = {"limits": {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}}


class Counted(MemoryTable):
    """A table that counts the entries of queues that are read, and the writes of what is known of unread jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0
        self.notes = 0
        self.fails = False

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        if pk.startswith("line#"):
            self.entries += len(found)
        return found

    def write(self, writes: Any) -> None:
        notes = sum(each.key.pk == LEDGER and each.key.sk.startswith("unread#") for each in writes)
        if notes and self.fails:
            raise RetryLater("the table is throttled")
        self.notes += notes
        super().write(writes)


def configure(world: World, **document: Any) -> None:
    world.configuration.write({**world.configuration.document, **document})
    world.tick()


def world_of(**document: Any) -> World:
    world = World(pools={P5: 4, G5: 4}, table=Counted())
    configure(world, **LIMITS, **document)
    return world


def counted(world: World) -> Counted:
    assert isinstance(world.table, Counted)
    return world.table


def stuck(
    world: World,
    number: int,
    *,
    team: str = "",
    begin: int = 0,
    priority: int = 9,
    failed: FailedLaunchesRecord | None = None,
    **demand: int,
) -> None:
    """Queue jobs that demand more than there will be, or that SageMaker has refused."""
    pools = {{"p5": P5, "g5": G5}[pool]: count for pool, count in (demand or {"p5": 4}).items()}
    for each in range(begin, begin + number):
        job = waiting_job(f"stuck{each:05d}", priority, pools)
        changes = {"entry_time": world.clock() - 100_000 + each, "team": team, "failed": failed}
        enqueue(counted(world), job.model_copy(update=changes))


def unread(world: World) -> list[UnreadJobsRecord]:
    return [*read_ledger(world.table).unread]


def ticks_until_it_runs(world: World, name: str, most: int = 20) -> int:
    for number in range(1, most + 1):
        world.tick()
        world.check()
        if world.states(name) == {name: "running"}:
            return number
        world.now_s += 60
    return most + 1


def smaller_pool(number: int) -> World:
    world = world_of()
    stuck(world, number)
    world.submit("small", 0)
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    return world


def other_pool_paused(number: int) -> World:
    world = world_of()
    stuck(world, number, p5=1, g5=1)
    world.container.pool_operations.pause(G5, "user/ada", "repair")
    world.submit("small", 0)
    return world


def lower_limit(number: int) -> World:
    world = world_of(teams={"a": {"limit": {P5: 4}}})
    stuck(world, number, team="a")
    world.submit("small", Tags=tags("a", 0))
    configure(world, teams={"a": {"limit": {P5: 2}}})
    return world


def alternatives_too_large(number: int) -> World:
    world = world_of()
    choices = tuple(AlternativeRecord(demand={pool: 4}) for pool in (P5, G5))
    for each in range(number):
        job = waiting_job(f"stuck{each:05d}", 9, {P5: 4}).model_copy(update={"choices": choices})
        enqueue(counted(world), job.model_copy(update={"entry_time": each}))
    world.submit("small", 0)
    configure(world, pools={P5: {"size": 2}, G5: {"size": 2}})
    return world


def larger_than_the_guarantee(number: int) -> World:
    """The other jobs of the team wait for instances, which only its guarantee gives before those end."""
    world = world_of(teams={"a": {"guaranteed": {P5: 1}}, "b": {}})
    for each in range(2):
        long = {"SANDBOX_RUN_SECONDS": "80000"}
        world.submit(f"runs{each}", ResourceConfig=on(2), Environment=long, Tags=tags("b", 9))
    world.tick()
    stuck(world, number, team="a", priority=1, p5=2)
    world.submit("small", Tags=tags("a", 0))
    return world


def unlaunchable(number: int) -> World:
    """They were tried just now."""
    world = world_of()
    failed = FailedLaunches(count=9, since_ms=0, last_ms=world.clock(), cause=Cause.CAPACITY)
    stuck(world, number, p5=1, failed=FailedLaunchesRecord.of(failed))
    world.submit("small", 0)
    return world


STATES = [smaller_pool, other_pool_paused, lower_limit, alternatives_too_large, unlaunchable]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("number", "ticks"), [(MAX_QUEUE_READS + 5, 1), (MAX_QUEUE_READS + MAX_SEARCHED + 5, 2)])
def test_a_job_behind_many_that_cannot_start_starts_within_a_round(state: Any, number: int, ticks: int) -> None:
    # What `state` did may have taken a tick.
    assert ticks_until_it_runs(state(number), "small") <= ticks


def test_a_job_that_a_guarantee_covers_starts_behind_many_larger_ones_of_its_team() -> None:
    world = larger_than_the_guarantee(MAX_QUEUE_READS + MAX_SEARCHED + 5)
    for _ in range(2):
        world.tick()
        world.now_s += 60
    world.pass_time(150)
    world.tick()
    assert world.states("small") == {"small": "running"}
    world.check()


def test_a_queue_whose_front_settles_the_decision_is_read_as_before_and_nothing_is_noted() -> None:
    world = smaller_pool(300)
    table = counted(world)
    assert world.states("small") == {"small": "running"}
    table.entries = 0
    world.tick()
    assert table.entries == 2 * 300, "each of the two decisions of the round reads it"
    assert table.notes == 0


def test_a_search_reads_a_bounded_part_and_writes_once_a_tick() -> None:
    world = smaller_pool(3 * MAX_SEARCHED)
    table = counted(world)
    table.entries = table.notes = 0
    report = world.tick()
    # Each of the two decisions of a round reads the front.
    assert table.entries <= report.rounds * 2 * MAX_QUEUE_READS + MAX_SEARCHED
    assert table.notes == 1


def test_what_is_known_is_forgotten_when_the_front_settles_the_decision_again() -> None:
    world = smaller_pool(MAX_QUEUE_READS + 5)
    assert len(unread(world)) == 1
    configure(world, pools={P5: {"size": 4}, G5: {"size": 4}})
    assert unread(world) == []
    counted(world).notes = 0
    world.tick()
    assert counted(world).notes == 0


def test_what_is_known_of_a_removed_pool_is_forgotten() -> None:
    world = world_of()
    note = UnreadJobsRecord(pool="ml.g6.xlarge", after="x", searched_ms=0)
    world.table.write([note.put()])
    world.tick()
    assert unread(world) == []


def small_limits(monkeypatch: pytest.MonkeyPatch, front: int = 10, searched: int = 5, found: int = 2) -> None:
    monkeypatch.setattr(queue_scan, "MAX_QUEUE_READS", front)
    monkeypatch.setattr(unread_jobs, "MAX_SEARCHED", searched)
    monkeypatch.setattr(unread_jobs, "MAX_FOUND", found)


def test_a_job_that_comes_into_the_part_that_was_searched_is_found_in_the_next_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_limits(monkeypatch)
    world = world_of()
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    stuck(world, 14)
    stuck(world, 20, begin=20, priority=3)
    for _ in range(3):
        world.tick()
    world.submit("between", 5)
    # 24 behind the front, 5 in each tick, and one tick that finds the end.
    assert ticks_until_it_runs(world, "between") <= 6


def test_all_that_could_start_is_considered_in_turns_although_the_first_ones_cannot_start_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first jobs that fit wait for a pool that is in use, and those behind them for one that is free."""
    small_limits(monkeypatch)
    world = world_of(backfill={"window": 100})
    world.submit("runs", 9, ResourceConfig=on(4, G5), Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.tick()
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    stuck(world, 15)
    stuck(world, 10, begin=20, priority=3, p5=1, g5=1)
    world.submit("last", 0)
    assert ticks_until_it_runs(world, "last") <= 10


def test_a_large_job_behind_many_that_cannot_start_is_not_passed_by_small_ones_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_limits(monkeypatch)
    world = world_of()
    configure(world, pools={P5: {"size": 3}, G5: {"size": 4}})
    stuck(world, 30)
    for number in range(3):
        world.submit(f"first{number}", 0)
    for _ in range(8):
        world.tick()
    world.submit("large", 0, ResourceConfig=on(3))
    for number in range(12):
        world.now_s += 1
        world.submit(f"later{number}", 0)
    for _ in range(30):
        world.pass_time(60)
        world.tick()
    assert world.states("large") in ({"large": "running"}, {"large": "completed"})


def test_a_table_that_is_throttled_during_a_search_fails_no_tick() -> None:
    world = world_of()
    stuck(world, MAX_QUEUE_READS + 5)
    world.submit("small", 0)
    counted(world).fails = True
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    assert world.states("small") == {"small": "pending"}
    counted(world).fails = False
    assert ticks_until_it_runs(world, "small") == 1


def test_a_tick_searches_the_queues_that_were_searched_least_recently(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    monkeypatch.setattr(unread_jobs, "MAX_QUEUES", 1)
    world = world_of(teams={"a": {}, "b": {}})
    for team in ("a", "b"):
        stuck(world, 12, team=team, begin=100 if team == "a" else 200)
        world.submit(f"small-{team}", Tags=tags(team, 0))
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    for _ in range(3):
        world.now_s += 60
        world.tick()
    assert world.states("small-a", "small-b") == {"small-a": "running", "small-b": "running"}


@settings(max_examples=40)
@given(
    line=st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=60),
    ageing=st.booleans(),
    limits=st.tuples(st.integers(1, 12), st.integers(1, 8), st.integers(1, 5)),
)
def test_whatever_cannot_start_all_that_could_start_does_within_a_round(
    line: list[tuple[bool, int]], ageing: bool, limits: tuple[int, int, int]
) -> None:
    more: Mapping[str, Any] = {"ageing": {"intervalSeconds": 60, "cap": 3}} if ageing else {}
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_limits(monkeypatch, *limits)
        world = world_of(**more)
        names = []
        for number, (fits, priority) in enumerate(line):
            world.now_s += 1
            if fits:
                names.append(f"fits{number}")
                world.submit(names[-1], priority)
            else:
                stuck(world, 1, begin=number, priority=priority, p5=200)
        configure(world, pools={P5: {"size": 100}, G5: {"size": 4}})
        _, searched, found = limits
        for _ in range(len(line) // searched + len(names) // found + 2):
            world.tick()
        assert set(world.states(*names).values()) <= {"running"}
        world.check()


def test_the_part_that_is_kept_of_the_found_jobs_is_bounded() -> None:
    world = world_of()
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    for number in range(2):
        world.submit(f"runs{number}", 9, Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.tick()
    stuck(world, MAX_QUEUE_READS)
    stuck(world, 3 * MAX_FOUND, begin=5000, priority=1, p5=1)
    for _ in range(4):
        world.tick()
        (note,) = unread(world)
        assert (len(note.first), len(note.latest)) <= (MAX_FOUND, MAX_FOUND)


def test_the_first_job_that_was_found_stays_considered_while_others_are_searched(monkeypatch: pytest.MonkeyPatch):
    small_limits(monkeypatch)
    world = world_of()
    long = {"SANDBOX_RUN_SECONDS": "80000"}
    world.submit("runs", 9, ResourceConfig=on(2), Environment=long)
    world.tick()
    configure(world, pools={P5: {"size": 2}, G5: {"size": 4}})
    stuck(world, 12)
    world.submit("waits", 8)
    stuck(world, 30, begin=20, priority=3)
    world.tick()
    for _ in range(8):
        world.tick()
        (note,) = unread(world)
        assert any(key.endswith("waits") for key in note.found)
