"""Which of its alternatives a waiting job is decided on.

A job keeps one place in the queue, whatever its alternatives are: that of its first preference. A decision starts it,
preempts for it, or reserves a start for it on one alternative only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from dataclasses import replace
from typing import Any

from headway.model import Alternative, Demand, Snapshot, WaitingJob
from headway.refusals import is_unlaunchable


def demands(job: WaitingJob) -> Iterator[Demand]:
    """What the job demands on each of its alternatives, the first preference first."""
    yield job.demand
    for each in job.alternatives:
        yield each.demand


def pools_of(job: WaitingJob) -> Set[str]:
    """The pools of all alternatives of the job."""
    if not job.alternatives:
        return job.demand.keys()
    return {pool for demand in demands(job) for pool in demand}


def choices(job: WaitingJob) -> tuple[WaitingJob, ...]:
    """The job on each of its alternatives, the first preference first."""
    if not job.alternatives:
        return (job,)
    return (replace(job, alternatives=()), *others(job))


def others(job: WaitingJob) -> Iterator[WaitingJob]:
    """The job on each of its alternatives but the first preference."""
    return (_on(job, each) for each in job.alternatives)


def _on(job: WaitingJob, alternative: Alternative) -> WaitingJob:
    held: dict[str, Any] = {}
    if alternative.not_before_ms is not None:
        held = {"not_before_ms": alternative.not_before_ms, "held_by": alternative.held_by}
    return replace(
        job,
        demand=alternative.demand,
        # A warm pool is of the first preference, as it depends on the instance type, and so is the request.
        terms=replace(job.terms, limit_ms=alternative.limit_ms, allowance_ms=None, warm_key="", keep_ms=0),
        alternatives=(),
        on_alternative=True,
        failed=alternative.failed,
        **held,
    )


def chosen(job: WaitingJob, demand: Demand) -> WaitingJob:
    """The job on the alternative with this demand.

    Args:
        demand: the instances of one of its alternatives.
    """
    return next(each for each in choices(job) if each.demand == demand)


def on_what_is_promised(snapshot: Snapshot) -> Snapshot:
    """The snapshot where a job that instances are reserved or being freed for has only the alternative of these.

    Unless it is unlaunchable on that: then others may use them, and it may start on another alternative.
    """
    promised = _promised(snapshot)
    if not promised:
        return snapshot
    waiting = (
        bound
        if job.alternatives
        and job.name in promised
        and not is_unlaunchable((bound := in_pools(job, promised[job.name])).failed, snapshot.now_ms)
        else job
        for job in snapshot.waiting
    )
    return replace(snapshot, waiting=tuple(waiting))


def keeping_promises(snapshot: Snapshot) -> Iterator[WaitingJob]:
    """The jobs that instances are reserved or being freed for, and that are not unlaunchable on these."""
    promised = _promised(snapshot)
    for job in snapshot.waiting if promised else ():
        if job.name in promised and not is_unlaunchable(in_pools(job, promised[job.name]).failed, snapshot.now_ms):
            yield job


def _promised(snapshot: Snapshot) -> dict[str, set[str]]:
    """The pools in which instances are reserved or being freed for jobs."""
    promised: dict[str, set[str]] = {}
    for reservation in snapshot.reservations:
        promised.setdefault(reservation.job, set()).update(reservation.demand)
    for allocation in snapshot.allocations:
        if allocation.freed_for is not None:
            # Of an attempt that is stopped for a team's limit no instances are earmarked.
            promised.setdefault(allocation.freed_for, set()).update(allocation.freed or allocation.demand)
    return promised


def in_pools(job: WaitingJob, pools: Collection[str]) -> WaitingJob:
    """The job on the first alternative with some of these pools; the job itself if none has any."""
    return next((each for each in choices(job) if any(pool in each.demand for pool in pools)), job)


def unlikely_spot(job: WaitingJob, snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    """The spot pools in which the job is unlikely to get its instances, each with its spot placement score.

    Without a known score, a pool is not among them.

    Args:
        job: the job on one of its alternatives.
        snapshot: the scores, and the lowest one that the policy accepts.
    """
    least = snapshot.policy.min_spot_score
    if least is None:
        return
    for pool, count in sorted(job.demand.items()):
        score = snapshot.spot_scores.get((pool, count))
        if score is not None and score < least:
            yield pool, score
