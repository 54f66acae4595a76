"""The snapshot of a decision: the first jobs of each team's queue, however long the other queues are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.lifecycle import JobState
from headway.policy import Order, Policy, Team
from headway.reasons import ReasonCode
from headway_service.ports.table import Put
from headway_service.store.ledger import read_ledger
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PauseRecord, ReservationRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.queue_entry import QueueEntry
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable
from tests.service.store.builders import NOTED_FAILED
from tests.service.store.queues import AGEING, G5, NO_WINDOW, enqueue, heads, runs, table_of, waiting_job, waits
from tests.service.world import P5


def test_a_teams_backlog_of_5000_jobs_hides_no_other_team() -> None:
    table = table_of("greedy", "modest")
    for i in range(5000):
        waits(table, f"g{i:04d}", 9, team="greedy", entered=i)
    waits(table, "m", 0, team="modest", entered=9999)
    waits(table, "nobody", 0, entered=9999)
    assert heads(table) == ["g0000", "g0001", "g0002", "m", "nobody"]
    assert table.entries == 5


@pytest.mark.parametrize("backlog", [10, 3000])
def test_the_reads_depend_on_pools_teams_and_the_window_but_not_on_the_backlog(backlog: int) -> None:
    table = table_of("a", "b", sizes={P5: 2, G5: 4})
    for i in range(backlog):
        waits(table, f"a{i:04d}", team="a", entered=i)
    found = heads(table, policy=Policy(backfill_window=60))
    # The pool's two instances, one more, and a sixth of the window.
    assert len(found) == min(backlog, 2 + 1 + 10)
    assert table.queries <= 2 * 6, "at most two for each line"


def test_jobs_beyond_a_teams_limit_do_not_hide_jobs_behind_them() -> None:
    table = table_of("a", sizes={P5: 4})
    for i in range(50):
        waits(table, f"big{i:02d}", 9, team="a", entered=i, p5=3)
    waits(table, "small", 0, team="a", entered=99)
    assert "small" in heads(table, policy=Policy(backfill_window=0, teams={"a": Team(limit={P5: 2})}))


def test_unlaunchable_jobs_do_not_hide_those_behind_them_that_may_preempt() -> None:
    table = table_of()
    for i in range(2):
        table.write([runs(f"r{i}", 0, p5=1).put()])
    for i in range(50):
        enqueue(table, waiting_job(f"lacked{i:02d}", 9, {P5: 1}).model_copy(update={"failed": NOTED_FAILED}))
    waits(table, "preempts", 9, entered=99)
    assert "preempts" in heads(table)


def test_the_caller_sets_the_number_of_jobs_read_from_a_paused_pools_queue() -> None:
    table = table_of()
    for name in ("a", "b", "c"):
        waits(table, name)
    pause = PauseRecord.model_validate({"pool": P5, "by": "arn:ada", "sinceMs": 0, "reason": "repair"})
    ledger = replace(read_ledger(table), pauses=(pause,))
    for asked, found in ((0, 0), (2, 2)):
        assert len(read_snapshot(table, ledger, 0, policy=NO_WINDOW, heads=asked).waiting) == found
    assert read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting == ()


def test_without_backfill_the_window_is_not_read() -> None:
    table = table_of()
    for i in range(20):
        waits(table, f"j{i:02d}", entered=i)
    assert heads(table, policy=Policy(backfill=False, backfill_window=10)) == ["j00", "j01", "j02"]


def test_a_queue_without_pools_has_an_empty_snapshot() -> None:
    assert heads(MemoryTable(), policy=Policy()) == []


def test_jobs_that_also_demand_a_paused_pool_do_not_hide_jobs_behind_them() -> None:
    table = table_of(sizes={P5: 2, G5: 2})
    for i in range(20):
        waits(table, f"both{i:02d}", 9, entered=i, p5=1, g5=1)
    waits(table, "small", g5=1)
    pause = PauseRecord.model_validate({"pool": P5, "by": "arn:ada", "sinceMs": 0, "reason": "repair"})
    ledger = replace(read_ledger(table), pauses=(pause,))
    assert "small" in [each.name for each in read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting]


def test_a_job_on_several_pools_is_queued_in_each_and_read_once() -> None:
    table = table_of("a", sizes={P5: 2, G5: 2})
    waits(table, "both", team="a", p5=1, g5=2)
    assert heads(table) == ["both"]
    for pool in (P5, G5):
        assert len(table.query(QueueEntry.partition(pool, "a"), limit=9)) == 1


def number_read(
    *running: AttemptRecord, policy: Policy = NO_WINDOW, heads: int = 0, demands: int = 1, team: str = ""
) -> int:
    """How many of the jobs of priority 5 that wait in a line of a pool of 4 are read."""
    table = table_of(*filter(None, [team]), sizes={P5: 4, G5: 4})
    left_ms = 1 if policy.order is Order.SHORTEST_REMAINING else None
    attained_ms = 0 if policy.order is Order.SHARED else None
    for number in range(20):
        job = waiting_job(f"j{number:02d}", 5, {P5: demands})
        enqueue(
            table,
            job.model_copy(update={"entry_time": number, "team": team, "left_ms": left_ms, "attained_ms": attained_ms}),
        )
    ledger = replace(read_ledger(table), attempts=running)
    return len(read_snapshot(table, ledger, 0, policy=policy, heads=heads).waiting)


@pytest.mark.parametrize(
    ("running", "policy", "number"),
    [
        ((), NO_WINDOW, 5),
        ((runs("x", p5=1), runs("y", p5=2)), NO_WINDOW, 2),
        ((runs("x", 5, p5=3),), NO_WINDOW, 2),
        ((runs("x", 4, p5=3),), NO_WINDOW, 5),
        ((runs("x", p5=3, stopping=True),), NO_WINDOW, 5),
        ((runs("x", g5=3),), NO_WINDOW, 5),
        ((runs("x", 0, p5=3),), replace(NO_WINDOW, preemption=False), 2),
    ],
    ids=[
        "an empty pool",
        "attempts of higher priority",
        "one of equal priority",
        "one that gives way",
        "one that stops",
        "one in another pool",
        "one that gives way to nobody",
    ],
)
def test_a_queue_is_read_up_to_one_job_beyond_those_that_could_start(
    running: tuple[AttemptRecord, ...], policy: Policy, number: int
) -> None:
    assert number_read(*running, policy=policy) == number


BY_REMAINING = replace(NO_WINDOW, order=Order.SHORTEST_REMAINING)


def equal(turn_ms: int = 1000, **changes: Any) -> AttemptRecord:
    """An attempt on a whole pool that gives way to equals whose turn comes before this."""
    terms = {"left_ms": 1000, "handicap_ms": turn_ms, "entry_time": 0, "checkpoints": True}
    return runs("x", 5, p5=4).model_copy(update={**terms, **changes})


@pytest.mark.parametrize(
    ("running", "policy", "number"),
    [
        (equal(), BY_REMAINING, 5),
        (equal(), NO_WINDOW, 1),
        (equal(), replace(BY_REMAINING, preemption=False), 1),
        (equal(checkpoints=False), BY_REMAINING, 1),
        (equal(left_ms=None), BY_REMAINING, 1),
        (equal(preemption_count=10), BY_REMAINING, 1),
        (equal(priority=6), BY_REMAINING, 1),
        # The turns of the waiting jobs are 0, 1, 2 and so on.
        (equal(2), BY_REMAINING, 3),
        (equal(3), BY_REMAINING, 4),
    ],
)
def test_a_queue_is_read_as_far_as_equals_may_give_way_to_its_jobs(
    running: AttemptRecord, policy: Policy, number: int
) -> None:
    assert number_read(running, policy=policy) == number


SHARED = replace(NO_WINDOW, order=Order.SHARED)
HOUR = 3_600_000


def served(turn_ms: int = 1000, **changes: Any) -> AttemptRecord:
    """The same in the order `shared`."""
    terms = {"attained_ms": HOUR, "max_handicap_ms": turn_ms, "entry_time": 0, "checkpoints": True}
    return runs("x", 5, p5=4).model_copy(update={**terms, **changes})


@pytest.mark.parametrize(
    ("running", "policy", "number"),
    [
        (served(), SHARED, 5),
        (served(), NO_WINDOW, 1),
        (served(checkpoints=False), SHARED, 1),
        (served(attained_ms=None), SHARED, 1),
        # Of the lowest level.
        (served(attained_ms=HOUR // 4), SHARED, 1),
        (served(2), SHARED, 3),
    ],
)
def test_a_queue_is_read_as_far_as_equals_of_higher_levels_may_give_way_to_its_jobs(
    running: AttemptRecord, policy: Policy, number: int
) -> None:
    assert number_read(running, policy=policy) == number


@pytest.mark.parametrize(("attained_ms", "found"), [(HOUR // 2, True), (HOUR // 4, False), (None, True)])
def test_jobs_whose_levels_are_too_high_do_not_hide_those_behind_them(attained_ms: int | None, *, found: bool) -> None:
    table = table_of(sizes={P5: 4})
    for number in range(20):
        terms = {"attained_ms": attained_ms, "entry_time": number}
        enqueue(table, waiting_job(f"j{number:02d}", 5, {P5: 1}).model_copy(update=terms))
    new = {"attained_ms": 0, "entry_time": 900}
    enqueue(table, waiting_job("new", 5, {P5: 1}).model_copy(update=new))
    ledger = replace(read_ledger(table), attempts=(served(),))
    assert ("new" in [job.name for job in read_snapshot(table, ledger, 0, policy=SHARED).waiting]) is found


@pytest.mark.parametrize(("of", "number"), [("red", 5), ("", 1)])
def test_where_there_are_teams_equals_give_way_within_their_team(of: str, number: int) -> None:
    policy = replace(BY_REMAINING, teams={"red": Team()})
    assert number_read(equal(team=of), policy=policy, team="red") == number


def test_without_teams_in_the_policy_the_names_of_teams_have_no_effect_among_equals() -> None:
    assert number_read(equal(team="gone"), policy=BY_REMAINING) == 5


@pytest.mark.parametrize(
    ("handicap_ms", "left_ms", "lower", "found"),
    [(501, 1, 0, True), (500, 1, 0, False), (501, 1, 1, False), (0, None, 0, True)],
)
def test_jobs_of_which_too_much_is_left_do_not_hide_those_behind_them(
    handicap_ms: int, left_ms: int | None, lower: int, *, found: bool
) -> None:
    table = table_of(sizes={P5: 4 + lower})
    for number in range(20):
        terms = {"left_ms": left_ms, "handicap_ms": handicap_ms, "entry_time": number}
        enqueue(table, waiting_job(f"j{number:02d}", 5, {P5: 1}).model_copy(update=terms))
    small = {"left_ms": 1, "handicap_ms": 1, "entry_time": 900}
    enqueue(table, waiting_job("small", 5, {P5: 1}).model_copy(update=small))
    running = (equal(), *([runs("lower", 4, p5=1)] if lower else []))
    ledger = replace(read_ledger(table), attempts=running)
    read = [job.name for job in read_snapshot(table, ledger, 0, policy=BY_REMAINING).waiting]
    assert ("small" in read) is found


@pytest.mark.parametrize(("guaranteed", "number"), [({}, 1), ({P5: 1}, 2), ({P5: 2}, 3)])
def test_a_teams_guarantee_is_within_its_limit(guaranteed: dict[str, int], number: int) -> None:
    policy = replace(NO_WINDOW, teams={"red": Team(guaranteed=guaranteed)})
    assert number_read(runs("x", p5=4), policy=policy, team="red") == number


WINDOW = Policy(backfill_window=6, reserved_heads=3)
"""Three jobs for each of the two lines of each pool."""


@pytest.mark.parametrize(
    ("running", "number"),
    [
        ((runs("x", p5=3),), 5),
        ((runs("x", p5=4),), 3),
        ((runs("x", p5=3), runs("y", g5=1), runs("z", g5=1)), 5),
    ],
    ids=["a pool that is not full", "a full pool", "attempts of another pool do not fill it"],
)
def test_the_window_or_in_a_full_pool_the_jobs_with_a_reserved_start_are_read_behind_the_heads(
    running: tuple[AttemptRecord, ...], number: int
) -> None:
    assert number_read(*running, policy=WINDOW) == number


def test_the_caller_sets_the_number_of_heads_to_read() -> None:
    assert [number_read(runs("x", p5=4), heads=asked) for asked in (0, 1, 2, 7)] == [1, 1, 2, 7]


def test_jobs_that_demand_a_whole_pool_count_as_fitting() -> None:
    assert number_read(demands=4) == 2


def test_jobs_that_demand_a_removed_pool_do_not_hide_jobs_behind_them() -> None:
    table = table_of(sizes={P5: 2})
    for number in range(20):
        waits(table, f"gone{number:02d}", 9, entered=number, p5=1, g5=1)
    waits(table, "small")
    assert "small" in heads(table)


@pytest.mark.parametrize(
    ("running", "window", "asked", "ageing", "page"),
    [
        ((), 0, 0, False, 25),
        ((runs("x", p5=80),), 0, 0, False, 8),
        ((runs("x", 0, p5=60),), 0, 0, False, 10),
        ((), 4, 0, False, 26),
        ((), 12, 0, False, 28),
        ((), 0, 50, False, 50),
        ((), 0, 50, True, 10),
        ((), 0, 0, True, 10),
    ],
)
def test_usually_one_query_per_queue_is_enough(
    running: tuple[AttemptRecord, ...], window: int, asked: int, ageing: bool, page: int
) -> None:
    table = table_of(sizes={P5: 102})
    for number in range(120):
        waits(table, f"j{number:03d}", 5, entered=number, p5=102)
    policy = replace(AGEING if ageing else NO_WINDOW, backfill_window=window)
    ledger = replace(read_ledger(table), attempts=running)
    read_snapshot(table, ledger, 0, policy=policy, heads=asked)
    assert table.limits[0] == page


@pytest.mark.parametrize(
    ("job_until_ms", "pool_until_ms", "until_ms", "cause"),
    [(0, 6, 6, "pool"), (6, 6, 6, "job"), (7, 6, 7, "job"), (0, 5, 0, "job")],
    ids=["the pool for longer", "both as long", "the job for longer", "the pool no more"],
)
def test_a_pools_back_off_delays_a_job_only_beyond_its_own(
    job_until_ms: int, pool_until_ms: int, until_ms: int, cause: str
) -> None:
    table = table_of()
    waits(table, "a")
    (known,) = table.query(QueueEntry.partition(P5, ""), limit=1)
    table.write([Put(item={**known, "notBeforeMs": job_until_ms, "heldBy": "job"})])
    ledger = read_ledger(table)
    pool = ledger.pools[0].model_copy(update={"backoff_until_ms": pool_until_ms, "backoff_cause": "pool"})
    (waiting,) = read_snapshot(table, replace(ledger, pools=(pool,)), 5).waiting
    assert (waiting.not_before_ms, waiting.held_by) == (until_ms, cause)


def test_jobs_that_are_owed_instances_are_read_at_any_place() -> None:
    table = table_of()
    for number in range(20):
        waits(table, f"j{number:02d}", 9, entered=number)
    for name in ("reserved", "freed", "ended"):
        state = JobState.COMPLETED if name == "ended" else JobState.PENDING
        reason = ReasonRecord(code=ReasonCode.ENTERED, message="entered")
        known = JobRecord(
            job_name=name,
            job_state=state,
            priority=0,
            entry_time=0,
            ended_ms=0,
            demand={P5: 1},
            request_digest="",
            reason=reason,
        )
        table.write([known.put()])
    freed = runs("x", p5=1, stopping=True).model_copy(update={"freed_for": "freed", "freed": {P5: 1}})
    reservations = tuple(ReservationRecord(job_name=name, demand={P5: 1}) for name in ("reserved", "ended", "unknown"))
    ledger = replace(read_ledger(table), attempts=(freed,), reservations=reservations)
    found = {each.name for each in read_snapshot(table, ledger, 0, policy=NO_WINDOW).waiting}
    assert {name for name in found if not name.startswith("j")} == {"reserved", "freed"}
