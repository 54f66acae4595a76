"""UTC days and months: which part of a span belongs to which, and which of them a range consists of."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

DAY_MS = 86_400_000

DAYS_KEPT = 400
"""Days for which daily sums are kept."""

_EPOCH = date(1970, 1, 1)


def moment_ms(text: str) -> int | None:
    """A time with its zone, such as ``2026-12-01T08:00Z``, in ms since the epoch; None if the text is none."""
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def day_of(time_ms: int) -> date:
    """The UTC day of a time."""
    return datetime.fromtimestamp(time_ms // 1000, UTC).date()


def begin_ms(day: date) -> int:
    """When a UTC day begins, ms."""
    return (day - _EPOCH).days * DAY_MS


def split(begin: int, end: int) -> dict[date, int]:
    """The parts of a span by UTC day, ms. Their sum is its length.

    Args:
        begin: when it begins, ms.
        end: when it ends, ms; a span that ends before it begins is empty.
    """
    found: dict[date, int] = {}
    while begin < end:
        day = day_of(begin)
        until = min(end, begin_ms(day) + DAY_MS)
        found[day] = until - begin
        begin = until
    return found


def kept_since(today: date) -> date:
    """The first day whose daily sums are kept."""
    return today - timedelta(days=DAYS_KEPT)


def month_of(day: date) -> str:
    """The month of a day, such as ``2026-11``."""
    # The C library's %Y has fewer than four digits for the first years.
    return day.isoformat()[:7]


def end_of_month(day: date) -> date:
    """The last day of the month of a day."""
    return day.replace(day=monthrange(day.year, day.month)[1])


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A month, or a day of it.

    Attributes:
        month: such as ``2026-11``.
        day: the day; None for the whole month.
    """

    month: str
    day: date | None = None

    @property
    def name(self) -> str:
        """Its name, such as ``2026-11`` or ``2026-11-25``."""
        return self.day.isoformat() if self.day else self.month

    @property
    def first(self) -> date:
        """Its first day."""
        return self.day or date.fromisoformat(f"{self.month}-01")


def days(first: date, last: date) -> Iterator[Period]:
    """The days of a range.

    Args:
        first: the first day.
        last: the last day, which is included.
    """
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield Period(month=month_of(day), day=day)


def periods(first: date, last: date, by_days: frozenset[str] = frozenset()) -> Iterator[Period]:
    """The fewest periods that a range consists of: whole months, and days before and after them.

    Args:
        first: the first day.
        last: the last day, which is included.
        by_days: the months that are not taken as a whole.
    """
    while first <= last:
        month, end = month_of(first), end_of_month(first)
        if first.day == 1 and end <= last and month not in by_days:
            yield Period(month=month)
        else:
            yield from days(first, min(last, end))
        if end >= last:
            # The last day of all has no following one.
            return
        first = end + timedelta(days=1)
