"""Whatever users may create many of, a tick decides in time: calls are counted, and time is virtual."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from headway.lifecycle import JobState
from headway_service.admission.submission import Submission
from headway_service.arrays.advance import ArrayAdvancer
from headway_service.launching.executor import Executor
from headway_service.pools.operations import PoolOperations
from headway_service.ports.table import Item, Key, Put, Write
from headway_service.scheduling.chores import SHARE_MS
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.store.ledger import read_ledger
from headway_service.store.records.dependency import EndedJobRecord, RecheckRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import get_job
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import ADA, P5, ROOT, World, request

READ_S, WRITE_S = 0.004, 0.01
CHAIN = 450
SHARE_S = SHARE_MS / 1000


class SlowTable(MemoryTable):
    """A table whose calls take virtual time, and are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.world: World | None = None
        self.calls = 0

    def get(self, key: Key) -> Item | None:
        self._takes(READ_S)
        return super().get(key)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        self._takes(READ_S)
        return super().get_all(keys)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        self._takes(READ_S)
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        self._takes(WRITE_S)
        super().write(writes)

    def _takes(self, seconds: float) -> None:
        self.calls += 1
        if self.world is not None:
            self.world.now_s += seconds


@pytest.fixture
def table() -> SlowTable:
    return SlowTable()


@pytest.fixture
def world(table: SlowTable) -> World:
    world = World(table=table)
    limits = {"waitingPerTeam": 10_000, "waitingPerOwner": 10_000}
    world.configuration.write({"pools": {P5: {"size": 4}}, "limits": limits})
    return world


def tick(world: World) -> float:
    """Run a tick, which has to decide. Returns what it has taken, s."""
    table = world.table
    assert isinstance(table, SlowTable)
    table.world, table.calls, began_s = world, 0, world.now_s
    report = world.tick()
    table.world = None
    assert report.decisions
    return world.now_s - began_s


def after(world: World, name: str, *others: str, **changes: Any) -> None:
    depends_on = [{"job": other} for other in others]
    world.submitter.submit(Submission(request=request(name, **changes), depends_on=depends_on), ADA)


def chain(world: World, length: int = CHAIN) -> list[str]:
    """Jobs each of which waits for the one before."""
    names = [f"job-{number:03}" for number in range(length)]
    world.submitter.submit(request(names[0]), ADA)
    for before, name in pairwise(names):
        after(world, name, before)
    return names


def ended(world: World, names: Sequence[str]) -> int:
    return sum(get_job(world.table, name).ending is not None for name in names)


def test_a_long_chain_ends_with_its_first_job_in_one_tick(world: World) -> None:
    """It took half an hour: each tick ended seventeen of its jobs."""
    names = chain(world)
    world.commands.stop(names[0], ADA)
    world.submit("urgent", 9)
    assert tick(world) < 20
    assert get_job(world.table, "urgent").usage.started_ms is not None
    assert ended(world, names) == CHAIN
    assert not read_ledger(world.table).ended


@pytest.mark.parametrize("slow_s", [1.0, 10.0])
def test_a_chain_that_takes_longer_than_a_tick_goes_on_in_the_next(
    world: World, slow_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = chain(world, 30)
    world.commands.stop(names[0], ADA)
    whole = DependantNotifier._notify_one

    def slow(notifier: DependantNotifier, *args: Any) -> bool:
        world.now_s += slow_s
        return whole(notifier, *args)

    monkeypatch.setattr(DependantNotifier, "_notify_one", slow)
    before = 1
    for _ in range(30):
        tick(world)
        done = ended(world, names)
        assert done > before or done == len(names)
        before = done
    assert before == len(names)


def test_the_last_job_of_a_long_chain_is_explained(world: World) -> None:
    names = chain(world)
    assert names[-2] in world.seen(names[-1]).reason.message


def test_held_jobs_cost_a_tick_nothing(world: World, table: SlowTable) -> None:
    world.submit("held")
    world.commands.hold("held", ROOT)
    tick(world)
    with_one = table.calls
    kept = json.dumps(world.table.get(JobRecord.key("held")))
    for number in range(10_000):
        name = f"other-{number}"
        copy = kept.replace('"held"', f'"{name}"', 2).replace("job#held", f"job#{name}")
        world.table.write([Put(item=json.loads(copy))])
    tick(world)
    assert table.calls == with_one


def test_dependants_that_fail_keep_no_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of those that fail takes the whole share of chores."""
    world.submit("first")
    for number in range(6):
        after(world, f"fails-{number}", "first")
    after(world, "job", "first")
    world.tick()
    world.pass_time(1000, tick=False)
    whole = DependantNotifier._notify_one

    def notify(notifier: DependantNotifier, name: str, *args: Any) -> bool:
        if not name.startswith("fails"):
            return whole(notifier, name, *args)
        world.now_s += SHARE_S
        raise RuntimeError("S3 does not answer")

    monkeypatch.setattr(DependantNotifier, "_notify_one", notify)
    for _ in range(7):
        tick(world)
    assert get_job(world.table, "job").usage.started_ms is not None
    monkeypatch.undo()
    tick(world)
    assert not any(get_job(world.table, f"fails-{number}").awaited for number in range(6))


FAILING = [f"fails-{number}" for number in range(6)]
"""More than one tick comes to, if each takes the whole share of chores."""


def fail_slowly(world: World, monkeypatch: pytest.MonkeyPatch, of: type, name: str) -> None:
    """Let the work on records fail whose names begin so, and take the whole share."""
    whole = getattr(of, name)

    def work(self: Any, record: Any, *args: Any) -> Any:
        if "fails" not in str(record):
            return whole(self, record, *args)
        world.now_s += SHARE_S
        raise RuntimeError("S3 does not answer")

    monkeypatch.setattr(of, name, work)


def test_ends_whose_dependants_fail_keep_no_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.configuration.write({"pools": {P5: {"size": 7}}})
    for name in ("z-job", *FAILING):
        world.submit(name)
        after(world, f"after-{name}", name)
    world.tick()
    world.pass_time(1000, tick=False)
    assert len(read_ledger(world.table).ended) == 7
    fail_slowly(world, monkeypatch, DependantNotifier, "_notify_one")
    for _ in range(3):
        tick(world)
    assert get_job(world.table, "after-z-job").usage.started_ms is not None


def test_arrays_that_fail_keep_no_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("z-array", *FAILING):
        submission = Submission(request=request(name), sweep={"list": [{"seed": 1}]})
        world.submitter.submit(submission, ADA)
    fail_slowly(world, monkeypatch, ArrayAdvancer, "_advance")
    for _ in range(3):
        tick(world)
    assert get_job(world.table, "z-array").job_state is JobState.RUNNING


def test_equal_jobs_that_cannot_be_compared_keep_no_others_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("z-job", *FAILING):
        world.table.write([RecheckRecord(job_name=name).put()])
    fail_slowly(world, monkeypatch, DependantNotifier, "compare_again")
    for _ in range(3):
        tick(world)
    assert [each.job_name for each in read_ledger(world.table).rechecks] == FAILING


def test_drained_attempts_that_fail_keep_no_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.configuration.write({"pools": {P5: {"size": 7}}})
    for name in ("z-job", *FAILING):
        world.submit(name)
    for _ in range(2):
        world.tick()
    pools = PoolOperations(
        table=world.table, wake=world.wakes.append, clocks=world.clocks, configuration=world.configured
    )
    pools.pause(P5, "user/ada", "move out", stops=True)
    fail_slowly(world, monkeypatch, Executor, "_drain")
    for _ in range(3):
        tick(world)
    assert len(world.called("StopTrainingJob")) == 1


def test_no_outputs_are_noted_of_ends_that_there_is_no_time_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.submit("first")
    for number in range(10):
        after(world, f"middle-{number}", "first")
        after(world, f"last-{number}", f"middle-{number}")
    world.commands.stop("first", ROOT)
    whole = DependantNotifier._notify_one
    settled: list[str] = []

    def settle(_: DependantNotifier, ended: EndedJobRecord) -> bool:
        settled.append(ended.job_name)
        return False

    def notify(notifier: DependantNotifier, name: str, *args: Any) -> bool:
        world.now_s += SHARE_S if name == "middle-9" else 0
        return whole(notifier, name, *args)

    monkeypatch.setattr(DependantNotifier, "_notify_one", notify)
    monkeypatch.setattr(DependantNotifier, "_settle", settle)
    report = world.tick()
    assert report.decisions > 1
    # Those of the others are noted when their dependants are notified.
    assert len(settled) == len(set(settled)) == 11
