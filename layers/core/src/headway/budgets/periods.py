"""The periods of budgets: calendar weeks and months, and the last so many days. Days are UTC days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from headway.days import begin_ms, day_of, end_of_month

MAX_DAYS = 90
"""Days of a rolling period, at most: each has a number in the ledger."""


class Every(StrEnum):
    """The calendar periods."""

    #: From Monday on.
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Rolling:
    """The present day and the days before it."""

    #: How many, the present one included.
    days: int


Period = Every | Rolling


def counted_on(day: date, period: Period) -> date:
    """The day under which what was used on a day is counted: the first one of a calendar period, or the day itself."""
    match period:
        case Every.WEEK:
            return day - timedelta(days=day.weekday())
        case Every.MONTH:
            return day.replace(day=1)
        case Rolling():
            return day


def counts_until_ms(counted: date, period: Period) -> int:
    """Until when what is counted under a day takes from the budget, ms.

    Args:
        counted: what :func:`counted_on` gave.
    """
    match period:
        case Every.WEEK:
            return begin_ms(counted + timedelta(days=7))
        case Every.MONTH:
            return begin_ms(end_of_month(counted) + timedelta(days=1))
        case Rolling(days=count):
            return begin_ms(counted + timedelta(days=count))


def first_day(now_ms: int, period: Period) -> date:
    """The first day of the period that a moment, ms, is in."""
    today = day_of(now_ms)
    return today - timedelta(days=period.days - 1) if isinstance(period, Rolling) else counted_on(today, period)
