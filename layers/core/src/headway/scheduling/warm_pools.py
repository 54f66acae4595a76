"""Which warm pools a job may start in, and which must be gone before it starts."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model import Allocation, WaitingJob
from headway.policy import Policy
from headway.scheduling.allocation_index import AllocationIndex


def is_match(job: WaitingJob, pool: Allocation) -> bool:
    """Whether SageMaker may launch the job in a warm pool: same key, and all of its instances.

    Args:
        pool: the warm pool.
    """
    return pool.warm == job.terms.warm_key and dict(pool.demand) == dict(job.demand)


def may_claim(job: WaitingJob, pool: Allocation, now_ms: int, policy: Policy) -> bool:
    """Whether the job may be started in a warm pool that is neither claimed nor being released.

    Args:
        pool: the warm pool.
    """
    return (
        is_match(job, pool)
        and end_ms(pool) > now_ms
        and (policy.warm_across_teams or pool.terms.team == job.terms.team)
    )


def end_ms(pool: Allocation) -> int:
    """The time until which SageMaker keeps a warm pool, ms."""
    return pool.since_ms + (pool.terms.limit_ms or 0)


def claimable(job: WaitingJob, index: AllocationIndex, now_ms: int, policy: Policy) -> list[Allocation]:
    """The warm pools that a job may be started in, first the one that is kept longest.

    Args:
        index: the attempts and warm pools of the decision.
    """
    if not job.terms.warm_key or not index.warm:
        return []
    found = [pool for pool in index.warm.values() if may_claim(job, pool, now_ms, policy)]
    return sorted(found, key=lambda pool: (-end_ms(pool), pool.attempt))


def foreign(job: WaitingJob, index: AllocationIndex, policy: Policy) -> Iterator[Allocation]:
    """The warm pools of other teams that SageMaker may launch the job in, although the policy does not want that.

    SageMaker chooses the warm pool, so the job starts only after they are gone.

    Args:
        index: the attempts and warm pools of the decision.
    """
    if policy.warm_across_teams or not job.terms.warm_key:
        return
    for pool in (*sorted(index.warm.values(), key=lambda each: each.attempt), *index.stopping):
        if pool.terms.team != job.terms.team and is_match(job, pool):
            yield pool
