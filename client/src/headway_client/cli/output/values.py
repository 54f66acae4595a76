"""Format single values."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from datetime import datetime

from headway_client.cli.output.table import NONE

_SECONDS_PER_HOUR = 3600


def demand(counts: Mapping[str, int]) -> str:
    """Return instances per pool, such as ``1 ml.c5.xlarge, 2 ml.p5.48xlarge``."""
    return ", ".join(f"{count} {pool}" for pool, count in sorted(counts.items())) or NONE


def instance_hours(seconds: Mapping[str, int]) -> str:
    """Return instance-seconds per pool as hours, such as ``1.50 ml.p5.48xlarge``."""
    hours = {pool: held / _SECONDS_PER_HOUR for pool, held in sorted(seconds.items())}
    return ", ".join(f"{held:.2f} {pool}" for pool, held in hours.items()) or NONE


def time(value: str | None) -> str:
    """Return a time such as 2026-01-02T03:04:05.678Z as 2026-01-02 03:04:05Z, and any other text unchanged."""
    if value is None:
        return NONE
    if len(value) == 24 and value[10] == "T" and value.endswith("Z"):
        return f"{value[:10]} {value[11:19]}Z"
    return value


def duration(start: str | None, end: str | None) -> str:
    """Return the duration between two times as hours:minutes:seconds.

    Args:
        start: the first time, or None if it is unknown.
        end: the second time, or None if it is unknown.
    """
    if start is None or end is None:
        return NONE
    try:
        seconds = int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (TypeError, ValueError):
        return NONE
    minutes, second = divmod(max(seconds, 0), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}"


def optional(value: object) -> str:
    """Return a value as text, or a dash for None."""
    return NONE if value is None else str(value)


def output_width() -> int | None:
    """Return the terminal's width in characters, or None if the output is not a terminal."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    return shutil.get_terminal_size().columns
