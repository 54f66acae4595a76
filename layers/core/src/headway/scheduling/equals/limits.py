"""The limits of jobs where an order among equals compares them."""

from __future__ import annotations

LONGEST_LIMIT_MS = 28 * 86_400_000
"""The limit of a job without one, where limits are compared: no training job may run for longer (API reference,
StoppingCondition)."""


def compared_limit_ms(limit_ms: int | None) -> int:
    """The limit of a job where limits are compared, ms."""
    return LONGEST_LIMIT_MS if limit_ms is None else min(limit_ms, LONGEST_LIMIT_MS)
