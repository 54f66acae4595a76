"""What is left of the limits of jobs, by which the order ``shortest-remaining`` compares them.

What is left is stored with a job when it enters, and again when an attempt of it ends: as time, and as the handicap
that follows from it. Between these it stays, so a stored order does not change with time. Only that of a running
attempt becomes less while it runs.
"""

from __future__ import annotations

from headway.policy import Order, Policy
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS


def left_on_entry_ms(limit_ms: int | None, policy: Policy) -> int | None:
    """What is left of the limit of a job that enters, ms: all of it. None if the order does not compare that.

    So a job has it only if it entered in such an order: another order later on makes no waiting job preempt equals, and
    none of them a victim.

    Args:
        limit_ms: the time limit of the job, ms; None without one.
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
