"""What jobs have had of their pools, by which the order ``shared`` compares them: least attained service.

The service that a job has attained is the time for which its attempts have held their instances, times these,
whatever came of it. It only grows. Levels divide it: a job begins in level 0 and rises as it runs. Service and handicap
are stored with a job when it enters, and again when an attempt of it ends, so a stored order does not change with time.
Only the level of a running attempt rises meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from headway.model import Allocation
from headway.policy import Order, Policy
from headway.scheduling.equals.limits import compared_limit_ms

LEVELS = 8
"""How many levels there are."""

FIRST_LEVEL_MS = 1_800_000
"""The service below which a job is in level 0, in instance-milliseconds."""

TIMES_MORE = 4
"""How many times as far as the level below it each level reaches."""

SERVICE_WEIGHT = 100
"""How many times the least service of its level the turn of a job comes after its entry."""

_FROM_MS = [FIRST_LEVEL_MS * TIMES_MORE**number for number in range(LEVELS - 1)]
"""The service from which on a job is in each level, but for level 0."""


def attained_on_entry_ms(policy: Policy, before_ms: int = 0) -> int | None:
    """The service of a job that enters: what it has attained before. None if the order does not compare that.

    So a job has it only if it entered in such an order: another order later on makes no waiting job preempt equals, and
    none of them a victim.

    Args:
        before_ms: the service before, of a job that has run and asks for more now.
    """
    return before_ms if policy.order is Order.SHARED else None


def max_handicap_on_entry_ms(limit_ms: int | None, policy: Policy) -> int:
    """The largest handicap that a job which enters in this order gets from its service, ms; 0 in other orders.

    Args:
        limit_ms: the time limit of the job, ms; None without one.
    """
    return policy.wait_bound * compared_limit_ms(limit_ms) if policy.order is Order.SHARED else 0


def level(attained_ms: int) -> int:
    """The level of a job with this service."""
    return bisect_right(_FROM_MS, attained_ms)


def attained_handicap_ms(attained_ms: int, max_handicap_ms: int) -> int:
    """The handicap of a job with this service, ms. It depends on the level only, and never falls as service grows.

    Args:
        attained_ms: the service.
        max_handicap_ms: the largest handicap of the job.
    """
    number = level(attained_ms)
    return min(SERVICE_WEIGHT * _FROM_MS[number - 1], max_handicap_ms) if number else 0


def current_attained_ms(allocation: Allocation, at_ms: int) -> int:
    """The service of the job of an attempt, this attempt included; 0 if its order does not compare that.

    Args:
        allocation: the attempt.
        at_ms: when the attempt would be stopped, ms.
    """
    ran_ms = max(0, at_ms - allocation.since_ms)
    return (allocation.terms.standing.attained_ms or 0) + ran_ms * sum(allocation.demand.values())


def rises_ms(allocation: Allocation) -> Iterator[int]:
    """The times at which an attempt rises to further levels if it runs on, ms."""
    attained_ms = allocation.terms.standing.attained_ms
    if attained_ms is None:
        return
    count = sum(allocation.demand.values())
    for from_ms in _FROM_MS[level(attained_ms) :]:
        yield allocation.since_ms - (attained_ms - from_ms) // count
