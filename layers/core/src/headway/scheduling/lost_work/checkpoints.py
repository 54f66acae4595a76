"""When an attempt writes its checkpoints, as far as the queue knows."""

from __future__ import annotations

from headway.model import Allocation
from headway.policy import Policy

WRITTEN_MS = 60_000
"""How long after it was due a checkpoint counts as written. It has to be written and uploaded, and the times of scripts
are not exact."""


def interval_ms(allocation: Allocation, policy: Policy) -> int | None:
    """The time from one checkpoint of an attempt to the next, ms; None if it is not known, or the job writes none.

    Args:
        allocation: the attempt.
        policy: the policy, which may have an interval for jobs that declare none.
    """
    if not allocation.terms.checkpoints or allocation.is_unused:
        return None
    return allocation.terms.checkpoints_every_ms or policy.checkpoints_every_ms


def last_seen_ms(allocation: Allocation) -> int | None:
    """When the newest checkpoint was written that was seen, ms; None if this attempt has written none that was seen.

    One from before the start of its training is of an earlier attempt: it may resume from it, but nothing that it has
    done itself is saved there.

    Args:
        allocation: the attempt.
    """
    seen_ms = allocation.checkpoint_seen_ms
    if seen_ms is None or not allocation.terms.checkpoints or allocation.is_unused or seen_ms <= _began_ms(allocation):
        return None
    return seen_ms


def saved_until_ms(allocation: Allocation, interval_ms: int, at_ms: int) -> int:
    """Until when the progress of an attempt is saved: its last checkpoint that counts as written, or its start, ms.

    Intervals are counted from the newest checkpoint that was seen, so that they stay in step with the script.

    Args:
        allocation: the attempt.
        interval_ms: the time from one checkpoint to the next, ms.
        at_ms: the time of the question, ms.
    """
    seen_ms = last_seen_ms(allocation)
    from_ms = _began_ms(allocation) if seen_ms is None else seen_ms
    written = max(0, (at_ms - from_ms - WRITTEN_MS) // interval_ms)
    return from_ms + written * interval_ms


def last_written_ms(allocation: Allocation, at_ms: int, policy: Policy) -> int | None:
    """When the last checkpoint was seen, or was due, that counts as written, ms; None if none is known.

    Args:
        allocation: the attempt.
        at_ms: the time of the question, ms.
    """
    every_ms = interval_ms(allocation, policy)
    if every_ms is None:
        return last_seen_ms(allocation)
    saved_ms = saved_until_ms(allocation, every_ms, at_ms)
    return saved_ms if saved_ms > _began_ms(allocation) else None


def next_written_ms(allocation: Allocation, interval_ms: int, after_ms: int) -> int:
    """The first time after this at which another checkpoint of an attempt counts as written, ms.

    Args:
        allocation: the attempt.
        interval_ms: the time from one checkpoint to the next, ms.
        after_ms: the time, ms.
    """
    return saved_until_ms(allocation, interval_ms, after_ms) + interval_ms + WRITTEN_MS


def _began_ms(allocation: Allocation) -> int:
    """The start of its training, or that of the attempt, which is earlier, as long as SageMaker has reported none."""
    return allocation.since_ms if allocation.training_since_ms is None else allocation.training_since_ms
