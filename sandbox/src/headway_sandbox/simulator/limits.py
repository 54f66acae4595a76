"""Time limits of jobs: multiples of the run time, rounded up, guessed, the same, none, or as the trace has them."""

from __future__ import annotations

import math
from bisect import bisect_left
from random import Random

from headway_sandbox.simulator.errors import InvalidInput
from headway_sandbox.simulator.trace import TraceJob

Limits = float | str
"""A factor of the true run times, one of :data:`KINDS`, or :data:`GIVEN`."""

ROUNDED = "rounded"
"""Rounded up to the next usual length."""

GUESSED = "1-10x"
"""A random factor from 1 to 10 for each job, as often below the square root of 10 as above."""

EQUAL = "equal"
"""The longest run time of all jobs, for each job."""

HALF = "half-without"
"""A random half of the jobs has none; those of the others are rounded up."""

KINDS = (ROUNDED, GUESSED, EQUAL, HALF)
"""What can be simulated with any trace."""

GIVEN = "given"
"""As the trace has them; none for the jobs of which it has none."""

_HOUR_MS = 3_600_000
_USUAL_MS = [hours * _HOUR_MS for hours in (1, 4, 12, 24, 48, 120, 336, 672, 1440, 8760)]
_MOST_TIMES = 10


def require_known(limits: Limits) -> None:
    """Refuse unknown names, and factors that would time jobs out.

    Raises:
        InvalidInput: they are invalid.
    """
    if isinstance(limits, str):
        if limits not in (*KINDS, GIVEN):
            raise InvalidInput(f"there are no limits {limits!r}: give a factor, {', '.join(KINDS)} or {GIVEN}")
    elif not 1 <= limits <= 1000:
        raise InvalidInput("a limit is a factor from 1 to 1000: jobs with shorter limits would be timed out")


def limits_ms(jobs: tuple[TraceJob, ...], limits: Limits, seed: int) -> list[int | None]:
    """The limit of each job, ms; None for none.

    Args:
        limits: how they are given.
        seed: selects the guesses, and the jobs without limits.
    """
    if isinstance(limits, float | int):
        return [round(job.run_ms * limits) for job in jobs]
    if limits == ROUNDED:
        return [_rounded_ms(job.run_ms) for job in jobs]
    if limits == EQUAL:
        return [max((job.run_ms for job in jobs), default=0)] * len(jobs)
    if limits == HALF:
        chance = Random(f"limits {seed}")
        return [None if chance.random() < 0.5 else _rounded_ms(job.run_ms) for job in jobs]
    if limits == GIVEN:
        # A run time covers all attempts of a job, a limit each of them.
        return [None if job.limit_ms is None else max(job.limit_ms, job.run_ms) for job in jobs]
    guesses = Random(f"limits {seed}")
    return [round(job.run_ms * math.exp(guesses.uniform(0, math.log(_MOST_TIMES)))) for job in jobs]


def described(limits: Limits) -> str:
    """How the limits are given, for a label."""
    return limits if isinstance(limits, str) else f"{limits:g}x"


def _rounded_ms(run_ms: int) -> int:
    # Longer ones than the longest usual length are given as they are.
    at = bisect_left(_USUAL_MS, run_ms)
    return _USUAL_MS[at] if at < len(_USUAL_MS) else run_ms
