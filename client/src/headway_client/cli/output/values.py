"""Format single values."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence

from headway_client.cli.output.table import NONE, Figure
from headway_client.models import Dependency
from headway_client.principals import short_name

_SECONDS_PER_HOUR = 3600

PRIORITY = Figure("Prio", "Priority")
"""The header of priorities."""


def demand(counts: Mapping[str, int]) -> str:
    """Return instances per pool, such as ``1 ml.c5.xlarge, 2 ml.p5.48xlarge``."""
    return ", ".join(f"{count} {pool}" for pool, count in sorted(counts.items())) or NONE


def other_choices(choices: Sequence[Mapping[str, int]], chosen: int) -> str | None:
    """Return the other alternatives of a job, such as ``8 ml.g5.xlarge or 1 ml.p5.48xlarge.spot``; None without any.

    Args:
        choices: all alternatives, as instances per pool.
        chosen: which of them the job's demand is.
    """
    return " or ".join(demand(each) for number, each in enumerate(choices) if number != chosen) or None


def awaited(depends_on: Sequence[Dependency]) -> str | None:
    """Return the jobs that a job waits for, such as ``prepare, check:any``; None without any."""
    waits = [each for each in depends_on if each.ended is None]
    return ", ".join(each.job if each.condition == "ok" else f"{each.job}:{each.condition}" for each in waits) or None


def instance_hours(seconds: Mapping[str, int]) -> str:
    """Return instance-seconds per pool as hours, such as ``1.50 ml.p5.48xlarge``."""
    hours = {pool: held / _SECONDS_PER_HOUR for pool, held in sorted(seconds.items())}
    return ", ".join(f"{held:.2f} {pool}" for pool, held in hours.items()) or NONE


def total_hours(seconds: Mapping[str, int]) -> str:
    """Return the instance-hours of all pools as one number."""
    return f"{sum(seconds.values()) / _SECONDS_PER_HOUR:.2f}" if seconds else NONE


def owner(arn: str | None) -> str:
    """Return who an ARN names, with the ARN for CSV."""
    return Figure(short_name(arn) or NONE, arn)


def optional(value: object) -> str:
    """Return a value as text, or a dash for None."""
    return NONE if value is None else str(value)


def output_width() -> int | None:
    """Return the terminal's width in characters, or None if the output is not a terminal."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return None
    return shutil.get_terminal_size().columns
