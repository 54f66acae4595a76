"""Jobs of budgets that are spent, on what no other job can use: each gives way to every job within budgets."""

from __future__ import annotations

from dataclasses import replace

from headway.budgets.budget import WhenSpent
from headway.model import Allocation, WaitingJob
from headway.scheduling.alternatives import choices
from headway.scheduling.placement import commit, eligibility
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import Obstacle, OverBudget
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import StartNow
from headway.scheduling.placement.trying import start_now, want_of
from headway.scheduling.victims.protection import protected_until_ms


def may_start_beyond(obstacle: Obstacle) -> bool:
    """Whether only budgets keep a job back whose jobs run on what is left by others then."""
    return isinstance(obstacle, OverBudget) and obstacle.spent.budget.when_spent is WhenSpent.AFTER


def try_beyond(state: PassState) -> None:
    """Try these jobs in the order of their ranks, after all others."""
    for job, obstacle, ahead in state.beyond:
        placement = _placement(job, state)
        if placement is None:
            state.explainer.explain(obstacle, ahead=ahead)
        else:
            commit.grant(placement, state)


def _placement(job: WaitingJob, state: PassState) -> StartNow | None:
    """The first alternative on which a job starts on what is free, and can be stopped for others."""
    for each in choices(job):
        found = _on(each, state.ground) if not state.probes.is_barred(each) else None
        if found is not None:
            return found
    return None


def _on(job: WaitingJob, ground: Ground) -> StartNow | None:
    obstacle = eligibility.obstacle(job, ground)
    if obstacle is None or not may_start_beyond(obstacle) or eligibility.is_paused(job, ground):
        return None
    attempt = Allocation(
        job=job.name,
        attempt="",
        demand=job.demand,
        terms=job.terms,
        since_ms=ground.now_ms,
        opportunistic=True,
        beyond_budget=True,
    )
    if protected_until_ms(attempt, ground.policy) is None:
        # Nothing could stop it for another job.
        return None
    found = start_now(want_of(job, ground), ground, takes_over=False)
    return replace(found, opportunistic=True, beyond_budget=True) if isinstance(found, StartNow) else None
