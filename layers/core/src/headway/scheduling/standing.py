"""What a job is compared by with its equals: when it enters, and when an attempt of it ends.

It is stored with the job, and stays as it is while the job waits.
"""

from __future__ import annotations

from headway.job_terms import Standing
from headway.model import Allocation, Demand
from headway.policy import Policy
from headway.scheduling.equals.attained import (
    attained_handicap_ms,
    attained_on_entry_ms,
    current_attained_ms,
    max_handicap_on_entry_ms,
)
from headway.scheduling.equals.expected import expected_on_entry_ms, extended
from headway.scheduling.equals.remaining import after_attempt, left_on_entry_ms
from headway.scheduling.ordering import handicap_ms


def standing_on_entry(
    limit_ms: int | None,
    demand: Demand,
    policy: Policy,
    *,
    attained_ms: int = 0,
    predicted_ms: int | None = None,
) -> Standing:
    """The standing of a job that enters.

    Args:
        limit_ms: the time limit of the job, ms; None without one.
        demand: its instances, per pool.
        attained_ms: the service that the job has attained before, in instance-ms.
        predicted_ms: its predicted run time, ms; None if none is predicted.
    """
    expected_ms = expected_on_entry_ms(predicted_ms, limit_ms, policy)
    counts_ms = limit_ms if expected_ms is None else expected_ms
    left_ms = left_on_entry_ms(limit_ms, policy)
    is_extended = expected_ms is not None and left_ms is not None
    return Standing(
        handicap_ms=handicap_ms(counts_ms, demand, policy, attained_ms=attained_ms),
        left_ms=left_ms,
        expected_ms=expected_ms if is_extended else None,
        extension_ms=expected_ms if is_extended and expected_ms is not None else 0,
        attained_ms=attained_on_entry_ms(policy, attained_ms),
        max_handicap_ms=max_handicap_on_entry_ms(limit_ms, policy),
    )


def standing_after(attempt: Allocation, until_ms: int, kept_ms: int) -> Standing:
    """The standing of a job after an attempt.

    Args:
        until_ms: when it was stopped, or ended, ms.
        kept_ms: the part of its time that need not be repeated, ms.
    """
    before = attempt.terms.standing
    handicap, left_ms, attained_ms = before.handicap_ms, before.left_ms, before.attained_ms
    expected_ms, extension_ms = before.expected_ms, before.extension_ms
    if left_ms is not None and expected_ms is not None:
        held_ms = max(0, until_ms - attempt.since_ms)
        longer_ms, extension_ms = extended(expected_ms, extension_ms, left_ms, held_ms)
        expected_ms, handicap = after_attempt(longer_ms, handicap * longer_ms // expected_ms, kept_ms)
        left_ms, _ = after_attempt(left_ms, 0, kept_ms)
    elif left_ms is not None:
        left_ms, handicap = after_attempt(left_ms, handicap, kept_ms)
    if attained_ms is not None:
        attained_ms = current_attained_ms(attempt, until_ms)
        handicap = attained_handicap_ms(attained_ms, before.max_handicap_ms)
    if attempt.opportunistic:
        # What it did in a gap brings it before no job that was ahead of it.
        handicap = max(handicap, before.handicap_ms)
    return Standing(
        handicap_ms=handicap,
        left_ms=left_ms,
        expected_ms=expected_ms,
        extension_ms=extension_ms,
        attained_ms=attained_ms,
        max_handicap_ms=before.max_handicap_ms,
    )
