"""The promises, checked on a plan before any of it is applied: a wrong decision must not reach SageMaker."""

from __future__ import annotations

from headway.errors import InvariantViolation
from headway.model import STOP_MS, Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.refusals import is_unlaunchable
from headway.scheduling.alternatives import choices, chosen, demands, in_pools, on_what_is_promised
from headway.scheduling.limits import Limits, is_limit
from headway.scheduling.ordering import capped_priority, running_priority
from headway.scheduling.victims.protection import is_preemptible, yields_to_equal
from headway.scheduling.warm_pools import may_claim
from headway.vectors import free, minus, plus, positive, shortfall, total


def check_plan(snapshot: Snapshot, plan: Plan) -> None:
    """Check a plan against the promises that a single decision can break (1, 2, 5, 6 and 12).

    Raises:
        InvariantViolation: the plan breaks a promise; the text names it and how.
    """
    waiting = {job.name: job for job in snapshot.waiting}
    reserved = {reservation.job: reservation.demand for reservation in snapshot.reservations}
    left = free(snapshot)
    # What a job waits for counts in what a booking has given back.
    limits = Limits(on_what_is_promised(snapshot))
    held = [limits.charged(a.demand, a.terms) for a in snapshot.allocations]
    held += [limits.charged(r.demand, waiting[r.job].terms) for r in snapshot.reservations if r.job in waiting]
    use = total(held)
    holding = {allocation.job for allocation in snapshot.allocations if not allocation.warm}
    warm = {a.attempt: a for a in snapshot.allocations if a.warm and not a.stopping}
    # What claimed warm pools hold is charged twice.
    lent = total(limits.charged(a.demand, a.terms) for a in snapshot.allocations if a.claimed_by)
    for action in plan.actions:
        match action:
            case Release():
                given_back = reserved.pop(action.job)
                left = plus(left, given_back)
                if action.job in waiting:
                    use = minus(use, limits.charged(given_back, waiting[action.job].terms))
            case Start():
                _require(action.job in waiting, f"{action.job} is started but does not wait")
                _require_no_pause(snapshot, action.demand, action.job)
                _require(action.job not in holding, f"{action.job} would have two live attempts")
                _require(
                    any(action.demand == dict(demand) for demand in demands(waiting[action.job])),
                    f"{action.job} would start on a part of its demand",
                )
                takes = minus(action.demand, reserved.pop(action.job, {}))
                if isinstance(action, StartWarm):
                    pool, job = warm.pop(action.warm, None), chosen(waiting[action.job], action.demand)
                    _require(
                        pool is not None and may_claim(job, pool, snapshot.now_ms, snapshot.policy),
                        f"{action.job} would start in {action.warm}, which is no warm pool for it",
                    )
                    assert pool is not None  # noqa: S101 - required above
                    lent = plus(lent, limits.charged(pool.demand, pool.terms))
                    may_take = plus(left, lent)
                else:
                    may_take = left
                _require(
                    not shortfall(takes, may_take),
                    f"starting {action.job} would exceed a pool: {takes} of {left}",
                )
                charged = limits.charged(takes, waiting[action.job].terms)
                use = plus(use, charged)
                counts = minus(use, lent) if isinstance(action, StartWarm) else use
                over = {
                    key: counts[key] - limits.of(key).size
                    for key, count in charged.items()
                    if is_limit(key) and count > 0 and counts[key] > limits.of(key).size
                }
                _require(not over, f"starting {action.job} would exceed a limit: {over}")
                holding.add(action.job)
                left = minus(left, takes)
            case Preempt() | ReleaseWarm() | StopForSize():
                pass
    _verify_preemptions(snapshot, plan)
    _verify_sizes(snapshot, plan)


def _verify_preemptions(snapshot: Snapshot, plan: Plan) -> None:
    allocations = {allocation.attempt: allocation for allocation in snapshot.allocations}
    waiting = {job.name: job for job in snapshot.waiting}
    started = {action.job for action in plan.actions if isinstance(action, Start)}
    preemptions = [action for action in plan.actions if isinstance(action, Preempt | ReleaseWarm)]
    claimed = [action.warm for action in plan.actions if isinstance(action, StartWarm)]
    stopped = [action.attempt for action in preemptions] + claimed
    _require(len(set(stopped)) == len(stopped), "an attempt is preempted twice")
    for action in preemptions:
        victim = allocations[action.attempt]
        preemptor = waiting[action.for_job]
        _require(not victim.stopping, f"{action.attempt} is stopping already")
        _require(bool(victim.warm) is isinstance(action, ReleaseWarm), f"{action.attempt} is stopped in the wrong way")
        if isinstance(action, Preempt):
            _verify_victim(victim, _meant(preemptor, action.freed, victim, snapshot.now_ms), snapshot)
        _require_no_pause(snapshot, action.freed if preemptor.alternatives else preemptor.demand, preemptor.name)
        _require(preemptor.name not in started, f"{victim.job} is preempted for {preemptor.name}, which starts")
        _require(not shortfall(action.freed, victim.demand), f"{victim.job} cannot free {dict(action.freed)}")
    for name in sorted({action.for_job for action in preemptions}):
        freed = total(action.freed for action in preemptions if action.for_job == name)
        beyond = [positive(minus(freed, demand)) for demand in demands(waiting[name])]
        _require(not all(beyond), f"more is freed for {name} than it demands: {beyond}")


def _meant(preemptor: WaitingJob, freed: Demand, victim: Allocation, now_ms: int) -> WaitingJob:
    """The job on the alternative that an attempt is stopped for.

    One that frees nothing but a part of its team's limit, or what exceeds a pool, does not tell which.
    """
    if freed:
        return in_pools(preemptor, freed)
    possible = [each for each in choices(preemptor) if any(pool in each.demand for pool in victim.demand)]
    launchable = (each for each in possible if not is_unlaunchable(each.failed, now_ms))
    return next(launchable, in_pools(preemptor, victim.demand))


def _verify_victim(victim: Allocation, preemptor: WaitingJob, snapshot: Snapshot) -> None:
    _require(
        not is_unlaunchable(preemptor.failed, snapshot.now_ms),
        f"{victim.job} is preempted for {preemptor.name}, which is unlaunchable",
    )
    if victim.lacks_instances:
        return
    _require(preemptor.preempts, f"{victim.job} is preempted for {preemptor.name}, which preempts no job")
    _require(is_preemptible(victim, snapshot.now_ms, snapshot.policy), f"{victim.job} is protected from preemption")
    _require(
        _gives_way(victim, preemptor, snapshot),
        f"{victim.job} is preempted for {preemptor.name}, whose priority is not higher",
    )


def _verify_sizes(snapshot: Snapshot, plan: Plan) -> None:
    """What starts fits the later sizes of its pools, unless they stop what exceeds them; only there is it stopped."""
    now_ms = snapshot.now_ms
    waiting = {job.name: job for job in snapshot.waiting}
    started = [chosen(waiting[action.job], action.demand) for action in plan.actions if isinstance(action, Start)]
    limits = Limits(on_what_is_promised(snapshot))
    for pool, calendar in limits.calendars.items():
        for change in calendar.changes:
            if change.at_ms <= now_ms:
                continue
            news = [
                limits.charged(job.demand, job.terms).get(pool, 0)
                for job in started
                if calendar.limits(stops_for_size=job.terms.stops_for_size)
                and _holds_at(change.at_ms, now_ms, job.terms.limit_ms)
            ]
            held = [
                limits.charged(each.demand, each.terms).get(pool, 0)
                for each in snapshot.allocations
                if calendar.limits(stops_for_size=each.terms.stops_for_size)
                and not (each.stopping and now_ms + STOP_MS <= change.at_ms)
                and (_is_over(each, now_ms) or _holds_at(change.at_ms, each.since_ms, each.terms.limit_ms))
            ]
            _require(
                not any(news) or sum(news) + sum(held) <= change.size,
                f"what starts would hold {sum(news)} {pool} beside {sum(held)} when its size is {change.size}",
            )
    allocations = {allocation.attempt: allocation for allocation in snapshot.allocations}
    for action in plan.actions:
        if isinstance(action, StopForSize):
            stops = action.pool in snapshot.calendars and snapshot.calendars[action.pool].stops
            _require(stops, f"{action.attempt} is stopped for {action.pool}, which stops nothing")
            stopped = allocations[action.attempt]
            _require(not stopped.stopping, f"{action.attempt} is stopping already")
            used = sum(a.demand.get(action.pool, 0) for a in snapshot.allocations if not a.stopping)
            _require(used > snapshot.pools.get(action.pool, 0), f"{action.attempt} is stopped although it fits")


def _holds_at(time_ms: int, since_ms: int, limit_ms: int | None) -> bool:
    return limit_ms is None or since_ms + limit_ms > time_ms


def _is_over(allocation: Allocation, now_ms: int) -> bool:
    """Whether it has passed its limit, which therefore proves nothing."""
    return allocation.terms.limit_ms is not None and allocation.since_ms + allocation.terms.limit_ms <= now_ms


def _gives_way(victim: Allocation, preemptor: WaitingJob, snapshot: Snapshot) -> bool:
    """Lower priority; an equal with more left; or of another team, for a guarantee in pools that it frees."""
    policy = snapshot.policy
    if running_priority(victim, policy) < capped_priority(preemptor.terms.priority, preemptor.terms.team, policy):
        return True
    if yields_to_equal(victim, preemptor, snapshot.now_ms, policy):
        return True
    guaranteed = policy.team(preemptor.terms.team).guaranteed
    return victim.terms.team != preemptor.terms.team and any(guaranteed.get(pool, 0) > 0 for pool in victim.demand)


def _require_no_pause(snapshot: Snapshot, demand: Demand, job: str) -> None:
    paused = sorted(demand.keys() & snapshot.pauses.keys())
    _require(not paused, f"{job} would start on what is paused: {paused}")


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise InvariantViolation(otherwise)
