"""What is expected of the run times of jobs, where the policy lets predictions count in place of limits.

What is expected is stored with a job when it enters, and again when an attempt of it ends, so a stored order does not
change with time. A job that holds its instances for longer than is expected has its expectation extended: by as much
as was expected at first, then by twice as much, and so on, up to its limit. So its handicap falls while it runs, and
rises when the expectation is extended: :data:`MAX_EXTENSIONS` times at most.
"""

from __future__ import annotations

from collections.abc import Iterator

from headway.model import Allocation
from headway.policy import Policy
from headway.scheduling.equals.limits import LONGEST_LIMIT_MS, compared_limit_ms

LEAST_EXPECTED_MS = 60_000
"""Shorter run times count as this, so that few extensions reach the limit."""

MAX_EXTENSIONS = (LONGEST_LIMIT_MS // LEAST_EXPECTED_MS).bit_length()
"""How often the expectation of a job is extended at most."""


def expected_on_entry_ms(predicted_ms: int | None, limit_ms: int | None, policy: Policy) -> int | None:
    """The run time by which a job that enters is compared, ms; None if that is its limit.

    Args:
        predicted_ms: the predicted run time, ms; None if none is predicted.
        limit_ms: the time limit of the job, ms; None without one.
    """
    if predicted_ms is None or not policy.by_predictions:
        return None
    expected_ms = max(LEAST_EXPECTED_MS, predicted_ms)
    return expected_ms if expected_ms < compared_limit_ms(limit_ms) else None


def extended(expected_ms: int, extension_ms: int, left_ms: int, held_ms: int) -> tuple[int, int]:
    """The expectation of a job whose attempt has held its instances for a time, and its next extension, ms.

    It is longer than that time, unless it is all that is left of the limit. As time is counted for which instances were
    held, and not what was trained, a job has its expectation extended no later than a decision took it to be.

    Args:
        expected_ms: what was expected of the attempt when it started.
        extension_ms: by how much that is extended first.
        left_ms: what was left of the limit then.
        held_ms: how long it has held its instances.
    """
    while expected_ms <= held_ms and expected_ms < left_ms:
        expected_ms += extension_ms
        extension_ms *= 2
    return min(expected_ms, left_ms), extension_ms


def extensions_ms(allocation: Allocation) -> Iterator[int]:
    """The times at which the expectation of an attempt is extended if it runs on, ms."""
    standing = allocation.terms.standing
    if standing.expected_ms is None or standing.left_ms is None:
        return
    expected_ms, extension_ms = standing.expected_ms, standing.extension_ms
    while expected_ms < standing.left_ms:
        yield allocation.since_ms + expected_ms
        expected_ms, extension_ms = extended(expected_ms, extension_ms, standing.left_ms, expected_ms)
