"""What is left of the limits of jobs, by which the order ``shortest-remaining`` compares them.

What is left is stored with a job when it enters, and again when an attempt of it ends: as time, and as the handicap
that follows from it. Between these it stays, so a stored order does not change with time. Only that of a running
attempt becomes less while it runs.
"""

from __future__ import annotations

from headway.model import Allocation
from headway.policy import Order, Policy

LONGEST_LIMIT_MS = 28 * 86_400_000
"""The limit of a job without one, where limits are compared: no training job may run for longer (API reference,
StoppingCondition)."""


def compared_limit_ms(limit_ms: int | None) -> int:
    """The limit of a job where limits are compared, ms."""
    return LONGEST_LIMIT_MS if limit_ms is None else min(limit_ms, LONGEST_LIMIT_MS)


def left_on_entry_ms(limit_ms: int | None, policy: Policy) -> int | None:
    """What is left of the limit of a job that enters, ms: all of it. None if the order does not compare that.

    So a job has it only if it entered in such an order: another order later on makes no waiting job preempt equals, and
    none of them a victim.

    Args:
        limit_ms: the time limit of the job, ms; None without one.
        policy: the policy.
    """
    if policy.order is not Order.SHORTEST_REMAINING:
        return None
    # A longer one is left as it is: attempts may run for longer than that together.
    return LONGEST_LIMIT_MS if limit_ms is None else max(1, limit_ms)


def after_attempt(left_ms: int, handicap_ms: int, kept_ms: int) -> tuple[int, int]:
    """What is left of the limit of a job after an attempt, and the handicap that follows from it, ms.

    At least a millisecond is left: each attempt has the full limit, so a job may run for longer than one limit in all.

    Args:
        left_ms: what was left when the attempt started.
        handicap_ms: the handicap then.
        kept_ms: the part of the attempt's time that need not be repeated.
    """
    left = min(left_ms, max(1, left_ms - kept_ms))
    return left, handicap_ms * left // left_ms


def current_handicap_ms(allocation: Allocation, at_ms: int) -> int:
    """The least handicap that the job of an attempt would have if the attempt was stopped, ms.

    That is if its checkpoint was written at this moment. It becomes less while the attempt runs.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    if allocation.left_ms is None:
        return allocation.handicap_ms
    _, handicap_ms = after_attempt(allocation.left_ms, allocation.handicap_ms, max(0, at_ms - allocation.since_ms))
    return handicap_ms


def current_turn_ms(allocation: Allocation, at_ms: int) -> int:
    """The earliest turn that the job of an attempt would have if the attempt was stopped, ms.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    entry_time_ms = allocation.since_ms if allocation.entry_time_ms is None else allocation.entry_time_ms
    return entry_time_ms + current_handicap_ms(allocation, at_ms)
