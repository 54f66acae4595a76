"""Tries how a job can be placed. It changes nothing: what it finds is granted as it is, or is an obstacle."""

from __future__ import annotations

from dataclasses import replace

from headway.model import Allocation, Demand, WaitingJob
from headway.scheduling.backfill.size_changes import SizeClaim
from headway.scheduling.comparisons import MAX_COMPARISONS_BESIDE
from headway.scheduling.limits import is_limit
from headway.scheduling.placement import take_overs
from headway.scheduling.placement.gaps import NOTICE_MS, may_fill
from headway.scheduling.placement.ground import NOTHING, Ground, TakeOver, combination
from headway.scheduling.placement.obstacles import AtLimit, BacksOff, Blocked, Lacking, OutlastsSize, WouldDelay
from headway.scheduling.placement.placements import AfterStops, AfterWarmPools, Placement, Sources, StartNow, Want
from headway.scheduling.warm_pools import claimable, foreign
from headway.vectors import minus, overlap, plus, positive, shortfall


def try_on(job: WaitingJob, ground: Ground) -> Placement | Blocked:
    """The way in which a job on one alternative gets its instances, or what keeps it from them.

    Args:
        job: the job, which is eligible.
        ground: what it is placed on.
    """
    want = want_of(job, ground)
    return start_now(want, ground) or after_stops(want, ground)


def want_of(job: WaitingJob, ground: Ground) -> Want:
    """What a job takes if it starts now.

    Args:
        job: the job on one alternative.
        ground: what is promised to it, and the later sizes.
    """
    capacity, until_ms = ground.capacity, ground.until_ms(job)
    beyond = minus(capacity.charged(job), capacity.promised_to(job))
    exceeded = ground.size_changes.exceeded_by(job, beyond, until_ms)
    takes = capacity.beyond_reservation(job)
    return Want(job=job, takes=takes, beyond=beyond, until_ms=until_ms, exceeded=exceeded)


def start_now(want: Want, ground: Ground, *, takes_over: bool = True) -> StartNow | AfterWarmPools | None:
    """The way in which a job starts now; None if it does not.

    Only what it takes beyond its reservation can delay another job; no job counts on the reservation.

    Args:
        want: what the job takes.
        ground: what it is placed on.
        takes_over: whether it may take what is reserved for jobs of lower rank.
    """
    if want.job.not_before_ms > ground.now_ms or want.exceeded is not None:
        return None
    placed = _in_warm_pool(want, ground) or _on_free(want, ground)
    if placed is not None or not takes_over or not _may_take_over(want, ground):
        return placed
    taken = take_overs.for_start(want.job, want.takes, ground)
    placed = _on_free(want, ground.after(taken)) if taken else None
    return placed and replace(placed, taken_over=taken)


def after_stops(want: Want, ground: Ground) -> AfterStops | Blocked:
    """The way in which a job that does not start now gets its instances once attempts have stopped, or an obstacle.

    Args:
        want: what the job takes.
        ground: what it is placed on.
    """
    need = positive(minus(want.takes, ground.capacity.freed_for(want.job)))
    if want.job.not_before_ms > ground.now_ms:
        return BacksOff(job=want.job, need=need)
    found: AfterStops | Blocked | None = None
    if _may_take_over(want, ground):
        for taken in take_overs.before_stops(want.job, want.takes, ground):
            tried = _await(want, need, ground.after(taken), taken)
            if isinstance(tried, AfterStops):
                return tried
            found = found if taken else tried
    # What is promised to jobs of lower rank stays theirs if it does not suffice.
    return found or _await(want, need, ground, NOTHING)


def _may_take_over(want: Want, ground: Ground) -> bool:
    """Whether the job may take over what jobs of lower rank have: they have some, and no reserved start is delayed."""
    if not ground.capacity.owners:
        return False
    return ground.reserved_starts.delayed_by(positive(want.takes), None) is None


def _in_warm_pool(want: Want, ground: Ground) -> StartNow | AfterWarmPools | None:
    """The job in a warm pool, if that delays no reserved start, or if it is stopped in time for those.

    Whenever the job could start on other instances, this is possible, too: it is what SageMaker would do.
    """
    capacity, reserved_starts = ground.capacity, ground.reserved_starts
    for pool in claimable(want.job, capacity.allocations, ground.now_ms, ground.policy):
        # What is lent does not count twice. A pool that was shrunk below its use has to shrink first.
        lent = plus(capacity.lent, capacity.allocations.charged(pool))
        if shortfall(want.takes, plus(capacity.free, lent)):
            continue
        counted = positive(want.takes)
        if reserved_starts:
            counted = positive(minus(want.takes, reserved_starts.unclaimed_by_reservations((pool,))))
        if (placed := _beside_starts(want, counted, ground, pool)) is not None:
            return placed
    return None


def _on_free(want: Want, ground: Ground) -> StartNow | AfterWarmPools | None:
    """The job on free instances, on the same terms."""
    capacity = ground.capacity
    if shortfall(want.takes, capacity.free) or shortfall(want.takes, capacity.spare):
        return None
    return _beside_starts(want, positive(want.takes), ground)


def _beside_starts(
    want: Want, counted: Demand, ground: Ground, warm: Allocation | None = None
) -> StartNow | AfterWarmPools | None:
    """The job on instances that are there, if that delays no reserved start, or if it is stopped in time for those.

    Args:
        counted: the instances among those that it takes that reserved starts may rely on.
        warm: the warm pool that it starts in; None for free instances.
    """
    delays = ground.reserved_starts.delayed_by(counted, want.until_ms) is not None
    if delays and not may_fill(want.job, counted, ground):
        return None
    others = tuple(foreign(want.job, ground.capacity.allocations, ground.policy))
    if not others:
        return StartNow(want=want, counted=counted, warm=warm, opportunistic=delays)
    return None if delays else AfterWarmPools(want=want, counted=counted, foreign=others, warm=warm)


def _await(want: Want, need: Demand, ground: Ground, taken: TakeOver) -> AfterStops | Blocked:
    """The job once attempts have stopped, after a take-over."""
    job = want.job
    sources = _sources(job, need, need, ground)
    if not sources.suffice:
        return _lacking(job, need, sources.lacking, ground)
    delayed = ground.reserved_starts.delayed_by(sources.counted, _proven_ms(job, sources, ground))
    if delayed is not None and (beside := _sources_beside(job, need, sources, ground)) is not None:
        sources, delayed = beside, None
    exceeded, stop_ms = want.exceeded, ground.now_ms
    if sources.victims:
        stop_ms = ground.preemption.stop_ms(job, sources.victims)
        exceeded = _exceeded_after(want, sources, stop_ms, ground)
    if exceeded is not None:
        return OutlastsSize(job=job, need=need, claim=exceeded)
    if delayed is not None:
        # A job that fits, and has ended before that start, delays another one.
        fits = not sources.is_after_stops
        head = (ground.reserved_starts.delayed_by(sources.counted, want.until_ms) if fits else None) or delayed
        return WouldDelay(
            job=job,
            need=need,
            head=head,
            is_after_stops=not fits,
            is_for_limit=_awaits_only_opportunistic(job, sources, ground),
        )
    return AfterStops(
        want=want,
        counted=sources.counted,
        taken_over=taken,
        sources=sources,
        stop_ms=stop_ms,
        proven_ms=_proven_ms(job, sources, ground),
        reclaims=ground.preemption.reclaims(job),
    )


def _proven_ms(job: WaitingJob, sources: Sources, ground: Ground) -> int | None:
    """When a job that waits for stops has surely ended, ms.

    When it will start is not known, so its limit does not prove it. But opportunistic attempts are stopped at once, and
    it has their instances in the time in which those would be stopped for a reserved start.
    """
    until_ms = ground.until_ms(job)
    if until_ms is None or not _awaits_only_opportunistic(job, sources, ground):
        return None
    return until_ms + NOTICE_MS


def _awaits_only_opportunistic(job: WaitingJob, sources: Sources, ground: Ground) -> bool:
    """Whether all that has to stop for a job, or is stopping for it, is opportunistic."""
    stopping = ground.capacity.earmarked.get(job.name, ())
    if sources.from_unclaimed or sources.overcommitted or not (stopping or sources.victims):
        return False
    return all(each.opportunistic for each in (*stopping, *sources.victims))


def _lacking(job: WaitingJob, need: Demand, lacking: Demand, ground: Ground) -> Lacking:
    """The obstacle of a job that lacks instances, or what it may use.

    If it lacks instances as well, it waits behind the first ones of its pools.
    """
    only_limits = all(map(is_limit, lacking))
    is_at_depth = ground.reserved_starts.is_at_depth(combination(job.demand))
    if any(map(is_limit, lacking)) and (only_limits or not is_at_depth):
        return AtLimit(job=job, need=need, lacking=lacking)
    return Lacking(job=job, need=need, lacking=lacking)


def _exceeded_after(want: Want, sources: Sources, stop_ms: int, ground: Ground) -> SizeClaim | None:
    """The first change of a size that the job may not run into if it starts when its victims have stopped.

    They take time to stop, and leave their part of later sizes to it.
    """
    job, until_ms = want.job, ground.until_after_stops_ms(want.job, stop_ms)
    promised = ground.capacity.promised_to(job)
    return ground.size_changes.exceeded_by(job, want.beyond, until_ms, sources.victims, promised, want.until_ms)


def _sources_beside(job: WaitingJob, need: Demand, sources: Sources, ground: Ground) -> Sources | None:
    """Other sources that delay no reserved start: what is free may be kept for these, and victims may not.

    Args:
        need: as for :func:`_sources`.
        sources: those with all that is free, which delay one.
        ground: what the job is placed on.
    """
    comparisons = ground.comparisons
    if not (sources.from_spare or sources.from_unclaimed) or comparisons.beside > MAX_COMPARISONS_BESIDE:
        return None
    before = comparisons.made
    beside = _sources(job, need, ground.reserved_starts.room(need), ground)
    delayed = ground.reserved_starts.delayed_by(beside.counted, None)
    comparisons.beside += comparisons.made - before
    return beside if delayed is None else None


def _sources(job: WaitingJob, total_need: Demand, usable: Demand, ground: Ground) -> Sources:
    """Where a job that does not fit gets what it needs from.

    Args:
        total_need: what it needs beyond its reservation and the instances that are being freed for it.
        usable: the part of this that it may have of what is free, or of what stopping attempts free.
        ground: what it is placed on.
    """
    capacity, reserved_starts = ground.capacity, ground.reserved_starts
    from_spare = overlap(usable, capacity.spare)
    # Before any job can start in a pool that was shrunk below its use, the excess has to be freed too.
    overcommitted = capacity.overcommitted(job)
    from_unclaimed = overlap(plus(positive(minus(usable, from_spare)), overcommitted), capacity.unclaimed)
    need = positive(minus(total_need, from_spare))
    lacking = positive(minus(plus(need, overcommitted), from_unclaimed))
    victims = ground.preemption.victims(job, lacking) if lacking else ()
    counted = total_need
    if victims and reserved_starts:
        counted = positive(minus(total_need, reserved_starts.unclaimed_by_reservations(victims)))
    return Sources(
        from_spare=from_spare,
        need=need,
        overcommitted=overcommitted,
        from_unclaimed=from_unclaimed,
        lacking=lacking,
        victims=victims,
        counted=counted,
    )
