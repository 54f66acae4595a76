"""Carries out what a decision has found: the only code that changes its state, and writes its plan.

Each function makes all changes that belong together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from headway import reasons
from headway.model import Allocation, Demand, WaitingJob
from headway.plan import DelayedPreemption, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.reasons import Reason
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.fair_share import borrowed
from headway.scheduling.lost_work.checkpoints import last_seen_ms, last_written_ms
from headway.scheduling.ordering import capped_priority, running_priority
from headway.scheduling.placement.eligibility import never_fits
from headway.scheduling.placement.gaps import NOTICE_MS
from headway.scheduling.placement.ground import TakeOver
from headway.scheduling.placement.obstacles import BlockedBase, HasPlace, Obstacle
from headway.scheduling.placement.pass_state import PassState
from headway.scheduling.placement.placements import AfterStops, AfterWarmPools, Placement, StartNow
from headway.scheduling.size_excess import excess
from headway.scheduling.victims.protection import protected_until_ms
from headway.vectors import minus, overlap, plus, positive


def release_leftovers(state: PassState) -> None:
    """Release the reservations of jobs that left, no longer fit, are unlaunchable, or wait for a paused pool.

    A snapshot contains every waiting job that has a reservation, however far back it is.
    """
    capacity = state.ground.capacity
    for name in sorted(capacity.reserved):
        owner = capacity.owners.get(name)
        if owner is None or state.probes.is_barred(owner) or never_fits(owner, state.ground) is not None:
            _release(name, reasons.reservation_released(capacity.reserved[name]), state)


def stop_excess(state: PassState) -> None:
    """Stop what exceeds the size of pools that stop attempts when they become smaller."""
    for pool, victim in excess(state.snapshot):
        state.ground.capacity.preempt(victim, {}, {})
        size = state.snapshot.pools[pool]
        reason = reasons.stopped_for_size(pool, size, state.snapshot.calendars[pool].about)
        state.stops.append(StopForSize(job=victim.job, attempt=victim.attempt, pool=pool, size=size, reason=reason))


def count_promises(job: WaitingJob, state: PassState) -> None:
    """Count at later sizes what is promised to a job whose turn it is.

    A reservation that it can use only after a change of size is released: others can use it until then.
    """
    ground = state.ground
    capacity, until_ms = ground.capacity, ground.until_ms(job)
    if job.name not in capacity.reserved and job.name not in capacity.earmarked:
        return
    outlasts = ground.size_changes.exceeded_by(job, capacity.charged(job), until_ms) is not None
    if outlasts and job.name in capacity.reserved:
        _release(job.name, reasons.reservation_outlasted(capacity.reserved[job.name]), state)
    ground.size_changes.charge(job, capacity.promised_to(job), until_ms)


def grant(placement: Placement, state: PassState, *, on_leftovers: bool = False) -> None:
    """Give a job its instances: from here on no job of lower rank takes them from it.

    Args:
        placement: as it was found on the ground of the state.
        on_leftovers: whether the job is unlaunchable, and tried on what no other job can use.
    """
    state.hints.forget()
    _take_over(placement.taken_over, placement.want.job, state)
    match placement:
        case StartNow():
            _start(placement, state, on_leftovers=on_leftovers)
        case AfterWarmPools():
            _await_warm_pools(placement, state)
        case AfterStops():
            _await_stops(placement, state)


def keep_waiting(obstacle: Obstacle, state: PassState) -> None:
    """A job continues to wait: a start may be reserved for it, and its reason is noted."""
    if not state.explainer.enabled:
        reserve(obstacle, state)
        return
    shorter_s, would_fill = state.hints.shorter_s(obstacle), state.hints.would_fill(obstacle)
    state.explainer.explain(obstacle, reserve(obstacle, state), shorter_s=shorter_s, would_fill=would_fill)


def reserve(obstacle: Obstacle | HasPlace, state: PassState) -> ReservedStart | None:
    """Reserve a start for a blocked job, if it is among the first of its combination of pools."""
    ground = state.ground
    if not isinstance(obstacle, BlockedBase) or ground.reserved_starts.is_at_depth(obstacle.combination):
        return None
    state.hints.forget()
    job = obstacle.job
    terms = ground.start_terms(job, obstacle.need, stops_others=obstacle.stops_others)
    otherwise = terms.need if obstacle.kept == obstacle.need else obstacle.kept
    start = ground.reserved_starts.reserve(job, terms, obstacle.combination, otherwise)
    preemptible_from_ms = terms.preemptible_from_ms
    start.told_ms = ground.told_ms(start)
    start.stops_others = obstacle.stops_others and job.preempts
    if preemptible_from_ms is not None and start.start_ms is not None:
        spared = ground.reserved_starts.protected_at(start.need, start.start_ms, preemptible_from_ms)
        lacking = start.lacking
        victims = ground.preemption.victims(job, lacking, spared, start.start_ms) if lacking else ()
        in_gap = bool(victims) and all(victim.opportunistic for victim in victims)
        if ground.preemption.may_wait_at(job, start.start_ms) and not in_gap:
            # A preemption that may wait for a checkpoint may also come sooner, when other attempts may be stopped.
            victims = ()
        ground.reserved_starts.expect_stopped(start, victims, preemptible_from_ms)
        if in_gap:
            _clear_gap(start, start.start_ms, victims, state)
    return start


def _clear_gap(start: ReservedStart, start_ms: int, victims: Sequence[Allocation], state: PassState) -> None:
    """Stop the attempts in front of a reserved start in time, so that its job need not wait for their stop."""
    ground, job, lacking = state.ground, start.job, start.lacking
    stop_ms = max(start_ms - NOTICE_MS, *(protected_until_ms(each, ground.policy) or 0 for each in victims))
    if stop_ms > ground.now_ms:
        attempts = tuple(victim.attempt for victim in victims)
        state.delayed.append(DelayedPreemption(for_job=job.name, attempts=attempts, at_ms=stop_ms))
        return
    # It may lack more than it needs: a pool that was shrunk below its use has to shrink first.
    earmark = overlap(start.need, lacking)
    for victim in victims:
        freed, used = ground.capacity.preempt(victim, earmark, lacking)
        earmark, lacking = positive(minus(earmark, freed)), positive(minus(lacking, used))
        _preempt(victim, job, freed, state)


def _release(name: str, reason: Reason, state: PassState) -> None:
    state.releases.append(Release(job=name, demand=state.ground.capacity.release(name), reason=reason))
    state.memo.forget()


def _take_over(taken: TakeOver, job: WaitingJob, state: PassState) -> None:
    capacity = state.ground.capacity
    for owner in taken.earmarks:
        capacity.release_earmark(owner)
    for name in taken.reservations:
        _release(name, reasons.reservation_taken_over(capacity.reserved[name], job), state)


def _start(placement: StartNow, state: PassState, *, on_leftovers: bool) -> None:
    ground, want = state.ground, placement.want
    job, capacity = want.job, ground.capacity
    ground.size_changes.charge(job, want.beyond, want.until_ms)
    capacity.start(job, want.takes)
    warm = placement.warm
    if warm is not None:
        capacity.claim(warm)
    ground.reserved_starts.account_for(placement.counted, capacity.charged(job), want.until_ms, want.until_ms)
    reason = reasons.started(
        job.demand,
        warm=warm.job if warm is not None else "",
        in_gap=placement.opportunistic,
        beyond_budget=placement.beyond_budget,
    )
    more: dict[str, Any] = {
        "job": job.name,
        "demand": dict(job.demand),
        "reason": state.explainer.with_passed_over(job, reason),
        "opportunistic": placement.opportunistic,
        "beyond_budget": placement.beyond_budget,
    }
    if warm is not None:
        state.starts.append(StartWarm(**more, warm=warm.attempt))
    else:
        state.starts.append(Start(**more, on_leftovers=on_leftovers))


def _await_warm_pools(placement: AfterWarmPools, state: PassState) -> None:
    ground, want = state.ground, placement.want
    job, capacity = want.job, ground.capacity
    until_ms = ground.until_after_stops_ms(job, ground.now_ms)
    ground.size_changes.charge(job, want.beyond, until_ms, (), capacity.promised_to(job), want.until_ms)
    ground.reserved_starts.account_for(placement.counted, capacity.charged(job), None, None)
    capacity.commit(job, overlap(want.takes, capacity.spare), {}, {})
    if placement.warm is not None:
        capacity.allocations.stop(placement.warm)
    for pool in placement.foreign:
        if pool.attempt in capacity.allocations.warm:
            capacity.preempt(pool, {}, {})
            _release_warm(pool, job, {}, state)
    state.explainer.add(job, partial(reasons.waits_for_freed, job, placement.foreign))


def _await_stops(placement: AfterStops, state: PassState) -> None:
    ground, want, sources = state.ground, placement.want, placement.sources
    job, capacity, victims = want.job, ground.capacity, sources.victims
    until_ms = ground.until_after_stops_ms(job, placement.stop_ms)
    ground.size_changes.charge(job, want.beyond, until_ms, victims, capacity.promised_to(job), want.until_ms)
    ground.reserved_starts.account_for(placement.counted, capacity.charged(job), want.until_ms, placement.proven_ms)
    # From here on no job of lower rank can take the job's instances in this pass. What the victims free stays
    # reserved for it in later passes.
    capacity.commit(job, sources.from_spare, sources.overcommitted, sources.from_unclaimed)
    earmark = positive(minus(sources.need, positive(minus(sources.from_unclaimed, sources.overcommitted))))
    lacking, is_now = sources.lacking, placement.stop_ms <= ground.now_ms
    for victim in victims:
        freed, used = capacity.preempt(victim, earmark, lacking)
        earmark = positive(minus(earmark, used))
        lacking = positive(minus(lacking, used))
        if is_now:
            _preempt(victim, job, freed, state, reclaims=placement.reclaims)
    if is_now:
        meant = (*capacity.earmarked.get(job.name, ()), *victims)
        why = partial(state.explainer.awaits_freed, job, meant, sources.from_unclaimed)
    else:
        # For the rest of this pass the preemption counts as made.
        state.memo.forget()
        attempts = tuple(victim.attempt for victim in victims)
        state.delayed.append(DelayedPreemption(for_job=job.name, attempts=attempts, at_ms=placement.stop_ms))
        why = partial(reasons.waits_for_checkpoint, job, victims, placement.stop_ms, ground.now_ms)
    state.explainer.add(job, why)


def _preempt(victim: Allocation, job: WaitingJob, freed: Demand, state: PassState, *, reclaims: bool = False) -> None:
    if victim.warm:
        _release_warm(victim, job, freed, state)
        return
    state.memo.forget()
    reason = _why_preempted(victim, job, state, reclaims=reclaims)
    state.preemptions.append(
        Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
    )


def _why_preempted(victim: Allocation, job: WaitingJob, state: PassState, *, reclaims: bool) -> Reason:
    policy, now_ms = state.ground.policy, state.ground.now_ms
    if victim.lacks_instances:
        return reasons.gives_way(victim, job, now_ms)
    lower = running_priority(victim, policy) < capped_priority(job.terms.priority, job.terms.team, policy)
    team = victim.terms.team
    by_right = reclaims and team != job.terms.team
    held = plus(state.ground.capacity.use.get(team, {}), victim.demand)
    written_ms = last_written_ms(victim, now_ms, policy)
    return reasons.preempted(
        victim,
        job,
        borrowed=borrowed(held, policy.team(team).guaranteed) if by_right else None,
        among=None if lower or by_right else policy.order,
        from_gap=victim.opportunistic,
        checkpoint_ms_ago=None if written_ms is None else max(0, now_ms - written_ms),
        checkpoint_seen=written_ms == last_seen_ms(victim),
    )


def _release_warm(pool: Allocation, job: WaitingJob, freed: Demand, state: PassState) -> None:
    state.memo.forget()
    reason = reasons.warm_pool_released(pool, job)
    state.preemptions.append(
        ReleaseWarm(job=pool.job, attempt=pool.attempt, for_job=job.name, freed=freed, reason=reason)
    )
