"""A decision reads behind the first jobs only where they may be overtaken, and is the same as with all jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.model import Snapshot
from headway.plan import Plan, Preempt, Start
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from headway_service.scheduling.decide import Decided, decide
from headway_service.store.ledger import read_ledger
from headway_service.store.snapshot import read_snapshot
from headway_service.testing.memory_table import MemoryTable
from tests.service.store.queues import G5, enqueue, runs, table_of, waiting_job, waits
from tests.service.world import P5

SIZES = {P5: 4, G5: 3}
DEEP = Policy(backfill_window=200)

jobs = st.lists(
    st.tuples(
        st.sampled_from(["", "red", "blue"]),
        st.integers(0, 2),
        st.sampled_from([{"p5": 1}, {"p5": 1}, {"p5": 2}, {"p5": 4}, {"g5": 1}, {"g5": 3}, {"p5": 2, "g5": 2}]),
    ),
    max_size=60,
)
teams = st.sampled_from([{}, {"red": Team(guaranteed={P5: 2})}, {"blue": Team(limit={P5: 2, G5: 1})}])


def starts(plan: Plan) -> list[str]:
    return [action.job for action in plan.actions if isinstance(action, Start)]


running = st.lists(
    st.tuples(st.sampled_from(["", "red", "blue"]), st.integers(0, 3), st.sampled_from([P5, G5]), st.integers(1, 3)),
    max_size=5,
)


def acts(plan: Plan) -> list[tuple[str, str]]:
    """What a plan starts, and what it stops for which job."""
    return [
        (action.job, action.for_job if isinstance(action, Preempt) else "")
        for action in plan.actions
        if isinstance(action, Start | Preempt)
    ]


@settings(max_examples=150)
@given(jobs, running, teams, st.sampled_from([1, 3]))
def test_the_same_jobs_get_instances_as_when_all_jobs_are_read(
    line: list[tuple[str, int, dict[str, int]]],
    attempts: list[tuple[str, int, str, int]],
    rules: dict[str, Team],
    reserved_heads: int,
) -> None:
    table, left = table_of("red", "blue", sizes=SIZES), dict(SIZES)
    for number, (team, priority, pool, count) in enumerate(attempts):
        if count <= left[pool]:
            left[pool] -= count
            attempt = runs(f"r{number}", priority, team=team).model_copy(update={"demand": {pool: count}})
            table.write([attempt.put()])
    for number, (team, priority, demand) in enumerate(line):
        waits(table, f"j{number:02d}", priority, team=team, entered=number, **demand)
    policy = replace(DEEP, teams=rules, reserved_heads=reserved_heads)
    ledger = read_ledger(table)
    _snapshot, plan, _ = decide(table, ledger, 0, policy=policy)
    assert acts(plan) == acts(schedule(read_snapshot(table, ledger, 0, policy=policy, heads=len(line))))


def waits_for_hours(table: MemoryTable, name: str, priority: int, hours: int, *, team: str = "", **demand: int) -> None:
    """A job waits that runs for so many hours at most."""
    pools = {{"p5": P5, "g5": G5}[pool]: count for pool, count in demand.items()}
    limited = {"team": team, "limit_ms": hours * 3_600_000}
    enqueue(table, waiting_job(name, priority, pools).model_copy(update=limited))


def test_no_job_starts_ahead_of_one_of_higher_rank_in_the_queue_of_another_team() -> None:
    table = table_of("red", sizes=SIZES)
    waits_for_hours(table, "first", 9, 2, p5=2, g5=2)
    waits_for_hours(table, "second", 8, 2, p5=1)
    for number in range(20):
        waits(table, f"wide{number:02d}", 5, team="red", entered=number, p5=2, g5=2)
    waits_for_hours(table, "ahead", 3, 1, team="red", p5=1)
    waits_for_hours(table, "behind", 2, 1, p5=1)
    _snapshot, plan, _ = decide(table, read_ledger(table), 0, policy=DEEP)
    assert starts(plan) == ["first", "second", "ahead"]


def test_a_job_behind_those_that_wait_for_another_pool_stops_attempts_of_lower_rank() -> None:
    table = table_of(sizes=SIZES)
    urgent = runs("urgent", 9, p5=4).model_copy(update={"limit_ms": 2 * 3_600_000})
    table.write([each.put() for each in (urgent, runs("low", 0, g5=3))])
    for number in range(20):
        waits(table, f"wide{number:02d}", 5, entered=number, p5=2, g5=2)
    waits_for_hours(table, "narrow", 1, 1, g5=1)
    ledger = read_ledger(table)
    _snapshot, plan, _ = decide(table, ledger, 0, policy=DEEP)
    assert acts(plan) == [("low", "narrow")]
    _snapshot, plan, _ = decide(table, ledger, 0, policy=replace(DEEP, preemption=False))
    assert acts(plan) == []


def test_no_job_is_read_behind_heads_that_take_all_free_instances() -> None:
    short, long = table_of(sizes=SIZES), table_of(sizes=SIZES)
    for table, backlog in ((short, 10), (long, 300)):
        for number in range(backlog):
            waits(table, f"j{number:03d}", entered=number)
        _snapshot, plan, _ = decide(table, read_ledger(table), 0, policy=DEEP)
        assert starts(plan) == [f"j{number:03d}" for number in range(SIZES[P5])]
    assert long.entries == short.entries


def test_a_job_that_fits_far_behind_a_blocked_head_starts() -> None:
    table = table_of(sizes=SIZES)
    waits(table, "takes-all-g5", 9, g5=3)
    for number in range(40):
        waits(table, f"both{number:02d}", entered=number, p5=2, g5=2)
    waits(table, "narrow", entered=100, p5=1)
    _snapshot, plan, _ = decide(table, read_ledger(table), 0, policy=DEEP)
    assert starts(plan) == ["takes-all-g5", "narrow"]


def test_three_decisions_suffice_for_any_number_of_pools_that_let_jobs_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[frozenset[str]] = []
    sizes = {f"pool{number}": 1 for number in range(9)}

    def decision(_: Any, passing: frozenset[str]) -> Decided:
        read.append(passing)
        return Decided(snapshot=Snapshot(now_ms=0, pools=sizes), plan=Plan(actions=(), waits=()), cut=())

    monkeypatch.setattr("headway_service.scheduling.decide._decision", decision)
    monkeypatch.setattr(
        "headway_service.scheduling.decide.passable_pools",
        lambda *_: frozenset(f"pool{number}" for number in range(len(read))),
    )
    nothing: Any = None
    decide(nothing, nothing, 0, policy=Policy())
    assert read == [frozenset(), {"pool0"}, sizes.keys()]
