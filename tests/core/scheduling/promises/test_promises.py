"""The promises of ``docs/reference/semantics.md`` that a single decision can keep or break, on random snapshots.

Each rule is written down a second time here, in other words than in the scheduler, as a predicate that asserts it.
``test_mutations`` shows that each predicate notices when its rule is broken.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, Wait
from headway.scheduling.alternatives import chosen
from headway.scheduling.invariants import check_plan
from headway.scheduling.scheduler import schedule
from headway.vectors import free, minus, plus, positive, shortfall, total
from tests.core.builders import allocation, waiting_job
from tests.core.strategies import (
    NOW_MS,
    POOLS,
    World,
    all_stopped,
    beside_a_warm_pool,
    borrowed_from_red,
    can_ever_start,
    nothing_owed,
    snapshots,
)

T = TypeVar("T")


def of(plan: Plan, kind: type[Start] | type[Preempt] | type[Release]) -> list[str]:
    """The jobs of the actions of one kind."""
    return [action.job for action in plan.actions if isinstance(action, kind)]


def clamped(priority: int, team: str, snapshot: Snapshot) -> int:
    """A priority, no higher than the team may have."""
    entitled = snapshot.policy.teams.get(team)
    return priority if entitled is None or entitled.max_priority is None else min(priority, entitled.max_priority)


def gained(entry_time_ms: int, until_ms: int, snapshot: Snapshot) -> int:
    """What waiting has added to a priority."""
    ageing = snapshot.policy.ageing
    return min(ageing.cap, max(0, until_ms - entry_time_ms) // ageing.interval_ms) if ageing else 0


def protection(attempt: Allocation, snapshot: Snapshot) -> int:
    """The priority that an attempt runs with; one in a gap has none."""
    if attempt.opportunistic:
        return -1
    return clamped(attempt.terms.priority, attempt.terms.team, snapshot) + gained(
        attempt.terms.entry_time_ms, attempt.since_ms, snapshot
    )


def plain_rank(job: WaitingJob, snapshot: Snapshot) -> tuple[int, bool, int, str]:
    """The order of a line in which teams take no turns."""
    priority = clamped(job.terms.priority, job.terms.team, snapshot) + gained(
        job.terms.entry_time_ms, snapshot.now_ms, snapshot
    )
    freed = any(a.stopping and a.freed_for == job.name for a in snapshot.allocations)
    served = bool(snapshot.policy.teams) and (freed or bool(own(snapshot, job.name)))
    return (-priority, not served, job.terms.entry_time_ms + job.terms.standing.handicap_ms, job.name)


def begun_weeks(attempt: Allocation, now_ms: int) -> int:
    """For how many weeks the cap on preemptions counts."""
    if not attempt.terms.checkpoints or attempt.terms.standing.left_ms is None:
        return 1
    return 1 + max(0, now_ms - attempt.terms.entry_time_ms) // (7 * 86_400_000)


def is_protected(attempt: Allocation, snapshot: Snapshot) -> bool:
    """Whether an attempt may not be preempted now."""
    policy = snapshot.policy
    own = attempt.terms.max_preemptions
    most = policy.max_preemptions if own is None else min(own, policy.max_preemptions)
    ran_ms = snapshot.now_ms - attempt.since_ms
    left_ms = None if attempt.terms.limit_ms is None else attempt.terms.limit_ms - ran_ms
    return (
        not policy.preemption
        or not attempt.terms.preemptible
        or attempt.terms.preemptions >= most * begun_weeks(attempt, snapshot.now_ms)
        or ran_ms < policy.min_run_time_ms
        # A stop takes two minutes.
        or (left_ms is not None and 0 <= left_ms <= 120_000)
    )


def cost(attempt: Allocation, snapshot: Snapshot) -> tuple[int, int, int, str]:
    """The documented order of victims."""
    ran_ms = max(0, snapshot.now_ms - attempt.since_ms)
    lost_ms = min(ran_ms, snapshot.policy.checkpoint_interval_ms) if attempt.terms.checkpoints else ran_ms
    return (
        protection(attempt, snapshot),
        lost_ms * sum(attempt.demand.values()),
        -attempt.since_ms,
        attempt.attempt,
    )


def team_use(snapshot: Snapshot, team: str, *, stopping: bool = True) -> dict[str, int]:
    """The instances that a team holds or that are reserved for its jobs."""
    mine = {job.name for job in snapshot.waiting if job.terms.team == team}
    held = total(a.demand for a in snapshot.allocations if a.terms.team == team and (stopping or not a.stopping))
    return plus(held, total(r.demand for r in snapshot.reservations if r.job in mine))


def own(snapshot: Snapshot, job: str) -> Demand:
    """The reservation of a job."""
    return next((r.demand for r in snapshot.reservations if r.job == job), {})


def same_team(snapshot: Snapshot) -> bool:
    """Whether teams do not matter for the order."""
    return len({job.terms.team for job in snapshot.waiting} | {a.terms.team for a in snapshot.allocations}) <= 1


# ----------------------------------------------------------------------------------------------------- predicates
def capacity_holds(snapshot: Snapshot) -> None:
    """Promise 1: no start takes more than is free, of a pool or of the limit of its team."""
    waiting = {job.name: job for job in snapshot.waiting}
    world = World.of(snapshot)
    for action in schedule(snapshot).actions:
        if isinstance(action, Preempt | ReleaseWarm):
            continue
        world.apply(Plan(actions=(action,), waits=()))
        if isinstance(action, Start):
            after, team = world.snapshot(), waiting[action.job].terms.team
            takes = positive(minus(waiting[action.job].demand, own(snapshot, action.job)))
            left, use = free(after), team_use(after, team)
            if isinstance(action, StartWarm):
                # The start and the warm pool are the same instances, although both are charged.
                lent = [a for a in after.allocations if a.claimed_by]
                left = plus(left, total(a.demand for a in lent))
                use = minus(use, total(a.demand for a in lent if a.terms.team == team))
            assert all(left[pool] >= 0 for pool in takes), "a pool is exceeded"
            limit = snapshot.policy.team(team).limit
            assert all(use[pool] <= limit.get(pool, use[pool]) for pool in takes), "a limit is exceeded"


def all_or_nothing(snapshot: Snapshot) -> None:
    """Promises 2 and 6: a job starts with all it demands or not at all, and once; all others have a reason."""
    plan = schedule(snapshot)
    waiting = {job.name: job for job in snapshot.waiting}
    for action in plan.actions:
        if isinstance(action, Start):
            assert dict(action.demand) == dict(waiting[action.job].demand)
    told = Counter([*of(plan, Start), *(hold.job for hold in plan.waits)])
    assert told == Counter(waiting.keys())
    assert all(hold.reason.message for hold in plan.waits)
    assert all(hold.reason.jobs for hold in plan.waits if hold.reason.code == "WaitsForFreedInstances")


def line_is_in_rank_order(snapshot: Snapshot) -> None:
    """Where teams do not matter, waits are in order of effective priority, then entry, then name."""
    if not same_team(snapshot) or any(team.guaranteed for team in snapshot.policy.teams.values()):
        return
    waiting = {job.name: job for job in snapshot.waiting}
    plan = schedule(snapshot)
    if snapshot.policy.teams and of(plan, Release):
        # A job that loses its reservation falls back among its equals.
        return
    told = [waiting[hold.job] for hold in plan.waits]
    assert told == sorted(told, key=lambda job: plain_rank(job, snapshot))


def blocked_heads_close_their_pools(snapshot: Snapshot) -> None:
    """Promise 3 without backfill: no job starts behind a blocked one, except on instances freed for it."""
    if snapshot.policy.backfill or not same_team(snapshot) or snapshot.policy.teams:
        return
    plan = schedule(snapshot)
    started = set(of(plan, Start))
    sure = {hold.job for hold in plan.waits if hold.reason.code == "WaitsForFreedInstances"}
    closed: set[str] = set()
    for job in sorted(snapshot.waiting, key=lambda job: plain_rank(job, snapshot)):
        if job.name in started:
            assert not closed & set(shortfall(job.demand, own(snapshot, job.name)))
        elif job.name not in sure and can_ever_start(job, snapshot):
            closed |= set(job.demand)


def reserved_starts_are_kept(snapshot: Snapshot) -> None:
    """Promise 3: if all jobs run to their limits, a job starts no later than first reported."""
    if not same_team(snapshot) or snapshot.policy.ageing or any(t.guaranteed for t in snapshot.policy.teams.values()):
        # An aged job, or one of a team with less use, may come to rank before it: that is no lower-ranked job.
        return
    if any(count < 0 for count in free(snapshot).values()):
        # Which jobs wait for a pool that was shrunk below its use is decided again as it empties.
        return
    if snapshot.calendars and any(a.terms.keep_ms or a.warm for a in snapshot.allocations):
        # A start on instances that are released first is later by the release, and may miss its time before a shrink.
        return
    plan = schedule(snapshot)
    told = _told_for_sure(snapshot, plan)
    if any(attempt.terms.keep_ms and attempt.terms.limit_ms is not None for attempt in snapshot.allocations):
        # Instances that are kept warm count as free at the end of their attempt. Until they are released, a job behind
        # the first one waits if the job ahead would need their release in its place.
        told = dict([*told.items()][:1])
    if not told:
        return
    world, last_ms = World.of(snapshot), max(told.values())
    # A requeued victim may outrank the job; that is no lower-ranked job.
    world.unwanted |= set(world.held)
    # A requeued victim may rank before jobs behind its preemptor: that is rank as well.
    world.victims_return = False
    world.apply(plan)
    _end_at_limits(world)
    while pending := {name for name in told if name not in world.started_ms}:
        late = {name: told[name] for name in pending if told[name] <= world.now_ms}
        assert not late, f"not started at {world.now_ms}: {late}"
        _play_on(world, last_ms)
    assert all(world.started_ms[name] <= by_ms for name, by_ms in told.items())


def _told_for_sure(snapshot: Snapshot, plan: Plan) -> dict[str, int]:
    """The starts that no job of higher rank can delay: all jobs ahead in its pools have known starts."""
    waiting = {job.name: job for job in snapshot.waiting}
    # Reservations and earmarks may be taken over by a job of higher rank, which shifts all jobs behind.
    owed = {r.job for r in snapshot.reservations} | {a.freed_for for a in snapshot.allocations}
    if owed & waiting.keys():
        return {}
    told: dict[str, int] = {}
    unsure: set[str] = set()
    for hold in plan.waits:
        job = waiting[hold.job]
        if not can_ever_start(job, snapshot):
            continue
        if hold.start_by_ms is None:
            unsure |= set() if _is_sure(hold) else set(job.demand)
        elif not job.preempts:
            # It may start earlier, on what a preemption for another job frees beyond that job's need.
            unsure |= set(job.demand)
        elif unsure & set(job.demand):
            # It may start later for a job of higher rank, and so may those behind it in its other pools.
            unsure |= set(job.demand)
        else:
            told[job.name] = hold.start_by_ms
    return told


def _ends_ms(attempt: Allocation) -> int:
    return NOW_MS**2 if attempt.terms.limit_ms is None else attempt.since_ms + attempt.terms.limit_ms


def _play_on(world: World, last_ms: int) -> None:
    """Advance to the next moment with a change; jobs at their limits then end."""
    moments = [_ends_ms(attempt) for attempt in world.held.values()]
    moments += [attempt.since_ms + world.policy.min_run_time_ms for attempt in world.held.values()]
    moments += [job.not_before_ms for job in world.waiting.values()]
    moments += [job.terms.entry_time_ms + world.policy.wait_for_checkpoint_ms for job in world.waiting.values()]
    moments += [change.at_ms for calendar in world.calendars.values() for change in calendar.changes]
    world.advance(min([at_ms for at_ms in moments if at_ms > world.now_ms] + [last_ms]))
    _end_at_limits(world)


def _end_at_limits(world: World) -> None:
    for name in [name for name, attempt in world.held.items() if _ends_ms(attempt) <= world.now_ms]:
        world.unwanted.add(name)
        world.end(name)
    world.settle(100)


def keeps_within_later_sizes(job: WaitingJob, snapshot: Snapshot) -> bool:
    """Whether a job that starts now fits each later size beside what may still run then."""
    for pool, count in job.demand.items():
        calendar = snapshot.calendars.get(pool)
        if calendar is None or not calendar.limits(stops_for_size=job.terms.stops_for_size):
            continue
        for change in calendar.changes:
            if job.terms.limit_ms is not None and NOW_MS + job.terms.limit_ms <= change.at_ms:
                continue
            counted = [a for a in snapshot.allocations if calendar.limits(stops_for_size=a.terms.stops_for_size)]
            stays = [a.demand.get(pool, 0) for a in counted if _may_hold_at(a, change.at_ms)]
            if sum(stays) + count > change.size:
                return False
    return True


def _may_hold_at(attempt: Allocation, time_ms: int) -> bool:
    if attempt.stopping and time_ms >= NOW_MS + 120_000:
        return False
    overdue = attempt.terms.limit_ms is not None and _ends_ms(attempt) <= NOW_MS
    return overdue or _ends_ms(attempt) > time_ms


def what_starts_has_ended_before_a_pool_shrinks(snapshot: Snapshot) -> None:
    """Promise 12: if jobs run to their limits, what was started never exceeds a later size. Else it is stopped."""
    world = World.of(snapshot)
    started = world.started_ms
    times = [NOW_MS, *(change.at_ms for calendar in snapshot.calendars.values() for change in calendar.changes)]
    for time_ms in sorted({time_ms + step_ms for time_ms in times for step_ms in (0, 20_000)}):
        moments = sorted({_ends_ms(a) for a in world.held.values() if world.now_ms < _ends_ms(a) < time_ms})
        for moment_ms in [*moments, time_ms]:
            world.advance(moment_ms)
            # A limit that had passed before is disproved.
            for name in [name for name, each in world.held.items() if NOW_MS < _ends_ms(each) <= moment_ms]:
                world.unwanted.add(name)
                world.end(name)
            for pool, calendar in snapshot.calendars.items():
                # Warm pools that exceed the size are released without a decision.
                attempts = {
                    name: a
                    for name, a in world.held.items()
                    if not a.warm and calendar.limits(stops_for_size=a.terms.stops_for_size)
                }
                news = sum(a.demand.get(pool, 0) for name, a in attempts.items() if name in started)
                used = sum(a.demand.get(pool, 0) for a in attempts.values())
                assert not news or used <= world.pools[pool], f"{used} {pool} at {moment_ms}, of it new: {news}"
            world.settle(100)
            for pool, calendar in snapshot.calendars.items():
                ending = [a for a in world.held.values() if a.ends_as_soon(world.now_ms)]
                used = sum(a.demand.get(pool, 0) for a in world.held.values() if a not in ending)
                assert not calendar.stops or used <= world.pools[pool], f"{used} {pool} are not stopped"


def first_in_line_is_not_kept_from_what_is_free(snapshot: Snapshot) -> None:
    """Promise 4: where there is nothing to do, the first that could ever fit does not fit now."""
    plan = schedule(snapshot)
    if plan.actions:
        return
    waiting = {job.name: job for job in snapshot.waiting}
    for job in (waiting[hold.job] for hold in plan.waits):
        if not can_ever_start(job, snapshot):
            continue
        left, team = free(snapshot), snapshot.policy.team(job.terms.team)
        use = team_use(snapshot, job.terms.team)
        room = {pool: min(n, team.limit.get(pool, NOW_MS) - use.get(pool, 0)) for pool, n in left.items()}
        may_start = job.not_before_ms <= snapshot.now_ms and not may_get_instances_of_another_team(job, snapshot)
        if may_start and keeps_within_later_sizes(job, snapshot):
            assert shortfall(minus(job.demand, own(snapshot, job.name)), room), f"{job.name} could start"
        break


def nobody_is_held_who_delays_nobody(snapshot: Snapshot) -> None:
    """Promise 4: a job that fits and has ended before any reserved start that it could touch is not held."""
    policy = snapshot.policy
    if not policy.backfill or snapshot.reservations or any(a.stopping for a in snapshot.allocations):
        return
    plan = schedule(snapshot)
    if of(plan, Preempt) or any(team.limit for team in policy.teams.values()):
        return
    world = World.of(snapshot)
    world.apply(plan)
    left = free(world.snapshot())
    waiting = {job.name: job for job in snapshot.waiting}
    heads: list[Wait] = []
    per_pools: Counter[tuple[str, ...]] = Counter()
    for hold in plan.waits:
        job = waiting[hold.job]
        if not can_ever_start(job, snapshot):
            continue
        touched = [head for head in heads if set(waiting[head.job].demand) & set(job.demand)]
        is_free = job.terms.limit_ms is not None and job.not_before_ms <= NOW_MS and not shortfall(job.demand, left)
        if job.terms.limit_ms is not None and is_free and not may_get_instances_of_another_team(job, snapshot):
            until_ms = NOW_MS + job.terms.limit_ms
            delays = any(head.start_by_ms is None or head.start_by_ms < until_ms for head in touched)
            assert delays or not keeps_within_later_sizes(job, world.snapshot()), f"{job.name} is held for nothing"
        pools = tuple(sorted(job.demand))
        per_pools[pools] += 1
        if per_pools[pools] <= policy.reserved_heads:
            heads.append(hold)


def may_get_instances_of_another_team(job: WaitingJob, snapshot: Snapshot) -> bool:
    """Whether SageMaker may launch a job in a warm pool of another team, so that it waits until that is gone."""
    return not snapshot.policy.warm_across_teams and any(
        each.warm
        and each.warm == job.terms.warm_key
        and each.demand == job.demand
        and each.terms.team != job.terms.team
        for each in snapshot.allocations
    )


def starts_that_can_be_known_are_known(snapshot: Snapshot) -> None:
    """Promise 3: the first blocked jobs have reserved starts if the limits of all running jobs prove them."""
    plan = schedule(snapshot)
    if not snapshot.policy.backfill or plan.actions or any(a.stopping for a in snapshot.allocations):
        return
    # When a job that has a warm pool released will start is not known, so nor is when it ends.
    if any(a.terms.limit_ms is None or a.warm for a in snapshot.allocations) or snapshot.reservations:
        return
    waiting = {job.name: job for job in snapshot.waiting}
    blocked: Counter[frozenset[str]] = Counter()
    unsure: set[str] = set()
    for hold in plan.waits:
        job = waiting[hold.job]
        if not can_ever_start(job, snapshot):
            continue
        if snapshot.policy.team(job.terms.team).limit:
            return
        pools = frozenset(job.demand)
        if blocked[pools] < snapshot.policy.reserved_heads and not pools & unsure:
            assert hold.start_by_ms is not None, f"{hold.job} has no start"
        blocked[pools] += 1
        if any(a.terms.priority < job.terms.priority for a in snapshot.allocations):
            # If it has to preempt, its limit does not prove when it ends.
            unsure |= pools


def only_who_may_be_preempted_is(snapshot: Snapshot) -> None:
    """Promise 5: strictly lower priority, or borrowed from the guarantee of the team that reclaims it."""
    plan = schedule(snapshot)
    victims = {a.attempt: a for a in snapshot.allocations}
    waiting = {job.name: job for job in snapshot.waiting}
    stopped = [action for action in plan.actions if isinstance(action, Preempt)]
    # In any order of events, a team has at the end at least what it had at each moment.
    gets = [waiting[name] for name in {*of(plan, Start), *(h.job for h in plan.waits if _is_sure(h))}]
    for action in stopped:
        victim, job = victims[action.attempt], waiting[action.for_job]
        assert not victim.stopping
        assert job.preempts, f"{job.name} preempts, although its last attempt got no instances"
        lower = protection(victim, snapshot) < clamped(job.terms.priority, job.terms.team, snapshot)
        if victim.terms.team == job.terms.team:
            assert lower, f"{victim.job} is not of lower priority"
            continue
        if not lower:
            entitled = snapshot.policy.team(job.terms.team).guaranteed
            mine = [a for a in snapshot.allocations if a.terms.team == job.terms.team and not a.stopping]
            gone = {other.attempt for other in stopped}
            holds = total(a.demand for a in mine if a.attempt not in gone)
            assert all(holds.get(pool, 0) + count <= entitled.get(pool, 0) for pool, count in job.demand.items()), (
                f"{job.name} reclaims more than is guaranteed"
            )
            assert any(entitled.get(pool, 0) for pool in victim.demand)
        if any(waiting[other.for_job].terms.team == victim.terms.team for other in stopped):
            continue
        stays = team_use(snapshot, victim.terms.team, stopping=False)
        stays = minus(
            stays,
            total(victims[o.attempt].demand for o in stopped if victims[o.attempt].terms.team == victim.terms.team),
        )
        stays = plus(stays, total(other.demand for other in gets if other.terms.team == victim.terms.team))
        kept = snapshot.policy.team(victim.terms.team).guaranteed
        assert all(stays.get(pool, 0) >= kept.get(pool, 0) for pool in victim.demand), f"{victim.job} was guaranteed"


def _clears_a_gap(plan: Plan, job: str, snapshot: Snapshot) -> bool:
    """Whether only attempts in a gap are stopped for a job, and it starts soon."""
    held = {each.attempt: each for each in snapshot.allocations}
    victims = [each.attempt for each in plan.actions if isinstance(each, Preempt) and each.for_job == job]
    start_ms = next((each.start_by_ms for each in plan.waits if each.job == job), None)
    in_gap = bool(victims) and all(held[each].opportunistic for each in victims)
    return in_gap and start_ms is not None and start_ms <= snapshot.now_ms + 180_000


def _is_sure(hold: Wait) -> bool:
    return hold.reason.code == "WaitsForFreedInstances"


def protected_attempts_run_on(snapshot: Snapshot) -> None:
    """Promise 5: an attempt that is not preemptible, has just started, or was preempted often enough, is no victim."""
    stopped = set(of(schedule(snapshot), Preempt))
    assert not [a.job for a in snapshot.allocations if a.job in stopped and is_protected(a, snapshot)]


def no_victim_is_needless(snapshot: Snapshot) -> None:
    """Promise 5: without any one of its victims, a preemptor would not get all that it lacks."""
    victims = [action for action in schedule(snapshot).actions if isinstance(action, Preempt | ReleaseWarm)]
    demand_of = {a.attempt: a.demand for a in snapshot.allocations}
    if any(size < 0 for size in free(snapshot).values()) or any(t.limit for t in snapshot.policy.teams.values()):
        # Instances freed for a pool shrunk below its use, or for a limit, are not earmarked.
        return
    for name in {action.for_job for action in victims}:
        # A warm pool of another team that must be gone first frees nothing for the job.
        mine = [action for action in victims if action.for_job == name and action.freed]
        earmarked = total(action.freed for action in mine)
        for action in mine:
            others = total(demand_of[other.attempt] for other in mine if other is not action)
            assert shortfall(earmarked, others), f"{action.job} stops for nothing"


def no_cheaper_single_victim_would_have_done(snapshot: Snapshot) -> None:
    """Promise 5: the documented order. No attempt before the most expensive victim would have sufficed alone."""
    victims = [action for action in schedule(snapshot).actions if isinstance(action, Preempt)]
    if len({action.for_job for action in victims}) != 1 or snapshot.policy.teams:
        return
    if any(size < 0 for size in free(snapshot).values()):
        return
    need = total(action.freed for action in victims)
    by_name = {a.attempt: a for a in snapshot.allocations}
    dearest = max(cost(by_name[action.attempt], snapshot) for action in victims)
    assert not [
        a.job
        for a in snapshot.allocations
        if not a.stopping
        and not is_protected(a, snapshot)
        and cost(a, snapshot) < dearest
        and not shortfall(need, a.demand)
    ]


def preemptors_start_when_all_has_stopped(snapshot: Snapshot) -> None:
    """Promise 5: the instances freed for a job suffice for it (useful), and stay reserved for it (held).

    A job that its team's guarantee covers once the attempts have stopped may take it over (decision 33).
    """
    plan = schedule(snapshot)
    preemptors = {action.for_job for action in plan.actions if isinstance(action, Preempt | ReleaseWarm)}
    if not preemptors:
        return
    after = schedule(all_stopped(snapshot, plan))
    waiting = {job.name: job for job in snapshot.waiting}
    preemptors = {job for job in preemptors if not _clears_a_gap(plan, job, snapshot)}
    covered = {
        action.job
        for action in after.actions
        if isinstance(action, Release) and action.reason.jobs
        for taker in [waiting[action.reason.jobs[0]]]
        if not shortfall(taker.demand, snapshot.policy.team(taker.terms.team).guaranteed)
    }
    assert preemptors - covered <= set(of(after, Start))


def what_is_freed_is_earmarked_whole(snapshot: Snapshot) -> None:
    """Promise 5: what a preemptor holds, and is being freed for it, and was free, is all that it demands."""
    plan = schedule(snapshot)
    stopped = [action for action in plan.actions if isinstance(action, Preempt)]
    if any(a.stopping for a in snapshot.allocations) or any(size < 0 for size in free(snapshot).values()):
        return
    waiting = {job.name: job for job in snapshot.waiting}
    world = World.of(snapshot)
    world.apply(plan)
    left = free(world.snapshot())
    for name in {action.for_job for action in stopped}:
        if _clears_a_gap(plan, name, snapshot):
            continue
        comes = plus(own(snapshot, name), total(action.freed for action in stopped if action.for_job == name))
        assert not shortfall(waiting[name].demand, plus(left, comes))


def warm_pools_go_before_attempts(snapshot: Snapshot) -> None:
    """Warm pools: no attempt is preempted for what an idle warm pool alone would free."""
    if any(t.limit for t in snapshot.policy.teams.values()) or any(size < 0 for size in free(snapshot).values()):
        return
    plan = schedule(snapshot)
    gone = {a.attempt for a in plan.actions if isinstance(a, Preempt | ReleaseWarm)}
    gone |= {a.warm for a in plan.actions if isinstance(a, StartWarm)}
    idle = [a for a in snapshot.allocations if a.warm and not a.stopping and a.attempt not in gone]
    for action in plan.actions:
        if isinstance(action, Preempt) and action.freed:
            assert not [a.attempt for a in idle if not shortfall(action.freed, a.demand)], "a warm pool would do"


def only_warm_pools_are_released(snapshot: Snapshot) -> None:
    """Warm pools: they are released and not preempted, and only while no attempt claims them."""
    held = {a.attempt: a for a in snapshot.allocations}
    for action in schedule(snapshot).actions:
        if isinstance(action, Preempt | ReleaseWarm):
            assert bool(held[action.attempt].warm) is isinstance(action, ReleaseWarm)
            assert not held[action.attempt].stopping


def matching_jobs_start_in_warm_pools(snapshot: Snapshot) -> None:
    """Warm pools: SageMaker would launch a matching job in one, so it starts in one if any is left."""
    plan = schedule(snapshot)
    waiting = {job.name: job for job in snapshot.waiting}
    gone = {a.attempt for a in plan.actions if isinstance(a, Preempt | ReleaseWarm)}
    gone |= {a.warm for a in plan.actions if isinstance(a, StartWarm)}
    for action in plan.actions:
        if isinstance(action, Start) and not isinstance(action, StartWarm):
            left = [a for a in _matches(waiting[action.job], snapshot) if not a.stopping and a.attempt not in gone]
            assert not [
                a.attempt
                for a in left
                if (snapshot.policy.warm_across_teams or a.terms.team == waiting[action.job].terms.team)
                and _ends_ms(a) > NOW_MS
            ]


def instances_are_not_shared_across_teams(snapshot: Snapshot) -> None:
    """Warm pools: unless the policy allows it, no job starts while SageMaker may launch it in that of another team."""
    if snapshot.policy.warm_across_teams:
        return
    waiting = {job.name: job for job in snapshot.waiting}
    for action in schedule(snapshot).actions:
        if isinstance(action, Start):
            job = chosen(waiting[action.job], action.demand)
            assert all(pool.terms.team == job.terms.team for pool in _matches(job, snapshot))


def _matches(job: WaitingJob, snapshot: Snapshot) -> list[Allocation]:
    return [a for a in snapshot.allocations if a.warm and a.warm == job.terms.warm_key and a.demand == job.demand]


def leftovers_are_released(snapshot: Snapshot) -> None:
    """Promise 5: the reservation of a job that has left is released."""
    waiting = {job.name for job in snapshot.waiting}
    assert {r.job for r in snapshot.reservations if r.job not in waiting} <= set(of(schedule(snapshot), Release))


def guarantees_are_given(snapshot: Snapshot) -> None:
    """Guarantees: the first job of a team within it waits for no single borrowed and preemptible attempt."""
    plan = schedule(snapshot)
    policy = snapshot.policy
    if plan.actions or not policy.preemption or any(a.stopping for a in snapshot.allocations) or snapshot.reservations:
        return
    waiting = {job.name: job for job in snapshot.waiting}
    if snapshot.calendars:
        # A job may have to wait for another size.
        return
    first = next((waiting[h.job] for h in plan.waits if can_ever_start(waiting[h.job], snapshot)), None)
    left = free(snapshot)
    if first is None or first.not_before_ms > snapshot.now_ms or any(size < 0 for size in left.values()):
        return
    entitled, use = policy.team(first.terms.team), team_use(snapshot, first.terms.team)
    wants = plus(use, first.demand)
    if any(wants[pool] > min(entitled.guaranteed.get(pool, 0), entitled.limit.get(pool, NOW_MS)) for pool in wants):
        return
    for attempt in snapshot.allocations:
        if attempt.terms.team == first.terms.team or is_protected(attempt, snapshot):
            continue
        stays = minus(team_use(snapshot, attempt.terms.team), attempt.demand)
        kept = policy.team(attempt.terms.team).guaranteed
        borrowed = all(stays[pool] >= kept.get(pool, 0) for pool in attempt.demand)
        assert not borrowed or shortfall(first.demand, plus(left, attempt.demand)), f"{first.name} waits: {attempt.job}"


def the_order_of_reading_does_not_matter(snapshot: Snapshot) -> None:
    """Promise 9: the same snapshot gives the same plan, in whatever order it was read."""
    random = Random(0)

    def shuffled(parts: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(random.sample(parts, len(parts)))

    first = schedule(snapshot)
    for _ in range(3):
        again = Snapshot(
            now_ms=snapshot.now_ms,
            pools=dict(shuffled(tuple(snapshot.pools.items()))),
            allocations=shuffled(snapshot.allocations),
            reservations=shuffled(snapshot.reservations),
            waiting=shuffled(snapshot.waiting),
            policy=snapshot.policy,
            calendars=dict(shuffled(tuple(snapshot.calendars.items()))),
        )
        assert schedule(again) == first


# ---------------------------------------------------------------------------------------------------------- tests
@given(snapshots())
def test_every_plan_passes_its_own_verification(snapshot: Snapshot) -> None:
    check_plan(snapshot, schedule(snapshot))


@given(snapshots())
def test_no_start_takes_more_than_is_free_of_a_pool_or_of_a_limit(snapshot: Snapshot) -> None:
    capacity_holds(snapshot)


@given(snapshots())
def test_every_waiting_job_starts_whole_or_has_a_reason(snapshot: Snapshot) -> None:
    all_or_nothing(snapshot)


@given(snapshots())
def test_the_same_snapshot_gives_the_same_plan_in_whatever_order_it_was_read(snapshot: Snapshot) -> None:
    the_order_of_reading_does_not_matter(snapshot)


@given(snapshots("one"))
def test_the_queue_is_in_rank_order(snapshot: Snapshot) -> None:
    line_is_in_rank_order(snapshot)


@given(snapshots("none", backfill=False))
def test_without_backfill_no_job_starts_past_a_blocked_one(snapshot: Snapshot) -> None:
    blocked_heads_close_their_pools(snapshot)


@given(snapshots("none", ageing=False, backfill=True).map(nothing_owed))
def test_a_reserved_start_is_kept_whichever_jobs_start_past_it(snapshot: Snapshot) -> None:
    reserved_starts_are_kept(snapshot)


@given(snapshots("one", ageing=False, backfill=True).map(nothing_owed))
def test_a_reserved_start_is_kept_under_the_limit_of_a_team(snapshot: Snapshot) -> None:
    reserved_starts_are_kept(snapshot)


@given(snapshots())
def test_no_instance_stays_free_that_the_first_job_may_use(snapshot: Snapshot) -> None:
    first_in_line_is_not_kept_from_what_is_free(snapshot)


@given(snapshots(backfill=True))
def test_no_job_waits_that_fits_and_delays_no_reserved_start(snapshot: Snapshot) -> None:
    nobody_is_held_who_delays_nobody(snapshot)


@given(snapshots(backfill=True, unlimited=False, calendared=False))
def test_the_first_blocked_job_has_a_reserved_start_if_limits_determine_it(snapshot: Snapshot) -> None:
    starts_that_can_be_known_are_known(snapshot)


@given(snapshots())
def test_only_lower_priority_or_borrowing_attempts_are_preempted(snapshot: Snapshot) -> None:
    only_who_may_be_preempted_is(snapshot)


@given(snapshots())
def test_a_protected_attempt_is_no_victim(snapshot: Snapshot) -> None:
    protected_attempts_run_on(snapshot)


@given(snapshots())
def test_no_victim_is_needless(snapshot: Snapshot) -> None:
    no_victim_is_needless(snapshot)


@given(snapshots("none"))
def test_no_cheaper_single_victim_would_have_done(snapshot: Snapshot) -> None:
    no_cheaper_single_victim_would_have_done(snapshot)


@given(snapshots())
def test_after_everything_has_stopped_the_preemptors_start(snapshot: Snapshot) -> None:
    preemptors_start_when_all_has_stopped(snapshot)


@given(snapshots())
def test_freed_and_free_instances_cover_the_preemptors_demand(snapshot: Snapshot) -> None:
    what_is_freed_is_earmarked_whole(snapshot)


@given(snapshots())
def test_no_attempt_is_preempted_where_a_warm_pool_would_do(snapshot: Snapshot) -> None:
    warm_pools_go_before_attempts(snapshot)


@given(snapshots(full=True).map(beside_a_warm_pool))
def test_no_attempt_is_preempted_beside_an_idle_warm_pool_that_would_do(snapshot: Snapshot) -> None:
    warm_pools_go_before_attempts(snapshot)


@given(snapshots())
def test_warm_pools_are_released_and_attempts_preempted(snapshot: Snapshot) -> None:
    only_warm_pools_are_released(snapshot)


@given(snapshots())
def test_a_matching_job_starts_in_a_warm_pool_if_one_is_left(snapshot: Snapshot) -> None:
    matching_jobs_start_in_warm_pools(snapshot)


@given(snapshots("several"))
def test_no_job_starts_in_the_warm_pool_of_another_team_unless_the_policy_allows_it(snapshot: Snapshot) -> None:
    instances_are_not_shared_across_teams(snapshot)


@given(snapshots())
def test_a_reservation_is_released_with_its_job(snapshot: Snapshot) -> None:
    leftovers_are_released(snapshot)


@given(snapshots())
def test_what_starts_ends_before_a_pool_becomes_too_small(snapshot: Snapshot) -> None:
    what_starts_has_ended_before_a_pool_shrinks(snapshot)


@given(snapshots("several"))
def test_a_team_gets_what_it_is_guaranteed(snapshot: Snapshot) -> None:
    guarantees_are_given(snapshot)


@given(snapshots("several", full=True).map(borrowed_from_red))
def test_a_team_gets_back_what_others_have_borrowed(snapshot: Snapshot) -> None:
    guarantees_are_given(snapshot)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 4))
def test_the_victims_of_one_preemption_are_a_smallest_set_when_all_are_alike(
    counts: list[int], need: int, priority: int
) -> None:
    """With equal priorities and no work lost, dropping victims leaves a set without unneeded ones."""
    pool = POOLS[0]
    allocations = tuple(
        allocation(job=f"r{i}", attempt=f"r{i}", demand={pool: count}, priority=0, since_ms=NOW_MS)
        for i, count in enumerate(counts)
    )
    job = waiting_job(name="a", demand={pool: need}, priority=priority, entry_time_ms=0)
    snapshot = Snapshot(now_ms=NOW_MS, pools={pool: sum(counts)}, allocations=allocations, waiting=(job,))
    victims = of(schedule(snapshot), Preempt)
    taken = [counts[int(name[1:])] for name in victims]
    if sum(counts) < need:
        assert not victims
        return
    assert sum(taken) >= need
    assert all(sum(rest) < need for rest in combinations(taken, len(taken) - 1))
