"""When an attempt gives way to a job of its own priority."""

from __future__ import annotations

from headway.model import Allocation, WaitingJob
from headway.policy import Order, Policy
from headway.scheduling.equals.attained import current_attained_ms, level
from headway.scheduling.equals.current import current_handicap_ms, current_turn_ms

TIMES_LESS = 2
"""How many times less has to be left of a job than of an equal that is stopped for it."""


def takes_part(job: WaitingJob | Allocation, policy: Policy) -> bool:
    """Whether a job may preempt equals, or give way to them, as far as the order goes.

    Only if the policy has such an order and the job entered in it.

    Args:
        job: the waiting job, or the attempt of a job.
    """
    if policy.order is Order.SHARED:
        return job.terms.standing.attained_ms is not None
    return policy.order is Order.SHORTEST_REMAINING and job.terms.standing.left_ms is not None


def may_give_way(allocation: Allocation, at_ms: int, policy: Policy) -> bool:
    """Whether an attempt may be stopped for any job of equal priority: its job takes part and writes checkpoints.

    An attempt that may not be preempted for its whole time does not, and no level is below the lowest one.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    capped_until_ms = allocation.capped_until_ms(policy.max_preemptions)
    return (
        takes_part(allocation, policy)
        and allocation.terms.checkpoints
        and allocation.terms.preemptible
        and capped_until_ms is not None
        and capped_until_ms <= at_ms
        and (policy.order is not Order.SHARED or level(current_attained_ms(allocation, at_ms)) > 0)
    )


def measure(allocation: Allocation, at_ms: int, policy: Policy) -> int:
    """What attempts that take part are compared by: their handicaps, or in the order ``shared`` their levels.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    if policy.order is Order.SHARED:
        return level(current_attained_ms(allocation, at_ms))
    return current_handicap_ms(allocation, at_ms)


def least_measure(job: WaitingJob, policy: Policy) -> int:
    """The least measure of equals that give way to a waiting job.

    That is twice its handicap, or in the order ``shared`` the level above its own.

    Args:
        job: the job, which takes part.
    """
    if policy.order is Order.SHARED:
        return level(job.terms.standing.attained_ms or 0) + 1
    return TIMES_LESS * job.terms.standing.handicap_ms


def victim_class(allocation: Allocation, at_ms: int, policy: Policy) -> int:
    """Among attempts of one priority, those with less are stopped first: by measure, in powers of two, or by level.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    if not takes_part(allocation, policy):
        return 0
    number = measure(allocation, at_ms, policy)
    return -number if policy.order is Order.SHARED else -number.bit_length()


def gives_way(allocation: Allocation, job: WaitingJob, at_ms: int, policy: Policy) -> bool:
    """Whether an attempt may be stopped for a waiting job of equal priority.

    At most half as much is left of the waiting job, or in the order ``shared`` its level is lower; and the attempt's
    own job would not rank before that once it waits again. So two jobs never stop each other back and forth. By what
    is left: a stop replaces a job with one of at most half its handicap, and a handicap never rises, but for the few
    times at which more is expected of a run time. By service: a stop replaces a job with one of a lower level, no level
    ever falls, and there are few. A job that has waited for its
    bound is not stopped for equals that enter later, as their turns come after its own.

    Jobs of different teams take turns by the use of their teams instead, where there are teams.

    Args:
        allocation: the attempt.
        job: the waiting job.
        at_ms: when the attempt would be stopped, ms.
    """
    if not (takes_part(job, policy) and may_give_way(allocation, at_ms, policy)):
        return False
    if policy.teams and allocation.terms.team != job.terms.team:
        return False
    if current_turn_ms(allocation, at_ms) <= job.terms.turn_ms:
        return False
    return measure(allocation, at_ms, policy) >= least_measure(job, policy)
