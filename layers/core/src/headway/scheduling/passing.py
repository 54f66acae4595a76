"""In which pools jobs may pass others, so that a decision has to know those behind the first ones of their queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from headway.model import Snapshot
from headway.plan import Plan, Preempt, Release, Start
from headway.scheduling.alternatives import pools_of
from headway.scheduling.ordering import capped_priority, running_priority
from headway.vectors import plus, total


def passable_pools(snapshot: Snapshot, plan: Plan) -> frozenset[str]:
    """Pools in which a job waits, and a job behind it may get instances.

    Some are free, or held by attempts that a waiting job outranks; or a job has got some although one of higher rank
    waits, so another one of higher rank may not have been read.

    Args:
        snapshot: the first jobs of each queue, or more of them.
        plan: the decision on it.
    """
    waited_for = _waited_for(snapshot, plan)
    found = {*_free(snapshot, plan), *_held_by_lower_ranks(snapshot, plan, waited_for), *_passed(snapshot, plan)}
    return frozenset(found & waited_for.keys())


def _waited_for(snapshot: Snapshot, plan: Plan) -> Mapping[str, int]:
    """The highest priority of a job that waits for each pool."""
    started = {action.job for action in plan.actions if isinstance(action, Start)}
    highest: dict[str, int] = {}
    for job in snapshot.waiting:
        if job.name not in started:
            priority = capped_priority(job.terms.priority, job.terms.team, snapshot.policy)
            highest |= {pool: max(priority, highest.get(pool, 0)) for pool in pools_of(job)}
    return highest


def _free(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    started = {action.job: action.demand for action in plan.actions if isinstance(action, Start)}
    settled = started.keys() | {action.job for action in plan.actions if isinstance(action, Release)}
    taken = plus(
        # A job further back may start in a warm pool.
        total((*(each.demand for each in snapshot.allocations if not each.warm), *started.values())),
        total(each.demand for each in snapshot.reservations if each.job not in settled),
    )
    yield from (pool for pool, size in snapshot.pools.items() if size > taken.get(pool, 0))


def _held_by_lower_ranks(snapshot: Snapshot, plan: Plan, waited_for: Mapping[str, int]) -> Iterator[str]:
    """Pools with attempts that a waiting job outranks, if jobs preempt at all."""
    if not snapshot.policy.preemption:
        return
    stopped = {action.attempt for action in plan.actions if isinstance(action, Preempt)}
    for each in snapshot.allocations:
        if not each.stopping and each.attempt not in stopped:
            priority = running_priority(each, snapshot.policy)
            yield from (pool for pool in each.demand if waited_for.get(pool, 0) > priority)


def _passed(snapshot: Snapshot, plan: Plan) -> Iterator[str]:
    """Pools of which a job gets instances although one of higher rank waits."""
    gets: defaultdict[str, set[str]] = defaultdict(set)
    started: set[str] = set()
    for action in plan.actions:
        if isinstance(action, Start):
            gets[action.job].update(action.demand)
            started.add(action.job)
        elif isinstance(action, Preempt):
            gets[action.for_job].update(action.freed)
    ahead: set[str] = set()
    for job in snapshot.waiting:
        yield from gets[job.name] & ahead
        if job.name not in started:
            ahead.update(pools_of(job))
