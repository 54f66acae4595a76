"""Sums of idle time: counted once in effect, and without a write while nothing is idle."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from headway.accounting.idle import COUNTED_EACH_S, MAX_GAP_S
from headway.model import Snapshot
from headway.plan import Plan
from headway_service.accounting.records import IDLE, IDLE_RESERVED, figures_in, name_in
from headway_service.errors import Conflict, RetryLater
from headway_service.launching.executor import RESERVED_MS
from headway_service.ports.table import Update, Write
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.records.capacity.idle import IdleRecord
from headway_service.store.records.capacity.ledger import PoolRecord, ReservationRecord
from tests.service.world import INVOCATION_S, P5, ROOT, World, on

G5 = "ml.g5.xlarge"


@pytest.fixture
def world() -> World:
    """One job runs on one of four instances."""
    world = World(pools={P5: 4, G5: 1})
    world.submit("low", Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.tick()
    return world


def wait_for_all(world: World, name: str = "wide") -> None:
    """Submit a job that needs all instances, and run a tick."""
    world.submit(name, ResourceConfig=on(4))
    world.tick()


def sums(world: World, *, months: bool = False) -> dict[str, int]:
    """The sums of idle time of all pools and days, or months, in seconds."""
    found: dict[str, int] = {}
    for item in world.table.items():  # type: ignore[attr-defined]
        if item["pk"].startswith("usage#pool#") and item["sk"] != "names" and item["sk"].startswith("00#") is months:
            for name, value in figures_in(item).items():
                if name.startswith((IDLE, IDLE_RESERVED)):
                    assert name.endswith(name_in(item))
                    found[name] = found.get(name, 0) + value // 1000
    return found


def writes_of(world: World, act: Callable[[], object]) -> list[Write]:
    """The writes that something makes."""
    found: list[Write] = []
    real = world.table.write

    def write(writes: Sequence[Write]) -> None:
        found.extend(writes)
        real(writes)

    world.table.write = write  # type: ignore[method-assign]
    act()
    world.table.write = real  # type: ignore[method-assign]
    return found


def noted(world: World) -> list[IdleRecord]:
    """What is idle, as far as it is not counted."""
    return [each for each in read_ledger(world.table).idle if each.count]


def later(world: World, seconds: float) -> None:
    """Let time pass, and run a tick."""
    world.now_s += seconds
    world.tick()


def test_instances_that_are_kept_for_a_blocked_job_are_counted_until_it_starts_or_leaves(world: World) -> None:
    wait_for_all(world)
    later(world, 100)
    assert sums(world) == {}
    world.commands.stop("wide", ROOT)
    later(world, 20)
    assert sums(world) == {f"{IDLE}{P5}": 3 * 120} == sums(world, months=True)
    assert noted(world) == []
    later(world, 500)
    assert sums(world) == {f"{IDLE}{P5}": 3 * 120}


def test_what_stays_idle_is_counted_every_few_minutes_with_one_write(world: World) -> None:
    wait_for_all(world)
    for minute in range(1, 2 * COUNTED_EACH_S // 60 + 1):
        writes = writes_of(world, lambda: later(world, 60))
        assert bool(writes) is (minute * 60 % COUNTED_EACH_S == 0)
        assert len(writes) in (0, 3, 4), "the item, the day, the month, and the count of names at first"
    assert sums(world) == {f"{IDLE}{P5}": 3 * 2 * COUNTED_EACH_S}


def test_reserved_instances_are_counted_apart(world: World) -> None:
    world.submit("wide", ResourceConfig=on(4))
    reserved = ReservationRecord(job_name="wide", demand={P5: 2}).put(was=None)
    world.table.write([reserved, Update(key=PoolRecord.key(P5), adds={"free": -2})])
    later(world, 0)
    later(world, COUNTED_EACH_S)
    assert sums(world) == {f"{IDLE}{P5}": 3 * COUNTED_EACH_S, f"{IDLE_RESERVED}{P5}": 2 * COUNTED_EACH_S}


def test_nothing_is_written_while_nothing_is_idle(world: World) -> None:
    world.submit("b", ResourceConfig=on(3), Environment={"SANDBOX_RUN_SECONDS": "80000"})
    world.tick()
    wait_for_all(world)
    assert writes_of(world, lambda: later(world, 400)) == []
    assert noted(world) == []


def test_a_pause_of_the_scheduler_is_not_counted(world: World) -> None:
    wait_for_all(world)
    later(world, MAX_GAP_S + 1)
    assert sums(world) == {}
    later(world, COUNTED_EACH_S)
    assert sums(world) == {f"{IDLE}{P5}": 3 * COUNTED_EACH_S}


def test_a_tick_that_has_no_time_left_notes_nothing(world: World) -> None:
    world.submit("wide", ResourceConfig=on(4))

    def take_long() -> None:
        world.now_s += INVOCATION_S - RESERVED_MS / 1000

    world.interrupted_tick(take_long)
    assert noted(world) == []


def test_of_plans_that_could_not_be_carried_out_what_the_last_one_of_a_tick_leaves_idle_is_noted(world: World) -> None:
    """A job of which the start conflicts each time is passed over in this tick, and waits beside idle instances."""
    world.submit("wide", ResourceConfig=on(4))
    world.submit("next", 9)
    real = world.table.write

    def write(writes: Sequence[Write]) -> None:
        if any(each.key.sk.startswith("attempt#") for each in writes):
            raise Conflict([0])
        real(writes)

    world.table.write = write  # type: ignore[method-assign]
    world.tick()
    assert [(each.pool, each.count) for each in noted(world)] == [(P5, 3)]


def test_of_two_passes_at_once_one_counts(world: World) -> None:
    wait_for_all(world)
    world.now_s += COUNTED_EACH_S
    real, passes = world.container.idle_time.note, []

    def beside(ledger: Ledger, snapshot: Snapshot, plan: Plan, machine_ms: int) -> None:
        passes.append(snapshot.now_ms)
        if len(passes) == 1:
            world.tick()
        real(ledger, snapshot, plan, machine_ms)

    world.container.idle_time.note = beside  # type: ignore[method-assign]
    world.tick()
    assert len(passes) == 2
    assert sums(world) == {f"{IDLE}{P5}": 3 * COUNTED_EACH_S}


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_tick_without_an_answer_of_the_table_ends_well_and_time_is_counted_once(
    world: World, carried_out: bool
) -> None:
    wait_for_all(world)
    real, failures = world.table.write, iter([RetryLater("no answer")])

    def write(writes: Sequence[Write]) -> None:
        error = next(failures, None)
        if error is None or carried_out:
            real(writes)
        if error is not None:
            raise error

    world.table.write = write  # type: ignore[method-assign]
    later(world, COUNTED_EACH_S)
    later(world, 10)
    later(world, COUNTED_EACH_S)
    assert sums(world) == {f"{IDLE}{P5}": 3 * (2 * COUNTED_EACH_S + 10)}


def test_a_pool_that_is_removed_leaves_nothing_behind(world: World) -> None:
    wait_for_all(world)
    world.commands.stop("wide", ROOT)
    world.commands.stop("low", ROOT)
    world.configuration.write({"pools": {G5: {"size": 1}}})
    for _ in range(5):
        world.pass_time(300)
        later(world, 60)
    found = read_ledger(world.table)
    assert [each.size for each in found.pools if each.pool == P5] in ([], [0])
    assert noted(world) == []


def test_pools_with_sums_of_idle_time_count_as_names(world: World) -> None:
    wait_for_all(world)
    later(world, COUNTED_EACH_S)
    names = [item["names"] for item in world.table.items() if item["sk"] == "names"]  # type: ignore[attr-defined]
    assert names == [1]


def test_a_stale_pass_changes_nothing(world: World) -> None:
    stale = read_ledger(world.table)
    wait_for_all(world)
    record = read_ledger(world.table).idle[0]
    assert stale.idle == ()
    with pytest.raises(Conflict):
        world.table.write([record.put(was=None)])
    with pytest.raises(Conflict):
        world.table.write([record.put(was=record.version + 1)])
    assert IdleRecord.parse(world.table.get(IdleRecord.key(P5)) or {}) == record


def test_a_pass_that_began_before_anything_was_idle_changes_nothing_once_nothing_is_any_more(world: World) -> None:
    world.submit("wide", ResourceConfig=on(4))
    real, passes = world.container.idle_time.note, []

    def beside(ledger: Ledger, snapshot: Snapshot, plan: Plan, machine_ms: int) -> None:
        passes.append(snapshot.now_ms)
        if len(passes) == 1:
            world.tick()
            world.now_s += 20
            world.commands.stop("wide", ROOT)
            world.tick()
        real(ledger, snapshot, plan, machine_ms)

    world.container.idle_time.note = beside  # type: ignore[method-assign]
    world.tick()
    assert len(passes) == 3
    assert noted(world) == []
    later(world, 60)
    assert sums(world) == {f"{IDLE}{P5}": 3 * 20}


def test_the_item_of_a_pool_in_which_nothing_is_idle_any_more_expires_later_than_any_invocation(world: World) -> None:
    wait_for_all(world)
    (open_item,) = read_ledger(world.table).idle
    assert open_item.expires_at is None
    world.commands.stop("wide", ROOT)
    later(world, 20)
    (closed,) = read_ledger(world.table).idle
    assert (closed.count, closed.version) == (0, open_item.version + 1)
    assert closed.expires_at is not None
    assert closed.expires_at - world.machine_clock() // 1000 > 15 * 60
    wait_for_all(world, "again")
    (reopened,) = read_ledger(world.table).idle
    assert (reopened.count, reopened.version, reopened.expires_at) == (3, closed.version + 1, None)
