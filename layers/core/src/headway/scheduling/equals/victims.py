"""When an attempt gives way to a job of its own priority."""

from __future__ import annotations

from headway.model import Allocation, WaitingJob
from headway.policy import Order, Policy
from headway.scheduling.equals.remaining import current_handicap_ms, current_turn_ms

TIMES_LESS = 2
"""How many times less has to be left of a job than of an equal that is stopped for it."""


def takes_part(job: WaitingJob | Allocation, policy: Policy) -> bool:
    """Whether a job may preempt equals, or give way to them, as far as the order goes.

    Only if the policy has such an order and the job entered in it.

    Args:
        job: the waiting job, or the attempt of a job.
        policy: the policy.
    """
    return policy.order is Order.SHORTEST_REMAINING and job.left_ms is not None


def may_give_way(allocation: Allocation, policy: Policy) -> bool:
    """Whether an attempt may be stopped for any job of equal priority: its job takes part and writes checkpoints.

    An attempt that may not be preempted for its whole time does not.

    Args:
        allocation: the attempt.
        policy: the policy.
    """
    return (
        takes_part(allocation, policy)
        and allocation.checkpoints
        and allocation.preemptible
        and allocation.preemptions < policy.max_preemptions
    )


def gives_way(allocation: Allocation, job: WaitingJob, at_ms: int, policy: Policy) -> bool:
    """Whether an attempt may be stopped for a waiting job of equal priority.

    At most half as much is left of the waiting job, and the attempt's own job would not rank before that once it waits
    again. So two jobs never stop each other back and forth: a stop replaces a job with one of at most half
    its handicap, and a handicap never rises. A job that has waited for its bound is not stopped for equals that enter
    later, as their turns come after its own.

    Jobs of different teams take turns by the use of their teams instead, where there are teams.

    Args:
        allocation: the attempt.
        job: the waiting job.
        at_ms: when the attempt would be stopped, ms.
        policy: the policy.
    """
    if not (takes_part(job, policy) and may_give_way(allocation, policy)):
        return False
    if policy.teams and allocation.team != job.team:
        return False
    if current_turn_ms(allocation, at_ms) <= job.turn_ms:
        return False
    return current_handicap_ms(allocation, at_ms) >= TIMES_LESS * job.handicap_ms
