"""Any number of schedulers may run at once: no promise depends on how many Lambda runs (decision 54)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_sandbox.errors import AwsError
from headway_service.admission.submission import Submission
from headway_service.errors import Conflict
from headway_service.launching.backoff import MAX_BACK_OFF_S
from headway_service.ports.table import Key, Write
from headway_service.store import transitions
from headway_service.store.ledger import read_ledger
from headway_service.store.records.capacity.ledger import ReservationRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job
from headway_service.store.transitions.shared import allocate
from headway_service.testing.memory_table import MemoryTable
from tests.service.world import P5, ROOT, World, on, request

G5 = "ml.g5.xlarge"
LONG = {"SANDBOX_RUN_SECONDS": "90000"}


class InterruptedTable(MemoryTable):
    """A table whose calls let others run first."""

    def __init__(self) -> None:
        super().__init__()
        self.before_call: Callable[[], None] = lambda: None

    def get(self, key: Key) -> Any:
        self.before_call()
        return super().get(key)

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Any, ...]:
        self.before_call()
        return super().query(pk, prefix=prefix, after=after, limit=limit)

    def write(self, writes: Sequence[Write]) -> None:
        self.before_call()
        super().write(writes)


def tick_with_others(world: World, table: InterruptedTable, at_calls: Collection[int]) -> int:
    """Run a tick in which a whole other tick runs before some of the calls, counted over all of them.

    Returns:
        The largest number of ticks that were under way at once.
    """
    calls = running = most = 0

    def tick() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        world.tick()
        running -= 1

    def interrupt() -> None:
        nonlocal calls
        calls += 1
        if calls in at_calls:
            tick()

    table.before_call = interrupt
    try:
        tick()
    finally:
        table.before_call = lambda: None
    return most


def stored(world: World, name: str) -> JobRecord:
    job = find_job(world.table, name)
    assert job is not None
    return job


def test_more_than_two_schedulers_run_at_once_here() -> None:
    table = InterruptedTable()
    world = World(table=table)
    world.submit("a", Environment=LONG)
    assert tick_with_others(world, table, {2, 4, 6}) == 4


@settings(max_examples=40)
@given(at_calls=st.sets(st.integers(1, 120), max_size=8))
def test_schedulers_that_interrupt_each_other_start_and_preempt_each_job_once(at_calls: set[int]) -> None:
    table = InterruptedTable()
    world = World(pools={P5: 3}, table=table)
    for number in range(2):
        world.submit(f"low-{number}", 1, Environment=LONG)
    tick_with_others(world, table, at_calls)
    world.check()
    world.pass_time(300)
    world.submit("urgent", 9, ResourceConfig=on(2), Environment=LONG)
    tick_with_others(world, table, at_calls)
    world.check()
    world.pass_time(180)
    tick_with_others(world, table, at_calls)
    world.check()
    assert sorted(world.called("CreateTrainingJob")) == ["low-0", "low-1", "urgent"]
    # StopTrainingJob may be repeated: a scheduler that finds the intent cannot know that another one just calls it.
    assert set(world.called("StopTrainingJob")) == {"low-0"}
    assert [stored(world, name).preemption_count for name in ("low-0", "low-1")] == [1, 0]
    assert world.states("urgent", "low-0") == {"urgent": "running", "low-0": "preempted"}


def test_a_late_write_to_a_launch_that_was_refused_does_not_meet_the_next_one_of_its_name() -> None:
    world = World(pools={P5: 1, G5: 3})
    world.fleet.faults = world.fleet.faults.with_changes({"quotas": {P5: 0}})
    alternative = {"ResourceConfig": on(2, G5)}
    submission = Submission(request=request("a", Environment=LONG), alternatives=[alternative])
    launches = iter((AwsError("ThrottlingException", ""), None, AwsError("ThrottlingException", "")))
    real: Callable[..., Any] = world.fleet.call

    def call(operation: str, asked: Mapping[str, Any], *, now: float) -> Any:
        error = next(launches, None) if operation == "CreateTrainingJob" else None
        if error is not None:
            raise error
        return real(operation, asked, now=now)

    world.fleet.call = call  # type: ignore[method-assign,assignment]
    world.submitter.submit(submission, ROOT)
    world.tick()
    (throttled,) = read_ledger(world.table).attempts
    assert throttled.demand == {P5: 1}
    late = world.invocation()
    _, writes = transitions.take_lease(throttled, late.holder, late.lease_until_ms)
    world.now_s += MAX_BACK_OFF_S
    world.tick()
    (second,) = read_ledger(world.table).attempts
    assert (second.attempt_name, second.demand) == (throttled.attempt_name, {G5: 2}), "it was refused on the first"
    with pytest.raises(Conflict):
        world.table.write(writes)
    world.check()


def test_a_late_write_to_a_reservation_does_not_meet_a_later_one_of_the_same_job() -> None:
    world = World(pools={P5: 3, G5: 3})
    world.submit("a", ResourceConfig=on(3), Environment=LONG)
    first = ReservationRecord(job_name="a", demand={P5: 1})
    world.table.write([first.put(was=None), *allocate(first.demand)])
    late = transitions.free(first)
    world.table.write(late)
    second = ReservationRecord(job_name="a", demand={P5: 2})
    world.table.write([second.put(was=None), *allocate(second.demand)])
    with pytest.raises(Conflict):
        world.table.write(late)
    world.check()
    world.table.write(transitions.free(second))
    world.check()
