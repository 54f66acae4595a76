"""Where jobs behind those that a decision saw could still start."""

from __future__ import annotations

from headway.model import Snapshot
from headway.plan import Plan, Release, Start
from headway.scheduling.alternatives import pools_of
from headway.vectors import plus, total


def passable_pools(snapshot: Snapshot, plan: Plan) -> frozenset[str]:
    """Pools in which a job waits although instances are free: a job further back may fit.

    Args:
        snapshot: what the plan was made from.
    """
    started = {action.job: action.demand for action in plan.actions if isinstance(action, Start)}
    released = started.keys() | {action.job for action in plan.actions if isinstance(action, Release)}
    taken = plus(
        # A job further back may start in a warm pool.
        total((*(each.demand for each in snapshot.allocations if not each.warm), *started.values())),
        total(each.demand for each in snapshot.reservations if each.job not in released),
    )
    waited_for = {pool for job in snapshot.waiting if job.name not in started for pool in pools_of(job)}
    return frozenset(pool for pool in waited_for if snapshot.pools.get(pool, 0) > taken.get(pool, 0))
