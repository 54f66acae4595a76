"""What the rows of a table of usage are together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from headway_client.models import Durations, Usage, UsageSum

TOTAL = "(total)"
"""What the row of a total is named; names in parentheses are no names of teams, owners or pools."""

_UNKNOWN = Durations(count=0, p50_seconds=None, p90_seconds=None)
"""Quantiles of all rows do not follow from those of each."""


def total(usage: Usage) -> UsageSum | None:
    """Return the sum of all rows; None if it would repeat the only one.

    Costs are of the rows that have one: the hours without a price say what they lack.
    """
    rows = usage.rows
    if len(rows) < 2:
        return None
    has_periods = usage.step != "total"
    return UsageSum(
        name=None if has_periods else TOTAL,
        period=TOTAL if has_periods else None,
        jobs=_added(rows, lambda row: row.jobs),
        attempts=sum(row.attempts for row in rows),
        preemptions=sum(row.preemptions for row in rows),
        reused=sum(row.reused for row in rows),
        used_seconds=_added(rows, lambda row: row.used_seconds),
        lost_seconds=_added(rows, lambda row: row.lost_seconds),
        billed_seconds=_added(rows, lambda row: row.billed_seconds),
        unbilled_seconds=_added(rows, lambda row: row.unbilled_seconds),
        wait=_UNKNOWN,
        run=_UNKNOWN,
        running=sum(row.running for row in rows),
        running_seconds=_added(rows, lambda row: row.running_seconds),
        cost=_known(row.cost for row in rows),
        unpriced_seconds=_added(rows, lambda row: row.unpriced_seconds),
        lost_cost=_known(row.lost_cost for row in rows),
        saved_cost=_known(row.saved_cost for row in rows),
        estimated_cost=_known(row.estimated_cost for row in rows),
        lost_unpriced_seconds=_added(rows, lambda row: row.lost_unpriced_seconds),
        idle_seconds=_added(rows, lambda row: row.idle_seconds),
        idle_reserved_seconds=_added(rows, lambda row: row.idle_reserved_seconds),
    )


def _added(rows: Iterable[UsageSum], part: Callable[[UsageSum], Mapping[str, int]]) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(part(row))
    return found


def _known(amounts: Iterable[float | None]) -> float | None:
    found = [amount for amount in amounts if amount is not None]
    return sum(found) if found else None
