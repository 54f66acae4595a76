"""Format ended jobs with what they used, lost and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headway_client.cli.output import column, values
from headway_client.cli.output.column import Column
from headway_client.cli.output.table import NONE, Table
from headway_client.cli.output.usage.tables import (
    beside_cost,
    cost_cells,
    cost_headers,
    hours,
    hours_header,
    price_notes,
)
from headway_client.models import EndedJob

_SHORT = ("name", "state", "ended", "wait", "run", "attempts", "preemptions", "hours", "lost")
_WIDE = (*_SHORT, "usage", "billed", "entered", "started", "priority", "team", "owner")
# CSV has no notes, which list the prices below a table.
_COSTS = ("cost", "lost-cost", "unpriced")
_COSTS_OF_SPOT = ("cost", "lost-cost", "saved", "estimate", "unpriced")
_COSTS_WIDE = (*_COSTS_OF_SPOT, "lost-unpriced", "prices")


def ended_job_rows(jobs: Iterable[EndedJob], *, wide: bool = False, names: Sequence[str] = ()) -> Table:
    """Return ended jobs as a table in the given order.

    Args:
        wide: more columns, and times in full.
        names: the columns, in place of these.
    """
    listed = list(jobs)
    has_costs = any(job.cost is not None or job.estimated_cost is not None for job in listed)
    short = _COSTS_OF_SPOT if beside_cost(listed, wide=False) else _COSTS
    costs = (_COSTS_WIDE if wide else short) if has_costs else ()
    columns = _columns(listed, wide=wide)
    shown = [columns[name] for name in names or (*(_WIDE if wide else _SHORT), *costs)]
    return Table(
        headers=[each.header for each in shown],
        rows=[[each.cell(job) for each in shown] for job in listed],
        note=price_notes(listed),
    )


def sorted_ended_jobs(jobs: Sequence[EndedJob], order: Sequence[str]) -> list[EndedJob]:
    """Return ended jobs sorted by columns, as `column.sorted_by` does."""
    return column.sorted_by(jobs, _columns(jobs, wide=False), order)


def _columns(jobs: Sequence[EndedJob], *, wide: bool) -> dict[str, Column[EndedJob]]:
    return {
        "name": column.text("Job Name", lambda job: job.name),
        "state": column.text("State", lambda job: job.state),
        "priority": column.count("Priority", lambda job: job.priority),
        "entered": column.time("Entered", lambda job: job.entry_time, wide=wide),
        "started": column.time("Started", lambda job: job.started_time, wide=wide),
        "ended": column.time("Ended", lambda job: job.ended_time, wide=wide),
        "wait": column.duration("Wait", lambda job: job.wait_seconds),
        "run": column.duration("Run", lambda job: job.run_seconds),
        "attempts": column.count("Attempts", lambda job: job.attempt_count),
        "preemptions": column.count("Preemptions", lambda job: job.preemptions),
        "hours": Column(
            header=hours_header("Hours"),
            cell=lambda job: values.total_hours(job.used_seconds),
            key=lambda job: sum(job.used_seconds.values()),
        ),
        "lost": Column(
            header=hours_header("Lost"), cell=lambda job: hours(job.lost_seconds), key=lambda job: job.lost_seconds
        ),
        "usage": Column(
            header="Hours by Pool",
            cell=lambda job: values.instance_hours(job.used_seconds),
            key=lambda job: sum(job.used_seconds.values()),
        ),
        "billed": Column(
            header="Billed Hours by Pool",
            cell=lambda job: values.instance_hours(job.billed_seconds),
            key=lambda job: sum(job.billed_seconds.values()),
        ),
        "team": column.text("Team", lambda job: job.team),
        "owner": column.text("Owner", lambda job: job.owner),
        **_cost_columns(jobs),
        "prices": column.text("Prices", lambda job: "; ".join(price_notes([job])) or NONE),
    }


def _cost_columns(jobs: Sequence[EndedJob]) -> dict[str, Column[EndedJob]]:
    keys: Mapping[str, Callable[[EndedJob], float | None]] = {
        "cost": lambda job: job.cost,
        "lost-cost": lambda job: job.lost_cost,
        "saved": lambda job: job.saved_cost,
        "estimate": lambda job: job.estimated_cost,
        "unpriced": lambda job: sum(job.unpriced_seconds.values()),
        "lost-unpriced": lambda job: sum(job.lost_unpriced_seconds.values()),
    }
    beside = beside_cost(jobs, wide=True)
    headers = cost_headers({job.currency for job in jobs if job.currency}, beside, wide=True)

    def column_of(place: int, header: str, key: Callable[[EndedJob], float | None]) -> Column[EndedJob]:
        return Column(header=header, cell=lambda job: cost_cells(job, beside, wide=True)[place], key=key)

    return {
        name: column_of(place, header, key)
        for place, ((name, key), header) in enumerate(zip(keys.items(), headers, strict=True))
    }
