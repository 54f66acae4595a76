"""What the scheduler says of the future."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.sanitize import strip_control_characters
from headway_client.cli.output import values
from headway_client.cli.output.jobs import job_sentence
from headway_client.cli.output.pools import pool_rows
from headway_client.cli.output.table import Table
from headway_client.models import Ahead, DryRun, Explanation, Forecast, Shift, WhatIf

_NOT_FORESEEN = "can't be foreseen"


def explanation_sheet(told: Explanation, *, width: int | None = None, colour: bool = False) -> str:
    """Return why a job is where it is: in sum, who is ahead of it, and how its pools are used."""
    lines = [("Job Name", told.job_name), ("State", f"{told.job_state} (held)" if told.held else told.job_state)]
    if told.place is not None:
        lines.append(("Place", str(told.place)))
    lines.append(("Why", told.reason.message))
    if told.expected_start is not None:
        lines.append(("Starts", values.time(told.expected_start)))
    if told.expected_end is not None:
        lines.append(("Ends by", values.time(told.expected_end)))
    lines.append(("Assumed", told.note))
    if told.remedy is not None:
        lines.append(("To do", told.remedy))
    parts = ["\n".join(f"{name:<10}{strip_control_characters(value)}" for name, value in lines)]
    if told.ahead:
        more = f"\nand {told.more} more" if told.more else ""
        parts.append("Ahead\n" + _ahead_rows(told.ahead).text(width=width, colour=colour) + more)
    if told.pools:
        parts.append("Pools\n" + pool_rows(told.pools).text(width=width))
    return "\n\n".join(parts)


def forecast_rows(forecast: Forecast) -> Table:
    """Return when waiting jobs are expected to start."""
    headers = ["Job Name", "State", "Place", "Priority", "Demand", "Expected Start"]
    rows = [
        [
            job.job_name,
            "held" if job.held else job.job_state,
            values.optional(job.place),
            str(job.priority),
            values.demand(job.demand),
            values.time(job.expected_start),
        ]
        for job in forecast.jobs
    ]
    return Table(headers=headers, rows=rows)


def dry_run_sheet(run: DryRun, *, width: int | None = None) -> str:
    """Return what a submission would do."""
    start = values.time(run.expected_start) if run.expected_start is not None else _NOT_FORESEEN
    lines = ["This was a dry run; nothing was submitted.", job_sentence(run.job), f"Expected start: {start}."]
    lines.append(f"It would preempt {_listed(run.preempts)}." if run.preempts else "It would preempt no job.")
    lines.append(run.note)
    return "\n".join(map(strip_control_characters, lines)) + _shifts(
        "Starts that would change", run.delays, width=width
    )


def what_if_sheet(told: WhatIf, *, width: int | None = None) -> str:
    """Return what changes would bring about."""
    lines = ["Nothing was changed. With these changes,"]
    lines.append(f"- {_listed(told.starts)} would start at once," if told.starts else "- no job would start at once,")
    lines.append(f"- {_listed(told.preempts)} would be preempted." if told.preempts else "- no job would be preempted.")
    lines.append(told.note)
    return "\n".join(map(strip_control_characters, lines)) + _shifts(
        "Starts that would change", told.moved, width=width
    )


def _ahead_rows(ahead: Iterable[Ahead]) -> Table:
    headers = ["Job Name", "State", "Priority", "Started", "Ends By", "Demand"]
    rows = [
        [
            job.job_name,
            job.job_state,
            str(job.priority),
            values.time(job.started_time),
            values.time(job.expected_end),
            values.demand(job.demand),
        ]
        for job in ahead
    ]
    return Table(headers=headers, rows=rows)


def _shifts(title: str, shifts: Sequence[Shift], *, width: int | None) -> str:
    if not shifts:
        return ""
    rows = [[shift.job_name, values.time(shift.before), values.time(shift.after)] for shift in shifts]
    return f"\n\n{title}\n" + Table(headers=["Job Name", "Before", "After"], rows=rows).text(width=width)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
