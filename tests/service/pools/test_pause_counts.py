"""A number in each pool's item takes the place of two checks in each start, and no start slips past a pause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headway_service.pools.pause_counts import MAX_COUNTED, OLDER_CODE_MS, begin_to_count
from headway_service.ports.table import Check, Item, Write
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger_for_display, read_pools
from headway_service.store.records.base import LEDGER
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.repository import find_pause
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, World, on

G5 = "ml.g5.xlarge"
EVERYTHING = PauseRecord.EVERYTHING


class WatchedTable(MemoryTable):
    """A table that calls somebody before a call.

    Attributes:
        calls: what happens before the next calls.
        checks: the checks that were written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Callable[[], None] | None] = []
        self.checks: list[Check] = []

    def _called(self) -> None:
        happens = self.calls.pop(0) if self.calls else None
        if happens is not None:
            left, self.calls = self.calls, []
            happens()
            self.calls = left

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        if pk == LEDGER:
            self._called()
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        self._called()
        super().write(writes)
        self.checks += [each for each in writes if isinstance(each, Check)]


class Counted(World):
    """A queue whose pauses have been counted for long."""

    def __init__(self) -> None:
        self.watched = WatchedTable()
        super().__init__(table=self.watched, pools={P5: 2, G5: 2})
        self.configured()
        self.count(OLDER_CODE_MS)
        self.operations = self.container.pool_operations

    def count(self, after_ms: int) -> None:
        begin_to_count(self.table, read_ledger_for_display(self.table), self.machine_clock())
        self.now_s += after_ms / 1000

    def numbers(self) -> list[int | None]:
        return [pool.pauses for pool in read_pools(self.table)]


def test_a_start_writes_no_checks() -> None:
    world = Counted()
    world.submit("a")
    world.watched.checks.clear()
    world.tick()
    assert world.states("a") == {"a": "running"}
    assert world.watched.checks == []


@pytest.mark.parametrize("after_ms", [0, OLDER_CODE_MS - 1])
def test_starts_check_for_pauses_as_long_as_functions_may_run_older_code(after_ms: int) -> None:
    table = WatchedTable()
    world = World(table=table, pools={P5: 2})
    world.configured()
    begin_to_count(table, read_ledger_for_display(table), world.machine_clock())
    world.now_s += after_ms / 1000
    world.submit("a")
    table.checks.clear()
    world.tick()
    assert [each.key for each in table.checks] == [PauseRecord.key(P5), PauseRecord.key(EVERYTHING)]


def test_counting_begins_once() -> None:
    world = Counted()
    before = [(pool.pauses, pool.pauses_from_ms) for pool in read_pools(world.table)]
    world.count(0)
    assert [(pool.pauses, pool.pauses_from_ms) for pool in read_pools(world.table)] == before


@pytest.mark.parametrize("what", [P5, EVERYTHING])
@pytest.mark.parametrize("call", range(5))
def test_a_pause_at_any_call_of_a_tick_lets_no_job_start_after_it(what: str, call: int) -> None:
    """The calls are the reads of the ledger, and the start itself; the pause may also come after it."""
    world = Counted()
    world.submit("a")
    started: list[bool] = []

    def pause() -> None:
        world.operations.pause(what, "user/ada", "so it is")
        started.append(world.states("a") == {"a": "running"})

    world.watched.calls = [None] * call + [pause]
    world.tick()
    world.tick()
    assert started == [world.states("a") == {"a": "running"}]


@pytest.mark.parametrize("what", [P5, EVERYTHING])
def test_a_pause_within_a_read_of_the_ledger_lets_no_job_start_after_it(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query is no snapshot: it may have pools as of after a pause, and pauses as of before it."""
    world = Counted()
    world.configured()
    world.submit("a")
    whole = world.watched.query
    reads: list[tuple[Item, ...]] = []

    def query(pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        early = whole(pk, prefix=prefix, after=after, limit=limit)
        if pk != LEDGER or prefix or after:
            return early
        reads.append(early)
        if len(reads) != 2:
            return early
        world.operations.pause(what, "user/ada", "so it is")
        late = whole(pk, prefix=prefix, after=after, limit=limit)
        middle = PauseRecord.key("~").sk
        return (*(each for each in early if each["sk"] < middle), *(each for each in late if each["sk"] > middle))

    monkeypatch.setattr(world.watched, "query", query)
    assert world.tick().rejected == 1
    assert world.states("a") == {"a": "pending"}


@pytest.mark.parametrize(("what", "raised"), [(P5, [False, True]), (G5, [True, False]), (EVERYTHING, [True, True])])
def test_a_pause_is_counted_once_in_each_of_its_pools(what: str, raised: list[bool]) -> None:
    world = Counted()
    before = world.numbers()
    for _ in range(2):
        world.operations.pause(what, "user/ada", "so it is")
        assert [now != was for now, was in zip(world.numbers(), before, strict=True)] == raised
    after = world.numbers()
    world.operations.resume(what, "user/ada")
    assert world.numbers() == after


def test_a_pool_that_is_removed_during_a_pause_of_everything_does_not_prevent_it() -> None:
    world = Counted()

    def remove() -> None:
        pool, _ = read_pools(world.table)
        world.table.write(transitions.resize_pool(pool, 0))
        world.table.write(transitions.remove_pool(pool.model_copy(update={"size": 0, "free": 0})))

    world.watched.calls = [None, remove]
    world.operations.pause(EVERYTHING, "user/ada", "so it is")
    assert [pool.pool for pool in read_pools(world.table)] == [P5]
    assert find_pause(world.table, EVERYTHING) is not None


@pytest.mark.parametrize(("others", "counted"), [(MAX_COUNTED - 2, MAX_COUNTED), (MAX_COUNTED, MAX_COUNTED)])
def test_the_pauses_of_a_bounded_number_of_pools_are_counted_and_all_are_paused(others: int, counted: int) -> None:
    world = Counted()
    for number in range(others):
        world.table.write(transitions.add_pool(f"ml.p{number}.xlarge", 0))
    for _ in range(2):
        world.count(0)
    assert sum(pool.pauses is not None for pool in read_pools(world.table)) == counted
    world.operations.pause(EVERYTHING, "user/ada", "so it is")
    assert find_pause(world.table, EVERYTHING) is not None


def test_a_pause_of_one_pool_is_no_conflict_in_another_one() -> None:
    world = Counted()
    world.submit("a", ResourceConfig=on(1, G5))
    world.watched.calls = [None] * 2 + [lambda: world.operations.pause(P5, "user/ada", "so it is")]
    world.tick()
    assert world.states("a") == {"a": "running"}


def test_a_pool_that_is_in_no_ledger_yet_is_paused() -> None:
    world = World(pools={P5: 2})
    world.container.pool_operations.pause(EVERYTHING, "user/ada", "so it is")
    world.submit("a")
    world.tick()
    assert world.states("a") == {"a": "pending"}
