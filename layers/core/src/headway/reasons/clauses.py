"""Parts of sentences."""

from __future__ import annotations

from datetime import UTC, datetime


def clock_time(time_ms: int, now_ms: int) -> str:
    """A time of day in UTC, with the date if that is another one than today's."""
    time, now = datetime.fromtimestamp(time_ms / 1000, UTC), datetime.fromtimestamp(now_ms / 1000, UTC)
    return f"{time:%H:%M} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M} UTC"


def with_shorter_limit(shorter_s: int | None) -> str:
    """What a shorter limit would change, as a clause; empty if nothing.

    Args:
        shorter_s: the longest run time with which the job would start now, s; None if it would with none.
    """
    return f"; with a limit (MaxRuntimeInSeconds) of {shorter_s} s or less it could start now" if shorter_s else ""
