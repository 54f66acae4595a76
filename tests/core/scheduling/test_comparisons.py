"""The work of a decision has a bound, whatever the policy allows; it is counted and not timed."""

from __future__ import annotations

from random import Random

import pytest

from headway.model import Snapshot
from headway.plan import Release, Start
from headway.policy import Ageing, Policy, Team
from headway.scheduling import comparisons, scheduler
from headway.scheduling.comparisons import MAX_COMPARISONS
from headway.scheduling.placement.pass_state import PassState
from tests.core.builders import NOW_MS, allocation, held, job, reserved, snapshot, starts, waiting_job

HOUR_MS = 3_600_000
POOLS = [f"pool{number:02}" for number in range(50)]


def large(waiting: int, teams: int) -> Snapshot:
    """50 full pools with a line of jobs that demand up to three of them, under the widest policy that is allowed."""
    rng = Random(1)
    names = [f"team{number}" for number in range(teams)] or [""]
    running = tuple(
        allocation(
            job=f"r{number}",
            attempt=f"r{number}",
            demand={POOLS[number % 50]: 2},
            priority=rng.randint(0, 9),
            since_ms=NOW_MS,
            team=rng.choice(names),
            limit_ms=rng.randint(1, 24) * HOUR_MS,
        )
        for number in range(200)
    )
    line = tuple(
        waiting_job(
            name=f"w{number}",
            demand={pool: rng.randint(1, 8) for pool in rng.sample(POOLS, rng.randint(1, 3))},
            priority=rng.randint(0, 9),
            entry_time_ms=NOW_MS - rng.randrange(24 * HOUR_MS),
            team=rng.choice(names),
            limit_ms=rng.randint(1, 24) * HOUR_MS,
        )
        for number in range(waiting)
    )
    policy = Policy(
        reserved_heads=100,
        backfill_window=10_000,
        ageing=Ageing(interval_ms=HOUR_MS, cap=5),
        teams={f"team{number}": Team(guaranteed=dict.fromkeys(POOLS, 1)) for number in range(teams)},
    )
    return Snapshot(now_ms=NOW_MS, pools=dict.fromkeys(POOLS, 9), allocations=running, waiting=line, policy=policy)


@pytest.mark.parametrize("teams", [0, 8])
def test_a_decision_exceeds_its_evaluation_budget_by_at_most_one_job(
    teams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MAX_COMPARISONS", 50_000)
    state = PassState(large(1000, teams), explain=False)
    plan = scheduler.decide(state)
    assert plan.unseen > 0
    # The job that was looked at last may use more than was left, but not as much again.
    assert 50_000 <= state.ground.comparisons.made < 100_000


def test_an_ordinary_decision_uses_a_small_part_of_its_evaluation_budget() -> None:
    state = PassState(large(100, 8), explain=False)
    assert scheduler.decide(state).unseen == 0
    assert state.ground.comparisons.made < MAX_COMPARISONS // 20


def test_jobs_with_a_reservation_are_evaluated_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "MAX_COMPARISONS", 1)
    wide = [job(f"w{i}", 5, count=2) for i in range(5)]
    plan = scheduler.schedule(snapshot(held("x", 9), *wide, job("last", 0), reserved("last"), size=2))
    assert starts(plan) == ["last"]
    assert plan.unseen > 0


def test_a_job_that_is_not_evaluated_passes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (held("x", 9, ends_in_s=600), job("wide", 5, count=2), job("short", 0, limit_s=60))
    assert starts(scheduler.schedule(snapshot(*parts, size=2))) == ["short"]
    monkeypatch.setattr(comparisons, "MAX_COMPARISONS", 1)
    plan = scheduler.schedule(snapshot(*parts, size=2))
    assert not [action for action in plan.actions if isinstance(action, Start | Release)]
    assert plan.unseen == 1
