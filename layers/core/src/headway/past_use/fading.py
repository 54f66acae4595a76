"""How use fades: what was used a half-life ago counts half of what is used now."""

from __future__ import annotations


def faded(age_ms: int, half_life_ms: int) -> float:
    """What counts after so long of what counted 1; 1 for a time to come, as clocks differ.

    Args:
        age_ms: the time since, ms.
        half_life_ms: the time for half of it, ms.
    """
    return float(2.0 ** (-max(0, age_ms) / half_life_ms))


def part_of_average(begin_ms: int, end_ms: int, now_ms: int, half_life_ms: int) -> float:
    """The part that a span makes up of the average of all time until now, 0 to 1.

    An average in which time fades adds up the parts of all spans: ``count`` instances that were held from ``begin_ms``
    to ``end_ms`` add ``count`` times this.

    Args:
        begin_ms: when the span begins.
        end_ms: when it ends.
        now_ms: the present, ms.
        half_life_ms: see :func:`faded`.
    """
    return max(0.0, faded(now_ms - end_ms, half_life_ms) - faded(now_ms - begin_ms, half_life_ms))
