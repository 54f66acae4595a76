"""Reads the sums of usage: of a range of days, from as few items as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from headway.accounting.prices import Cost, Prices
from headway.days import Period, days, month_of, periods
from headway_service.accounting.records import (
    BILLED,
    LOST_BILLED,
    LOST_UNBILLED,
    MAX_NAMES,
    SAVED,
    UNBILLED,
    figures_in,
    name_in,
    partition,
    prefix,
)
from headway_service.accounting.running import RunningUse, read_running
from headway_service.errors import FieldError, InvalidRequest
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
        running: what running attempts have used, which is not in these figures.
    """

    name: str
    period: str
    parts: Mapping[Period, Mapping[str, int]] = field(default_factory=dict)
    running: RunningUse = field(default_factory=RunningUse)

    def times(self, kind: str) -> dict[str, int]:
        """Its figures of a kind by pool: instances times ms."""
        return _of_kind(self.figures, kind)

    def histogram(self, kind: str) -> dict[int, int]:
        """Its histogram of a kind: the counts by bucket."""
        return {int(bucket): count for bucket, count in _of_kind(self.figures, kind).items()}

    def cost(self, prices: Prices) -> Cost:
        """What it costs, each part at the prices of its first day."""
        return prices.cost(self._by_first_day(BILLED), self.times(UNBILLED))

    def lost_cost(self, prices: Prices) -> Cost:
        """What of this is the cost of what was lost."""
        return self.cost(prices).with_part(prices.cost(self._by_first_day(LOST_BILLED), self.times(LOST_UNBILLED)))

    def saved_cost(self, prices: Prices) -> Cost:
        """What spot saved of what the same time costs on demand."""
        return self.cost(prices).with_part(prices.cost(self._by_first_day(SAVED), {}))

    def estimated_cost(self, prices: Prices) -> Cost:
        """About what it costs beside its cost: spot instances that run, or whose billable time is not known."""
        return prices.estimate([*self._by_first_day(UNBILLED), *self.running.spot_ms.items()])

    def _by_first_day(self, kind: str) -> list[tuple[date, dict[str, int]]]:
        return [(period.first, _of_kind(figures, kind)) for period, figures in self.parts.items()]

    @property
    def figures(self) -> Counter[str]:
        """The figures of all its parts."""
        found: Counter[str] = Counter()
        for figures in self.parts.values():
            found.update(figures)
        return found


def _of_kind(figures: Mapping[str, int], kind: str) -> dict[str, int]:
    return {name.removeprefix(kind): value for name, value in sorted(figures.items()) if name.startswith(kind)}


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
        # A sum as of a moment ago lacks what was added since, which is also so of what is not accounted for yet.
        items = table.query_for_display(partition(dimension, period.month), prefix=prefix(period), limit=MAX_NAMES + 1)
        for item in items:
            if figures := figures_in(item):
                found.setdefault((_shown_period(step, period.first), name_in(item)), {})[period] = figures
                _check_rows(len(found))
    return [UsageRow(name=name, period=shown, parts=parts) for (shown, name), parts in sorted(found.items())]


def read_usage_until(
    table: Table,
    dimension: str,
    first: date,
    last: date,
    step: Step,
    *,
    by_days: frozenset[str],
    kept_since: date,
    now_ms: int,
    tags: Callable[[], Sequence[str]],
) -> list[UsageRow]:
    """The usage in a range, with what running attempts have used until now.

    Args:
        table: see :func:`read_usage`, as for the others.
        dimension: see there.
        first: see there.
        last: see there.
        step: see there.
        by_days: see there.
        kept_since: see there.
        now_ms: the training time, ms.
        tags: returns the tags by which usage is summed up.

    Raises:
        InvalidRequest: see there, or there are too many rows, or the sums are by other tags.
    """
    rows = read_usage(table, dimension, first, last, step, by_days=by_days, kept_since=kept_since)
    found = {(row.period, row.name): row for row in rows}
    # After the sums: an attempt that ends in between is in neither, instead of in both.
    running = read_running(
        table, dimension, first, last, lambda day: _shown_period(step, day), now_ms=now_ms, tags=tags
    )
    for (period, name), use in running.items():
        row = found.get((period, name)) or UsageRow(name=name, period=period)
        found[period, name] = replace(row, running=use)
    _check_rows(len(found))
    if not found:
        _require_counted(dimension, tags)
    return [row for _, row in sorted(found.items())]


def _require_counted(dimension: str, tags: Callable[[], Sequence[str]]) -> None:
    """Nothing may be found of a tag because nothing was used, or because nothing is counted by it."""
    kind, _, tag = dimension.partition(":")
    if kind != "tag" or tag in (counted := tags()):
        return
    message = (
        f"usage is not counted by the tag `{tag}`: add it to `usageTags` of the configuration, and attempts that end "
        f"from then on count; counted are {', '.join(f'`{each}`' for each in counted) or 'no tags'}"
    )
    raise InvalidRequest(message, [FieldError(field="by", message="is a tag that usage is not counted by")])


def _shown_period(step: Step, day: date) -> str:
    """The period of the row that a day belongs to; empty for the whole range."""
    return {Step.TOTAL: "", Step.MONTH: month_of(day), Step.DAY: day.isoformat()}[step]


def _check_rows(count: int) -> None:
    if count > MAX_ROWS:
        raise InvalidRequest(f"the answer would have more than {MAX_ROWS} rows: choose a shorter range")


def _check(length: int, step: Step) -> None:
    if length < 1:
        raise InvalidRequest("the range is empty: `to` must not be before `from`")
    most = {Step.TOTAL: MAX_RANGE_DAYS, Step.MONTH: MAX_SHOWN_MONTHS * 31, Step.DAY: MAX_SHOWN_DAYS}[step]
    if length > most:
        raise InvalidRequest(f"the range has {length} days; at most {most} are possible by {step}")


def _read_periods(first: date, last: date, step: Step, by_days: frozenset[str]) -> Iterable[Period]:
    return days(first, last) if step is Step.DAY else periods(first, last, by_days)
