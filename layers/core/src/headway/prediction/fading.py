"""How observations fade: they are counted by months, and those of each month count half of those of the next one.

A table can add to counts, but not multiply all of them as time goes by. So the counts of a month stay as they are, and
are weighted when they are read.
"""

from __future__ import annotations

from headway.days import Period, day_of

MONTHS_COUNTED = 4
"""Months whose observations count: the present one and those before it."""

FULL_WEIGHT = 1 << 16
"""The weight of an observation of the present month."""


def weight_of(period: Period, now_ms: int) -> int:
    """What an observation counts; 0 for nothing.

    Args:
        period: its month. One that seems to be in the future, as clocks differ, is the present one.
        now_ms: the present, ms.
    """
    present = day_of(now_ms)
    age = max(0, _number(present.year, present.month) - _number(period.first.year, period.first.month))
    return FULL_WEIGHT >> age if age < MONTHS_COUNTED else 0


def months_counted(now_ms: int) -> tuple[Period, ...]:
    """The months whose observations count, the newest first."""
    present = day_of(now_ms)
    last = _number(present.year, present.month)
    return tuple(Period(month=_name(number)) for number in range(last, last - MONTHS_COUNTED, -1))


def _number(year: int, month: int) -> int:
    return year * 12 + month - 1


def _name(number: int) -> str:
    return f"{number // 12:04d}-{number % 12 + 1:02d}"
