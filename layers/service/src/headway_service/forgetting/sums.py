"""Gives the sums under a name to those of everybody who was forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from headway.days import DAYS_KEPT, Period, day_of, days, end_of_month
from headway.lifecycle import TERMINAL
from headway_service.accounting.names import Names
from headway_service.accounting.records import ATTEMPTS, JOBS, MONTHS_KEPT, add_figures, figures_in, names_key, sum_key
from headway_service.errors import RetryLater
from headway_service.ports.table import AllEqual, AtLeast, Delete, Key, Table, Update
from headway_service.store.repository import retry_on_conflict

FORGOTTEN = "forgotten"
"""The owner in place of all that were forgotten, together: a mark of each could be traced to its person."""

_BY = "owner"
_LONGEST_MONTH = 31
_FIGURES = 100
"""Figures of one write: an expression has at most 300 operators (DynamoDB developer guide, "Service quotas")."""
_ALWAYS = (ATTEMPTS, *(f"{JOBS}{state}" for state in sorted(TERMINAL)))
"""Figures of which each addition of a job has one: while they are 0, nothing was added."""
_READ = 100
"""Items of one read (:meth:`headway_service.ports.table.Table.get_all`)."""


def forget_sums(table: Table, owner: str, now_ms: int) -> int:
    """Move the sums of an owner, of each month that is kept and of its days. It may be repeated.

    Returns:
        How many there were.

    Raises:
        RetryLater: they keep changing.
    """
    busy = RetryLater("the sums of usage keep changing; try again in a moment")
    moved = 0
    for months in _kept_months(now_ms):
        # The month last: as long as it is there, its days may be, too.
        found = table.get_all([sum_key(_BY, Period(month=month), owner) for month in months])
        for month in sorted(str(item["pk"]).rpartition("#")[2] for item in found):
            whole = Period(month=month)
            for period in (*_days(table, owner, whole, now_ms), whole):
                moved += retry_on_conflict(partial(_move, table, owner, period), otherwise=busy)
    return moved


def _move(table: Table, owner: str, period: Period) -> int:
    """Move a sum: its figures, some at a time, so that what is added meanwhile stays; then the item has none."""
    key = sum_key(_BY, period, owner)
    item = table.get(key)
    if item is None:
        return 0
    names = Names(table).open()
    to = names.of(_BY, period.month, FORGOTTEN)
    figures = list(figures_in(item).items())
    for first in range(0, len(figures), _FIGURES):
        some = dict(figures[first : first + _FIGURES])
        # What another call has moved meanwhile is not moved again.
        unmoved = AllEqual(tuple(some.items()))
        taken = Update(key=key, adds={name: -value for name, value in some.items()}, requires=unmoved)
        table.write(
            [taken, add_figures(_BY, period, to, some), *(names.writes() if first == 0 and period.day is None else ())]
        )
    table.write([Update(key=key, adds=dict.fromkeys(_ALWAYS, 0), requires=AtLeast("schemaVersion", 0))])
    delete = Delete(key=key, requires=AllEqual(tuple((name, 0) for name in _ALWAYS)))
    fewer = Update(key=names_key(_BY, period.month), adds={"names": -1})
    # A month counts the names that have a sum of it.
    table.write([delete, fewer] if period.day is None else [delete])
    return 1


def _days(table: Table, owner: str, month: Period, now_ms: int) -> list[Period]:
    """The days of a month that have sums."""
    if end_of_month(month.first) < day_of(now_ms) - timedelta(days=DAYS_KEPT):
        return []
    of_day = {sum_key(_BY, period, owner): period for period in days(month.first, end_of_month(month.first))}
    return [of_day[Key(str(item["pk"]), str(item["sk"]))] for item in table.get_all(list(of_day))]


def _kept_months(now_ms: int) -> Iterator[list[str]]:
    """The months whose sums are kept, as many together as one read takes."""
    today = day_of(now_ms)
    months = sorted({f"{today - timedelta(days=days):%Y-%m}" for days in range(MONTHS_KEPT + _LONGEST_MONTH)})
    for first in range(0, len(months), _READ):
        yield months[first : first + _READ]
