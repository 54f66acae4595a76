"""Reads the sums of usage: of a range of days, from as few items as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from headway.accounting.days import Period, days, periods
from headway_service.accounting.records import MAX_NAMES, figures_in, name_in, partition, prefix
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Table

MAX_RANGE_DAYS = 1830
"""Days that one request may sum up."""

MAX_SHOWN_DAYS = 62
"""Days that one request may show one by one."""

MAX_SHOWN_MONTHS = 24
"""Months that one request may show one by one."""

MAX_ROWS = 10_000
"""Rows of one answer: what a response of Lambda (6 MB) holds."""


class Step(StrEnum):
    """The periods that usage is shown by."""

    TOTAL = "total"
    MONTH = "month"
    DAY = "day"


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageRow:
    """The figures of a name.

    Attributes:
        name: the team, the owner, the pool or the value of the tag; empty for none.
        period: the day or the month; empty for the whole range.
        parts: the figures by the period that they were read from.
    """

    name: str
    period: str
    parts: Mapping[Period, Mapping[str, int]]

    @property
    def figures(self) -> Counter[str]:
        """The figures of all its parts."""
        found: Counter[str] = Counter()
        for figures in self.parts.values():
            found.update(figures)
        return found


def read_usage(
    table: Table,
    dimension: str,
    first: date,
    last: date,
    step: Step,
    *,
    by_days: frozenset[str] = frozenset(),
    kept_since: date = date.min,
) -> list[UsageRow]:
    """The usage in a range, by period and name.

    Args:
        table: the table.
        dimension: ``team``, ``owner``, ``pool`` or ``tag:`` and a key.
        first: the first day.
        last: the last day.
        step: what the rows are by.
        by_days: the months that are read by days, if their days are kept.
        kept_since: since which day daily sums are kept.

    Raises:
        InvalidRequest: the range is empty or too long, or daily sums that it needs are not kept any more.
    """
    length = (last - first).days + 1
    _check(length, step)
    kept = frozenset(month for month in by_days if date.fromisoformat(f"{month}-01") >= kept_since)
    wanted = list(_read_periods(first, last, step, kept))
    if any(period.day is not None and period.day < kept_since for period in wanted):
        raise InvalidRequest(f"daily sums are kept since {kept_since}: choose whole months before")
    found: dict[tuple[str, str], dict[Period, Mapping[str, int]]] = {}
    for period in wanted:
        # Beside the names there is the sum of all others.
        items = table.query(partition(dimension, period.month), prefix=prefix(period), limit=MAX_NAMES + 1)
        for item in items:
            shown = {Step.TOTAL: "", Step.MONTH: period.month, Step.DAY: period.name}[step]
            found.setdefault((shown, name_in(item)), {})[period] = figures_in(item)
            if len(found) > MAX_ROWS:
                raise InvalidRequest(f"the answer would have more than {MAX_ROWS} rows: choose a shorter range")
    return [UsageRow(name=name, period=shown, parts=parts) for (shown, name), parts in sorted(found.items())]


def _check(length: int, step: Step) -> None:
    if length < 1:
        raise InvalidRequest("the range is empty: `to` must not be before `from`")
    most = {Step.TOTAL: MAX_RANGE_DAYS, Step.MONTH: MAX_SHOWN_MONTHS * 31, Step.DAY: MAX_SHOWN_DAYS}[step]
    if length > most:
        raise InvalidRequest(f"the range has {length} days; at most {most} are possible by {step}")


def _read_periods(first: date, last: date, step: Step, by_days: frozenset[str]) -> Iterable[Period]:
    return days(first, last) if step is Step.DAY else periods(first, last, by_days)
