"""How much work is lost when an attempt is stopped."""

from __future__ import annotations

from headway.model import Allocation
from headway.policy import Policy
from headway.scheduling.lost_work.checkpoints import interval_ms, last_seen_ms, saved_until_ms


def work_lost_ms(allocation: Allocation, at_ms: int, policy: Policy) -> int:
    """Instance-milliseconds lost by stopping this attempt: the work since its last checkpoint.

    Where no interval is known, a job that writes checkpoints loses the time since the last one that was seen, but at
    most what the policy says, and a job that writes none loses all that it ran. A warm pool loses what is left of its
    time, and an attempt that lacks its instances nothing.

    Args:
        allocation: the attempt.
        at_ms: when it is stopped, ms.
    """
    instances = sum(allocation.demand.values())
    if allocation.lacks_instances:
        return 0
    every_ms = interval_ms(allocation, policy)
    if every_ms is not None:
        return max(0, at_ms - saved_until_ms(allocation, every_ms, at_ms)) * instances
    ran_ms = max(0, at_ms - allocation.since_ms)
    if allocation.warm:
        ran_ms = max(0, (allocation.terms.limit_ms or 0) - ran_ms)
    elif allocation.terms.checkpoints:
        seen_ms = last_seen_ms(allocation)
        since_ms = ran_ms if seen_ms is None else max(0, at_ms - seen_ms)
        ran_ms = min(ran_ms, since_ms, policy.checkpoint_interval_ms)
    return ran_ms * instances
