"""The promises, checked on a plan before any of it is applied: a wrong decision must not reach SageMaker."""

from __future__ import annotations

from headway.errors import InvariantViolation
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Release, Start
from headway.scheduling.alternatives import demands
from headway.scheduling.fair_share import TeamUse
from headway.scheduling.ordering import capped_priority, running_priority
from headway.scheduling.preemption import is_preemptible
from headway.vectors import free, minus, plus, positive, shortfall, total


def check_plan(snapshot: Snapshot, plan: Plan) -> None:
    """Check a plan against the promises that a single decision can break (1, 2, 5 and 6).

    Args:
        snapshot: the snapshot.
        plan: the plan.

    Raises:
        InvariantViolation: the plan breaks a promise; the text names it and how.
    """
    waiting = {job.name: job for job in snapshot.waiting}
    reserved = {reservation.job: reservation.demand for reservation in snapshot.reservations}
    left = free(snapshot)
    team_of = {job.name: job.team for job in snapshot.waiting}
    held = [(a.team, a.demand) for a in snapshot.allocations]
    held += [(team_of[r.job], r.demand) for r in snapshot.reservations if r.job in team_of]
    use = TeamUse(held)
    holding = {allocation.job for allocation in snapshot.allocations}
    for action in plan.actions:
        match action:
            case Release():
                given_back = reserved.pop(action.job)
                left = plus(left, given_back)
                if action.job in team_of:
                    use.add(team_of[action.job], given_back, -1)
            case Start():
                _require(action.job in waiting, f"{action.job} is started but does not wait")
                _require_no_pause(snapshot, action.demand, action.job)
                _require(action.job not in holding, f"{action.job} would have two live attempts")
                _require(
                    any(action.demand == dict(demand) for demand in demands(waiting[action.job])),
                    f"{action.job} would start on a part of its demand",
                )
                takes = minus(action.demand, reserved.pop(action.job, {}))
                _require(
                    not shortfall(takes, left),
                    f"starting {action.job} would exceed a pool: {takes} of {left}",
                )
                team = team_of[action.job]
                use.add(team, takes)
                over = shortfall(
                    {pool: count for pool, count in use[team].items() if takes.get(pool, 0) > 0},
                    {**use[team], **snapshot.policy.team(team).limit},
                )
                _require(not over, f"starting {action.job} would exceed the limit of team {team}: {over}")
                holding.add(action.job)
                left = minus(left, takes)
            case Preempt():
                pass
    _verify_preemptions(snapshot, plan)


def _verify_preemptions(snapshot: Snapshot, plan: Plan) -> None:
    allocations = {allocation.attempt: allocation for allocation in snapshot.allocations}
    waiting = {job.name: job for job in snapshot.waiting}
    started = {action.job for action in plan.actions if isinstance(action, Start)}
    preemptions = [action for action in plan.actions if isinstance(action, Preempt)]
    _require(len({action.attempt for action in preemptions}) == len(preemptions), "an attempt is preempted twice")
    for action in preemptions:
        victim = allocations[action.attempt]
        preemptor = waiting[action.for_job]
        _require(not victim.stopping, f"{action.attempt} is stopping already")
        _require(preemptor.preempts, f"{victim.job} is preempted for {preemptor.name}, which preempts no job")
        _require(is_preemptible(victim, snapshot.now_ms, snapshot.policy), f"{victim.job} is protected from preemption")
        _require(
            _gives_way(victim, preemptor, snapshot),
            f"{victim.job} is preempted for {preemptor.name}, whose priority is not higher",
        )
        _require_no_pause(snapshot, action.freed if preemptor.alternatives else preemptor.demand, preemptor.name)
        _require(preemptor.name not in started, f"{victim.job} is preempted for {preemptor.name}, which starts")
        _require(not shortfall(action.freed, victim.demand), f"{victim.job} cannot free {dict(action.freed)}")
    for name in sorted({action.for_job for action in preemptions}):
        freed = total(action.freed for action in preemptions if action.for_job == name)
        beyond = [positive(minus(freed, demand)) for demand in demands(waiting[name])]
        _require(not all(beyond), f"more is freed for {name} than it demands: {beyond}")
        one_pool = not waiting[name].one_of or len(positive(freed)) <= 1
        _require(one_pool, f"jobs are stopped for {name} in more than one of its pools: {freed}")


def _gives_way(victim: Allocation, preemptor: WaitingJob, snapshot: Snapshot) -> bool:
    """Strictly lower priority; or of another team, for a team with a guarantee in the pools that it frees."""
    policy = snapshot.policy
    if running_priority(victim, policy) < capped_priority(preemptor.priority, preemptor.team, policy):
        return True
    guaranteed = policy.team(preemptor.team).guaranteed
    return victim.team != preemptor.team and any(guaranteed.get(pool, 0) > 0 for pool in victim.demand)


def _require_no_pause(snapshot: Snapshot, demand: Demand, job: str) -> None:
    paused = sorted(demand.keys() & snapshot.pauses.keys())
    _require(not paused, f"{job} would start on what is paused: {paused}")


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise InvariantViolation(otherwise)
