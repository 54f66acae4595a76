"""Every total order of the scheduler, in one place. Each ends on a unique name, so none is ever ambiguous."""

from __future__ import annotations

from headway.model import Allocation, Demand, WaitingJob
from headway.policy import SHORT_WEIGHT, Order, Policy
from headway.scheduling.equals.attained import attained_handicap_ms, max_handicap_on_entry_ms
from headway.scheduling.equals.current import current_turn_ms
from headway.scheduling.equals.limits import compared_limit_ms
from headway.scheduling.equals.victims import victim_class
from headway.scheduling.lost_work.lost import work_lost_ms
from headway.scheduling.lost_work.moment import counted_loss_ms

MAX_PRIORITY = 9999
"""The highest priority a job may have; the lowest is 0."""

OPPORTUNISTIC_PRIORITY = -1
"""The priority of an opportunistic attempt, which protects it from no job."""

UNUSED_PRIORITY = -2
"""The priority of instances that nobody uses, of a warm pool or of an attempt without them: every job outranks it."""


def rank(job: WaitingJob) -> tuple[int, int, str]:
    """The stored order of a queue: higher priority, then earlier turn, then name."""
    return (-job.terms.priority, job.terms.turn_ms, job.name)


def rank_key(priority: int, turn_ms: int, name: str) -> str:
    """:func:`rank` as text that sorts alike, for a sorted index. Turns fit until the year 2286.

    Args:
        priority: the effective priority.
        name: the name of the job.
    """
    return f"{priority_prefix(priority)}{turn_ms:013d}#{name}"


def priority_prefix(priority: int) -> str:
    """What :func:`rank_key` begins with for all jobs of one priority, and for no others."""
    return f"{MAX_PRIORITY - priority:04d}#"


def priority_in(key: str) -> int:
    """The priority in what :func:`rank_key` gave."""
    return MAX_PRIORITY - int(key.partition("#")[0])


def handicap_ms(limit_ms: int | None, demand: Demand, policy: Policy, *, attained_ms: int = 0) -> int:
    """How much later than its entry a job's turn comes: what the order compares beside entry times.

    So a short job passes a long one that entered earlier, but only within a bound: no job is passed by jobs that enter
    later than its own handicap, and no job starves.

    Args:
        limit_ms: the time limit of a job, ms; None without one.
        demand: the instances of the job, per pool.
        attained_ms: the service that the job has attained before, in instance-ms.
    """
    if policy.order is Order.SHARED:
        return attained_handicap_ms(attained_ms, max_handicap_on_entry_ms(limit_ms, policy))
    if policy.order is Order.FIFO:
        return 0
    return min(SHORT_WEIGHT * sum(demand.values()), policy.wait_bound) * compared_limit_ms(limit_ms)


def capped_priority(priority: int, team: str, policy: Policy) -> int:
    """The priority that counts without ageing: not above what the team may have.

    Args:
        priority: the requested priority.
        team: the team; empty without one.
    """
    most = policy.team(team).max_priority
    return priority if most is None else min(priority, most)


def effective_priority(job: WaitingJob, now_ms: int, policy: Policy) -> int:
    """The effective priority of a waiting job: its own priority plus the priority gained by aging."""
    terms = job.terms
    return capped_priority(terms.priority, terms.team, policy) + _aged(terms.entry_time_ms, now_ms, policy)


def running_priority(allocation: Allocation, policy: Policy) -> int:
    """The priority that protects an attempt: the given one, and what its job had gained by ageing when it started.

    Args:
        allocation: the attempt.
    """
    if allocation.is_unused:
        return UNUSED_PRIORITY
    if allocation.opportunistic:
        return OPPORTUNISTIC_PRIORITY
    terms = allocation.terms
    given = capped_priority(terms.priority, terms.team, policy)
    return given if policy.ageing is None else given + _aged(terms.entry_time_ms, allocation.since_ms, policy)


def returning_rank(allocation: Allocation, now_ms: int, policy: Policy) -> tuple[int, int, str]:
    """The effective priority (negated), earliest turn and name that the job would have if its attempt were stopped.

    Args:
        allocation: the attempt.
    """
    terms = allocation.terms
    priority = capped_priority(terms.priority, terms.team, policy) + _aged(terms.entry_time_ms, now_ms, policy)
    # A job ahead of an opportunistic attempt stays ahead of it, whatever that has done meanwhile.
    turn_ms = terms.turn_ms if allocation.opportunistic else current_turn_ms(allocation, now_ms)
    return (-priority, turn_ms, allocation.job)


def waiting_rank(job: WaitingJob, now_ms: int, policy: Policy) -> tuple[int, int, str]:
    """The effective priority (negated), turn and name of a waiting job."""
    return (-effective_priority(job, now_ms, policy), job.terms.turn_ms, job.name)


def _aged(entry_time_ms: int, until_ms: int, policy: Policy) -> int:
    if policy.ageing is None:
        return 0
    return max(0, min(policy.ageing.cap, (until_ms - entry_time_ms) // policy.ageing.interval_ms))


def victim_order(allocation: Allocation, now_ms: int, policy: Policy) -> tuple[int, int, int, int, str]:
    """The order of preemption: lower priority, then less work lost, then later start, then name.

    In an order in which equals preempt each other, those come before less work lost of which more is left, in powers
    of two, or whose level is higher.

    Args:
        allocation: the attempt.
    """
    return (
        *_victim_rank(allocation, now_ms, policy),
        work_lost_ms(allocation, now_ms, policy),
        -allocation.since_ms,
        allocation.attempt,
    )


def waiting_victim_order(
    allocation: Allocation, now_ms: int, stop_ms: int, policy: Policy
) -> tuple[int, int, int, int, int, str]:
    """The order of preemption where a stop may wait for a checkpoint: the work lost then, then the sooner stop.

    Args:
        allocation: the attempt.
        stop_ms: when the attempt would be stopped, ms.
    """
    return (
        *_victim_rank(allocation, now_ms, policy),
        counted_loss_ms(allocation, stop_ms, policy),
        stop_ms,
        -allocation.since_ms,
        allocation.attempt,
    )


def _victim_rank(allocation: Allocation, now_ms: int, policy: Policy) -> tuple[int, int]:
    """What comes before the work lost."""
    return running_priority(allocation, policy), victim_class(allocation, now_ms, policy)
