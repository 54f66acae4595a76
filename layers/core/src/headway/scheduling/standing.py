"""What a job is compared by with its equals: when it enters, and when an attempt of it ends.

It is stored with the job, and stays as it is while the job waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.model import Allocation, Demand
from headway.policy import Policy
from headway.scheduling.equals.attained import (
    attained_handicap_ms,
    attained_on_entry_ms,
    current_attained_ms,
    max_handicap_on_entry_ms,
)
from headway.scheduling.equals.remaining import after_attempt, left_on_entry_ms
from headway.scheduling.ordering import handicap_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What a job is compared by with its equals. Its members are those of :class:`headway.model.WaitingJob`."""

    handicap_ms: int
    left_ms: int | None = None
    attained_ms: int | None = None
    max_handicap_ms: int = 0


def standing_on_entry(
    limit_ms: int | None, demand: Demand, policy: Policy, *, one_of: bool = False, attained_ms: int = 0
) -> Standing:
    """The standing of a job that enters.

    Args:
        limit_ms: the time limit of the job, ms; None without one.
        demand: its instances, per pool.
        policy: the policy.
        one_of: whether SageMaker takes one of the pools.
        attained_ms: the service that the job has attained before, in instance-ms.
    """
    return Standing(
        handicap_ms=handicap_ms(limit_ms, demand, policy, one_of=one_of, attained_ms=attained_ms),
        left_ms=left_on_entry_ms(limit_ms, policy),
        attained_ms=attained_on_entry_ms(policy, attained_ms),
        max_handicap_ms=max_handicap_on_entry_ms(limit_ms, policy),
    )


def standing_after(attempt: Allocation, until_ms: int, kept_ms: int) -> Standing:
    """The standing of a job after an attempt.

    Args:
        attempt: the attempt.
        until_ms: when it was stopped, or ended, ms.
        kept_ms: the part of its time that need not be repeated, ms.
    """
    handicap, left_ms, attained_ms = attempt.handicap_ms, attempt.left_ms, attempt.attained_ms
    if left_ms is not None:
        left_ms, handicap = after_attempt(left_ms, handicap, kept_ms)
    if attained_ms is not None:
        attained_ms = current_attained_ms(attempt, until_ms)
        handicap = attained_handicap_ms(attained_ms, attempt.max_handicap_ms)
    return Standing(
        handicap_ms=handicap, left_ms=left_ms, attained_ms=attained_ms, max_handicap_ms=attempt.max_handicap_ms
    )
