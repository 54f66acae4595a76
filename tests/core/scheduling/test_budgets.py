"""A job of a budget of which nothing is left does not start, and nobody waits for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from random import Random
from typing import Any

import pytest

from headway.budgets.budget import Budget, BudgetUse, WhenSpent, spent
from headway.budgets.periods import Every
from headway.forecasting.simulation import EventKind, Simulation
from headway.model import Alternative, Snapshot
from headway.plan import Start
from headway.policy import Policy, Team
from headway.scheduling.limits import Limits
from headway.scheduling.reach.bounds import QueueBounds
from headway.scheduling.scheduler import schedule
from tests.core.builders import G5, NOW_MS, P5, code_of, held, job, preemptions, reason_of, reserved, snapshot, starts
from tests.core.random_snapshots import random_snapshot

FIRST = date(1970, 1, 1)
FEBRUARY_MS = 31 * 86_400_000


def of_a(amount: float = 8, **more: Any) -> Budget:
    return Budget(name="a-month", amount=amount, period=Every.MONTH, charges={P5: 1.0}, team="a", **more)


def with_budget(snap: Snapshot, used: float, budget: Budget | None = None) -> Snapshot:
    budget = budget or of_a()
    policy = replace(snap.policy, budgets=(budget,), teams={**snap.policy.teams, "a": Team(), "b": Team()})
    return replace(snap, policy=policy, budget_use={budget.name: BudgetUse(by_day={FIRST: used})})


def test_it_says_so_and_until_when_while_others_start() -> None:
    snap = with_budget(snapshot(job("w", 9, team="a"), job("v", team="b"), size=1), used=8)
    plan = schedule(snap)
    assert starts(plan) == ["v"]
    assert code_of(plan, "w") == "BudgetSpent"
    assert reason_of(plan, "w").startswith(
        "the budget `a-month` is spent: 8.0 of 8.0; starts from 1970-02-01 00:00 UTC on"
    )


def test_it_starts_while_something_is_left() -> None:
    assert starts(schedule(with_budget(snapshot(job("w", team="a"), size=1), used=7.9))) == ["w"]


def test_no_start_is_reserved_for_it_and_nothing_is_stopped() -> None:
    parts = (held("x", 0, team="b"), held("y", 0, team="b"), job("w", 9, team="a", count=3), job("v", 1, team="b"))
    plan = schedule(with_budget(snapshot(*parts, size=3), used=8))
    assert (starts(plan), preemptions(plan)) == (["v"], [])


def test_what_was_freed_or_is_reserved_for_it_it_gets() -> None:
    snap = with_budget(snapshot(job("w", team="a"), reserved("w"), size=1), used=8)
    assert starts(schedule(snap)) == ["w"]


def test_pools_that_take_nothing_from_it_are_free() -> None:
    waits = replace(job("w", team="a"), alternatives=(Alternative(demand={G5: 1}),))
    snap = with_budget(replace(snapshot(waits), pools={P5: 1, G5: 1}), used=8)
    (start,) = schedule(snap).actions
    assert isinstance(start, Start)
    assert start.demand == {G5: 1}


def test_what_runs_goes_on() -> None:
    assert schedule(with_budget(snapshot(held("x", team="a"), size=1), used=99)).actions == ()


@pytest.mark.parametrize(("used", "fits"), [(7.0, True), (8.0, False)])
def test_such_jobs_hide_no_others_behind_the_first_ones_of_a_queue(used: float, fits: bool) -> None:
    budget = of_a(when_spent=WhenSpent.REFUSE)
    gone = spent([budget], {budget.name: BudgetUse(by_day={FIRST: used})}, NOW_MS)
    bounds = QueueBounds(
        pool=P5, team="a", now_ms=NOW_MS, most={P5: 1}, unused={}, spent=gone, limits=Limits(snapshot())
    )
    assert bounds.fits(job("w", team="a")) is fits


def test_a_forecast_has_it_start_in_the_next_period_and_takes_what_runs_from_it() -> None:
    began: dict[str, int] = {}
    snap = with_budget(
        snapshot(job("w", 1, team="a", count=2), job("v", team="a", count=2), size=2), used=0, budget=of_a(6)
    )
    course = Simulation(
        snap,
        schedule,
        lambda _: 4 * 3_600_000,
        record=lambda event: began.update({event.job: course.now_ms}) if event.kind is EventKind.STARTED else None,
    )
    course.run()
    # The first one takes 8 hours of 6, so that the second one starts in the next month.
    assert began == {"w": NOW_MS, "v": FEBRUARY_MS}


@pytest.mark.parametrize("seed", range(60))
def test_no_decision_starts_or_stops_for_a_job_of_a_spent_budget(seed: int) -> None:
    snap = random_snapshot(Random(f"budgets/{seed}"))
    team = next(iter(snap.policy.teams), "")
    budget = Budget(name="all", amount=1, period=Every.MONTH, charges=dict.fromkeys(snap.pools, 1.0), team=team)
    policy: Policy = replace(snap.policy, budgets=(budget,))
    snap = replace(snap, policy=policy, budget_use={"all": BudgetUse(by_day={FIRST: 1.0})})
    owed = {each.job for each in snap.reservations} | {each.freed_for for each in snap.allocations if each.freed_for}
    barred = {each.name for each in snap.waiting if each.terms.team == team} - owed
    plan = schedule(snap)
    assert barred.isdisjoint(starts(plan))
    assert barred.isdisjoint(name for _, name in preemptions(plan))
