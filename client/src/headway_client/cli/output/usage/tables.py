"""Format sums of usage, and costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from headway_client.cli.output import times, values
from headway_client.cli.output.table import NONE, Figure, Table
from headway_client.cli.output.usage.gpus import gpu_seconds
from headway_client.cli.output.usage.totals import total
from headway_client.models import EndedJob, JobDetails, Usage, UsageSum

_SECONDS_PER_HOUR = 3600
_UNPRICED = "Hours without Price"
_PRICES = "Prices"
_SPARE = ("Preemptions", "Wait p50", "Attempts", "Wait p90", "GPU Hours", "Idle")
"""Headers of columns that narrow terminals do without, in the order in which they are left out."""

_BESIDE: Mapping[str, Callable[[EndedJob | UsageSum], float | None]] = {
    "Saved by Spot": lambda priced: priced.saved_cost,
    "Estimate for Spot": lambda priced: priced.estimated_cost,
}
"""Amounts beside the cost, by their header."""


def usage_rows(
    usage: Usage,
    *,
    wide: bool = False,
    running: bool | None = None,
    idle: bool = False,
    totals: bool = True,
    beside: Sequence[str] | None = None,
) -> Table:
    """Return sums of usage as a table.

    Args:
        usage: the sums.
        wide: more columns.
        running: whether there is a column for running attempts; None if there is one if there are any.
        idle: whether there are columns on idle time, which only the sums of pools have, in any case.
        totals: whether several rows are followed by their total, which programs would count twice.
        beside: from :func:`beside_cost`; None for that of these sums.
    """
    periods, idle = usage.step != "total", idle or usage.by == "pool"
    if running is None:
        running = usage.running_until is not None
    headers = [*(["Period"] if periods else []), title(usage.by), "Jobs", "Attempts", "Preemptions"]
    headers += [hours_header("Hours"), "GPU Hours", hours_header("Lost")]
    headers += [hours_header("Running")] if running else []
    headers += [*([hours_header("Idle")] if idle else []), *map(_duration_header, ("Wait p50", "Wait p90"))]
    if wide:
        headers += [hours_header("Idle Reserved")] if idle else []
        headers += [*map(_duration_header, ("Run p50", "Run p90")), "Completed", "Failed", "Stopped", "Reused"]
        headers += ["Hours by Pool", "Lost Hours by Pool", "Billed Hours by Pool", "Unbilled Hours by Pool"]

    amounts = beside_cost(usage.rows, wide=wide) if beside is None else beside

    def cells(row: UsageSum, *, counted: bool = True) -> list[str]:
        found = _usage_row(usage.by, row, periods=periods, running=running, idle=idle, wide=wide, counted=counted)
        return [*found, *(cost_cells(row, amounts, wide=wide) if usage.prices else [])]

    rows = [cells(row) for row in usage.rows]
    summed = total(usage) if totals else None
    if summed is not None:
        # A job that had instances of several pools is one of each of them.
        rows.append(cells(summed, counted=usage.by != "pool"))
    if usage.prices:
        headers += cost_headers({usage.currency or ""}, amounts, wide=wide)
        if wide:
            headers.append(_PRICES)
            rows = [[*row, "; ".join(price_notes([usage]))] for row in rows]
    return Table(
        headers=headers, rows=rows, note=[*running_notes(usage), *price_notes([usage])], spare=spare_columns([usage])
    )


def spare_columns(sums: Iterable[Usage]) -> Sequence[str]:
    """Return the headers of columns that narrow terminals do without, in the order in which they are left out."""
    lacks_prices = any(row.unpriced_seconds for usage in sums for row in usage.rows)
    return _SPARE if lacks_prices else (_UNPRICED, *_SPARE)


def beside_cost(priced: Iterable[EndedJob | UsageSum], *, wide: bool) -> Sequence[str]:
    """Return the headers of the amounts that are shown beside the cost: those that there are any of.

    Args:
        wide: all of them.
    """
    listed = list(priced)
    return [header for header, amount in _BESIDE.items() if wide or any(map(amount, listed))]


def cost_cells(priced: EndedJob | UsageSum, beside: Iterable[str], *, wide: bool) -> list[str]:
    """Return the cost, its part for what was lost, and the hours by pool that these do not have.

    Args:
        priced: what has the cost.
        beside: from :func:`beside_cost`.
        wide: the lost hours that have none, too.
    """
    amounts = (priced.cost, priced.lost_cost, *(_BESIDE[header](priced) for header in beside))
    return [
        *(NONE if amount is None else f"{amount:.2f}" for amount in amounts),
        values.instance_hours(priced.unpriced_seconds),
        *([values.instance_hours(priced.lost_unpriced_seconds)] if wide else []),
    ]


def running_notes(usage: Usage) -> list[str]:
    """Return the line that says what the hours of running attempts are; none without such attempts."""
    if usage.running_until is None:
        return []
    until = times.moment(usage.running_until, wide=True)
    return [f"Running: used until {until} by attempts that have not ended; their hours are not in Hours yet."]


def prediction_notes(usage: Usage) -> list[str]:
    """Return the line that says how good predictions of run times were; none if there were none."""
    found = usage.predictions
    if found is None or found.median_error is None or found.coverage is None:
        return []
    error, coverage = f"{found.median_error:.0%}", f"{found.coverage:.0%}"
    good = f"half of these were off by {error} or less, and {coverage} ran for a time within the interval"
    return [f"Predictions: {found.predicted} of {found.kept} completed jobs had a predicted run time; {good}."]


def price_notes(priced: Iterable[EndedJob | Usage | JobDetails]) -> list[str]:
    """Return a line for each price that costs were computed with, and its date."""
    lines = {
        f"{price.pool}: {price.per_hour:g} {each.currency} an hour from {price.first}"
        for each in priced
        for price in each.prices
    }
    return sorted(lines)


def cost_headers(currencies: Collection[str], beside: Iterable[str], *, wide: bool) -> list[str]:
    """Return the headers of `cost_cells`.

    Args:
        currencies: those of the costs; none if nothing has a cost.
        beside: as for `cost_cells`.
        wide: as for `cost_cells`.
    """
    named = f" ({', '.join(sorted(currencies))})" if currencies else ""
    amounts = [f"{header}{named}" for header in ("Cost", "Lost Cost", *beside)]
    return [*amounts, _UNPRICED, *([f"Lost {_UNPRICED}"] if wide else [])]


def _name_of(by: str, row: UsageSum, *, wide: bool) -> str:
    return values.owner(row.name) if by == "owner" and not wide else values.optional(row.name)


def _usage_row(
    by: str, row: UsageSum, *, periods: bool, running: bool, idle: bool, wide: bool, counted: bool
) -> list[str]:
    def count(number: int) -> str:
        return str(number) if counted else NONE

    idle_cells = [_total(each) if by == "pool" else NONE for each in (row.idle_seconds, row.idle_reserved_seconds)]
    cells = [
        *([values.optional(row.period)] if periods else []),
        _name_of(by, row, wide=wide),
        *(count(sum(row.jobs.values())), count(row.attempts), count(row.preemptions)),
        *(_total(row.used_seconds), _gpu_hours(row.used_seconds), _total(row.lost_seconds)),
        *([_total(row.running_seconds)] if running else []),
        *(idle_cells[:1] if idle else []),
        *(times.duration(row.wait.p50_seconds), times.duration(row.wait.p90_seconds)),
    ]
    if wide:
        cells += [
            *(idle_cells[1:] if idle else []),
            *(times.duration(row.run.p50_seconds), times.duration(row.run.p90_seconds)),
            *(count(row.jobs.get(state, 0)) for state in ("completed", "failed", "stopped")),
            count(row.reused),
            *map(
                values.instance_hours,
                (row.used_seconds, row.lost_seconds, row.billed_seconds, row.unbilled_seconds),
            ),
        ]
    return cells


def title(by: str) -> str:
    """Return the header of the names of sums."""
    return by.removeprefix("tag:") if by.startswith("tag:") else by.capitalize()


def hours(seconds: float) -> str:
    """Return instance-seconds as hours, with two digits."""
    return f"{seconds / _SECONDS_PER_HOUR:.2f}"


def _total(seconds: Mapping[str, int]) -> str:
    return hours(sum(seconds.values()))


def _gpu_hours(seconds: Mapping[str, int]) -> str:
    found = gpu_seconds(seconds)
    return NONE if found is None else hours(found)


def hours_header(header: str) -> str:
    """Return the header of a column of instance hours."""
    return Figure(header, "Instance Hours" if header == "Hours" else f"{header} Instance Hours")


def _duration_header(header: str) -> str:
    return Figure(header, f"{header} (s)")
