"""Format times and durations: in the local time zone and relative to now; in CSV as in the API, in UTC and seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime

from headway_client.cli.output.table import NONE, Figure
from headway_client.models import ExpectedRun

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_UNITS = (("d", _DAY_S), ("h", _HOUR_S), ("min", _MINUTE_S))
_FINER_S = (_HOUR_S, _MINUTE_S, 1)


now_s: Callable[[], float] = time.time
"""The clock to which times are relative, s since 1970: that of the queue once a command uses its API."""


def moment(value: str | None, *, wide: bool) -> str:
    """Return a time: relative to now, or if wide in full.

    Args:
        value: the time as in the API, or None.
        wide: whether there is room.
    """
    return local(value) if wide else relative(value)


def local(value: str | None) -> str:
    """Return a time such as 2026-01-02T03:04:05.678Z in the local time zone, and any other text unchanged."""
    at = _parsed(value)
    if at is None:
        return value or NONE
    return Figure(clock(at), value)


def clock(at: datetime) -> str:
    """Return a time in the local time zone, with the name of the zone."""
    there = at.astimezone()
    # The C library takes a name that it does not know for UTC, and shows the begin of the name.
    zone = "UTC" if not there.utcoffset() and not _is_known(os.environ.get("TZ")) else f"{there:%Z}"
    return f"{there:%Y-%m-%d %H:%M:%S} {zone}"


def _is_known(zone: str | None) -> bool:
    """Whether the value of TZ is the name of a time zone; an offset such as CET-1 is not, but is not UTC either."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if zone is None:
        return True
    try:
        ZoneInfo(zone.removeprefix(":"))
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True


def relative(value: str | None) -> str:
    """Return a time as ``in 3 h`` or ``3 h ago``."""
    at = _parsed(value)
    if at is None:
        return value or NONE
    seconds = int(at.timestamp() - now_s())
    if seconds == 0:
        return Figure("now", value)
    return Figure(f"in {length(seconds)}" if seconds > 0 else f"{length(-seconds)} ago", value)


def both(value: str | None) -> str:
    """Return a time in full, and relative to now in parentheses."""
    return f"{local(value)} ({relative(value)})" if _parsed(value) else local(value)


def expected(value: str | None, *, wide: bool = False) -> str:
    """Return a time at which something is expected, as `moment` does: ``now`` if that is over."""
    at = _parsed(value)
    return (
        Figure("now", value) if at is not None and at.timestamp() < now_s() and not wide else moment(value, wide=wide)
    )


def expected_both(value: str | None) -> str:
    """Return a time at which something is expected in full, and as `expected` does in parentheses."""
    return f"{local(value)} ({expected(value)})" if _parsed(value) else local(value)


def between(start: str | None, end: str | None) -> int | None:
    """Return the whole seconds between two times, 0 if the second is earlier.

    Args:
        start: the first time, or None if it is unknown.
        end: the second time, or None if it is unknown.
    """
    first, last = _parsed(start), _parsed(end)
    return None if first is None or last is None else max(int((last - first).total_seconds()), 0)


def since(start: str | None) -> int | None:
    """Return the whole seconds since a time, 0 if it is in the future; None if it is unknown."""
    first = _parsed(start)
    return None if first is None else max(int(now_s() - first.timestamp()), 0)


def duration(seconds: int | None) -> str:
    """Return a duration such as ``3 h``, with its seconds for CSV; a dash for None."""
    return NONE if seconds is None else Figure(length(seconds), seconds)


def length(seconds: int) -> str:
    """Return a duration in its largest unit of which it has at least two, rounded to the nearest.

    For columns; :func:`headway.durations.in_words` has two units.
    """
    for (unit, unit_s), finer_s in zip(_UNITS, _FINER_S, strict=True):
        # Just under two hours are 2 h, not 120 min.
        if _has(_nearest(seconds, finer_s), unit_s):
            return f"{_nearest(seconds, unit_s) // unit_s} {unit}"
    return f"{seconds} s"


def _nearest(seconds: int, unit_s: int) -> int:
    return (seconds + unit_s // 2) // unit_s * unit_s


def _has(seconds: int, unit_s: int) -> bool:
    """Whether a duration has at least two of a unit, or exactly one."""
    return seconds >= 2 * unit_s or seconds == unit_s


def expected_run(run: ExpectedRun) -> str:
    """Return what was expected of a run time, such as ``2 h, by 14 earlier jobs``."""
    return f"{length(run.seconds)}, by {run.runs} earlier jobs"


def _parsed(value: str | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(value or "")
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
