"""A decision reads behind the first jobs only where they may be overtaken, and is the same as with all jobs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.plan import Plan, Start
from headway.policy import Policy, Team
from headway.scheduling.scheduler import schedule
from headway_service.scheduling.decide import decide
from headway_service.store.ledger import read_ledger
from headway_service.store.snapshot import read_snapshot
from tests.service.store.queues import G5, table_of, waits
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


@settings(max_examples=80)
@given(jobs, teams, st.integers(0, 4))
def test_the_same_jobs_start_as_when_the_whole_window_is_read(
    line: list[tuple[str, int, dict[str, int]]], rules: dict[str, Team], room: int
) -> None:
    table = table_of("red", "blue", sizes=SIZES)
    for number, (team, priority, demand) in enumerate(line):
        waits(table, f"j{number:02d}", priority, team=team, entered=number, **demand)
    policy = replace(DEEP, teams=rules)
    ledger = read_ledger(table)
    _snapshot, plan, _ = decide(table, ledger, 0, policy=policy)
    assert starts(plan) == starts(schedule(read_snapshot(table, ledger, 0, policy=policy)))


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
    read: list[frozenset[str] | None] = []

    def decision(*args: Any) -> Any:
        read.append(args[-1])
        return SimpleNamespace(snapshot=None, plan=None)

    monkeypatch.setattr("headway_service.scheduling.decide._decision", decision)
    monkeypatch.setattr(
        "headway_service.scheduling.decide.passable_pools",
        lambda *_: frozenset(f"pool{number}" for number in range(len(read))),
    )
    nothing: Any = None
    decide(nothing, nothing, 0, policy=Policy())
    assert read == [frozenset(), {"pool0"}, None]
