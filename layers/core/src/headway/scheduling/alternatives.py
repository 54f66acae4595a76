"""Which of its alternatives a waiting job is decided on.

A job keeps one place in the queue, whatever its alternatives are: that of its first preference. A decision starts it,
preempts for it, or reserves a start for it on one alternative only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass, replace
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
        job: the job.
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
    """The job on the first alternative with some of these pools; the job itself if none has any.

    Args:
        job: the job.
        pools: the pools.
    """
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The alternative that a job is decided on."""

    job: WaitingJob
    #: The alternative that it could start on now, if it waits for a better one.
    instead_of: WaitingJob | None = None


def choose(
    among: Sequence[WaitingJob],
    until_ms: int,
    now_ms: int,
    *,
    starts: Callable[[WaitingJob], bool],
    preempts: Callable[[WaitingJob], bool],
    start_ms: Callable[[WaitingJob], int | None],
) -> Choice:
    """Choose the alternative that a job is decided on.

    It is the first that the job can start on now, or else the first for which attempts are stopped or stopping. But if
    the limits of what runs prove that the job can start on a better one in time, it waits for that. If there is
    neither, it is the one with the earliest reserved start.

    Args:
        among: the job on each of its alternatives that it could ever start on, in the order of preference.
        until_ms: until when it waits for a better one, ms.
        now_ms: the moment of the decision.
        starts: whether the job can start now, without preemption.
        preempts: whether it can start once attempts have stopped that are stopping or that it may preempt.
        start_ms: when it can start at the latest, ms; None if that is not known. It may count on preemption unless the
            job preempts nothing.
    """
    startable = next((number for number, each in enumerate(among) if starts(each)), None)
    place = startable
    if place is None:
        place = next((number for number, each in enumerate(among) if preempts(each)), None)
    if place is None:
        return Choice(job=_earliest(among, start_ms) or among[0])
    # No start is proven to be earlier than now, and to look for one takes time.
    if place and now_ms < until_ms:
        # While it can start at once, nothing is stopped for it. Nor for one on which it would not start then, but wait.
        patient = [replace(each, preempts=False) for each in among[:place]]
        better = _earliest(patient, lambda each: in_time(start_ms(each), until_ms))
        if better is not None:
            # A start now needs a warm pool to be gone first: the job is decided on it, which releases that.
            waits = startable is not None and start_ms(better) != now_ms
            return Choice(job=better, instead_of=among[place] if waits else None)
    return Choice(job=among[place])


def in_time(start_ms: int | None, until_ms: int) -> int | None:
    """A start, unless it is later than this."""
    return start_ms if start_ms is not None and start_ms <= until_ms else None


def _earliest(among: Sequence[WaitingJob], start_ms: Callable[[WaitingJob], int | None]) -> WaitingJob | None:
    known = [(at_ms, number) for number, each in enumerate(among) if (at_ms := start_ms(each)) is not None]
    return among[min(known)[1]] if known else None
