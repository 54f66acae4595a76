"""The handicap and the turn that the job of a running attempt would have, if the attempt was stopped."""

from __future__ import annotations

from headway.model import Allocation
from headway.scheduling.equals.attained import attained_handicap_ms, current_attained_ms
from headway.scheduling.equals.expected import extended
from headway.scheduling.equals.remaining import after_attempt


def current_handicap_ms(allocation: Allocation, at_ms: int) -> int:
    """The least handicap that the job of an attempt would have if the attempt was stopped, ms.

    Where its order compares what is left of limits, that is if its checkpoint was written at this moment, and becomes
    less while the attempt runs; it rises only when more is expected of the run time than before. Where its order
    compares service, it becomes more.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    standing = allocation.terms.standing
    if standing.left_ms is not None:
        ran_ms = max(0, at_ms - allocation.since_ms)
        left_ms, handicap_ms = standing.left_ms, standing.handicap_ms
        if standing.expected_ms is not None:
            longer_ms, _ = extended(standing.expected_ms, standing.extension_ms, left_ms, ran_ms)
            left_ms, handicap_ms = longer_ms, handicap_ms * longer_ms // standing.expected_ms
        _, handicap_ms = after_attempt(left_ms, handicap_ms, ran_ms)
        return handicap_ms
    if standing.attained_ms is not None:
        return attained_handicap_ms(current_attained_ms(allocation, at_ms), standing.max_handicap_ms)
    return standing.handicap_ms


def current_turn_ms(allocation: Allocation, at_ms: int) -> int:
    """The earliest turn that the job of an attempt would have if the attempt was stopped, ms.

    Args:
        allocation: the attempt.
        at_ms: when it would be stopped, ms.
    """
    return allocation.terms.entry_time_ms + current_handicap_ms(allocation, at_ms)
