"""Why a job could not start even if all instances were free."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from headway import reasons
from headway.budgets.budget import WhenSpent
from headway.model import WaitingJob
from headway.scheduling.capacity_state import paused_pool
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import Ineligible, OverBudget, Paused
from headway.vectors import shortfall


def obstacle(job: WaitingJob, ground: Ground) -> Ineligible | Paused | None:
    """What keeps a job on one alternative from its instances, whatever is free; None if nothing does.

    Args:
        ground: sizes, pauses and limits.
    """
    return over_budget(job, ground) or is_paused(job, ground) or never_fits(job, ground)


def over_budget(job: WaitingJob, ground: Ground) -> OverBudget | None:
    """The obstacle, if nothing is left of a budget that a job takes from. What was freed for the job, it gets."""
    found: OverBudget | None = None
    for each in ground.spent:
        if each.holds(job.terms.payer, job.demand) and not ground.capacity.promised_to(job):
            found = OverBudget(job=job, why=partial(reasons.budget_spent, each, ground.now_ms), spent=each)
            if each.budget.when_spent is not WhenSpent.AFTER:
                # It keeps the job back whatever others leave.
                return found
    return found


def is_paused(job: WaitingJob, ground: Ground) -> Paused | None:
    """The obstacle, if a pool that a job demands is paused."""
    pool = paused_pool(job, ground.snapshot)
    return None if pool is None else Paused(job=job, pool=pool)


def never_fits(job: WaitingJob, ground: Ground) -> Ineligible | None:
    """The obstacle, if a job demands what does not exist, or more than there ever is, or than its team may use."""
    pools = ground.snapshot.pools
    for pool in sorted(job.demand):
        if pool not in pools:
            return Ineligible(job=job, why=partial(reasons.unknown_pool, pool, tuple(sorted(pools))))
    charged, limits = ground.capacity.charged(job), ground.capacity.limits
    largest = {pool: ground.size_changes.largest(pool) for pool in job.demand}
    short = shortfall(job.demand, largest)
    if short:
        calendars = ground.snapshot.calendars
        if all(pool in calendars and not calendars[pool].known for pool in short):
            return Ineligible(job=job, why=partial(reasons.waits_for_plan, job, _on_plans(job, ground)))
        return Ineligible(job=job, why=partial(reasons.exceeds_pool, job, largest, _on_plans(job, ground)))
    for key in sorted(charged.keys() - job.demand.keys()):
        if charged[key] > ground.size_changes.largest(key):
            largest_ever = replace(limits.of(key), size=ground.size_changes.largest(key))
            return Ineligible(job=job, why=partial(reasons.exceeds_limit, job, largest_ever))
    if not ground.size_changes.has_room_for(job):
        longest_ms = ground.size_changes.longest_ms(job)
        return Ineligible(job=job, why=partial(reasons.exceeds_windows, job, longest_ms, _on_plans(job, ground)))
    return None


def _on_plans(job: WaitingJob, ground: Ground) -> tuple[str, ...]:
    """What is known of the training plans that give the pools of a job their sizes."""
    calendars = ground.snapshot.calendars
    return tuple(calendars[pool].about for pool in sorted(job.demand) if pool in calendars and calendars[pool].about)
