"""Whom to preempt for one waiting job: the cheapest sufficient set, or nobody."""

from __future__ import annotations

from collections.abc import Iterable

from headway.capacity import minus, overlap, plus, shortfall
from headway.model import Allocation, Demand, WaitingJob
from headway.ordering import victim_order


def victims_for(
    job: WaitingJob, lacking: Demand, allocations: Iterable[Allocation], now_ms: int
) -> tuple[Allocation, ...]:
    """The attempts to stop so that ``job`` gets what it lacks; empty if that cannot be had.

    Candidates are attempts of strictly lower priority that are not stopping already and hold something that
    is lacking. They are taken in :func:`headway.ordering.victim_order` until the job fits; then those that
    turned out needless are given back, the dearest first (the way Kueue's ``GetTargets`` fills back).

    Args:
        job: the waiting job.
        lacking: instances per pool that it needs beyond what is free, reserved or being freed for it.
        allocations: all that hold instances.
        now_ms: the moment of the decision.
    """
    candidates = sorted(
        (
            allocation
            for allocation in allocations
            if allocation.priority < job.priority and not allocation.stopping and overlap(lacking, allocation.demand)
        ),
        key=lambda allocation: victim_order(allocation, now_ms),
    )
    chosen: list[Allocation] = []
    gained: dict[str, int] = {}
    for candidate in candidates:
        if not overlap(shortfall(lacking, gained), candidate.demand):
            continue
        chosen.append(candidate)
        gained = plus(gained, candidate.demand)
        if not shortfall(lacking, gained):
            break
    if shortfall(lacking, gained):
        return ()
    for candidate in reversed(chosen[:-1]):
        without = minus(gained, candidate.demand)
        if not shortfall(lacking, without):
            chosen.remove(candidate)
            gained = without
    return tuple(chosen)
