"""Format predictions of the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headway.sanitize import strip_control_characters
from headway_client.cli.output import times, values
from headway_client.cli.output.expectations import expectation_lines
from headway_client.cli.output.jobs import job_sentence
from headway_client.cli.output.pools import pool_rows
from headway_client.cli.output.sheet import sheet
from headway_client.cli.output.table import Table
from headway_client.models import Ahead, DryRun, Explanation, Forecast, PredictedTime, Shift, WhatIf

_UNPREDICTABLE = "can't be predicted"


def explanation_sheet(explanation: Explanation, *, width: int | None = None, colour: bool = False) -> str:
    """Return the explanation of a job's state, the jobs ahead of it, and the use of its pools.

    Args:
        width: maximum length of a line; None for no limit.
        colour: color the states.
    """
    lines = [
        ("Job Name", explanation.job_name),
        ("State", f"{explanation.job_state} (held)" if explanation.held else explanation.job_state),
    ]
    if explanation.place is not None:
        lines.append(("Place", str(explanation.place)))
    lines.append(("Why", explanation.reason.message))
    if explanation.turn is not None:
        lines.append(("Turn", explanation.turn))
    if explanation.expected_run is not None:
        lines.append(("Expected", times.expected_run(explanation.expected_run)))
    lines += expectation_lines(explanation)
    lines.append(("Assumed", explanation.note))
    if explanation.remedy is not None:
        lines.append(("To do", explanation.remedy))
    parts = [sheet(lines, width=width)]
    if explanation.ahead:
        more = f"\nand {explanation.more} more" if explanation.more else ""
        parts.append("Ahead\n" + _ahead_rows(explanation.ahead).text(width=width, colour=colour) + more)
    if explanation.pools:
        parts.append("Pools\n" + pool_rows(explanation.pools).text(width=width))
    return "\n\n".join(parts)


def forecast_rows(forecast: Forecast, *, wide: bool = False) -> Table:
    """Return the expected starts of waiting jobs as a table, with the likely ones if any are predicted.

    Args:
        wide: write times in full.
    """
    headers = ["Job Name", "State", "Place", values.PRIORITY, "Demand", "Expected Start"]
    predicts = any(job.predicted_start is not None for job in forecast.jobs)
    if predicts:
        headers += ["Likely Start", "From", "Until"]
    rows = [
        [
            job.job_name,
            "held" if job.held else job.job_state,
            values.optional(job.place),
            str(job.priority),
            values.demand(job.demand),
            f"after {', '.join(job.after)}" if job.after else times.expected(job.expected_start, wide=wide),
            *(_likely(job.predicted_start, wide=wide) if predicts else ()),
        ]
        for job in forecast.jobs
    ]
    return Table(headers=headers, rows=rows)


def _likely(start: PredictedTime | None, *, wide: bool) -> list[str]:
    found = (start.about, start.from_, start.until) if start is not None else (None, None, None)
    return [times.expected(each, wide=wide) for each in found]


def dry_run_sheet(run: DryRun, *, width: int | None = None) -> str:
    """Return the effect of a submission.

    Args:
        run: the result of the dry run.
        width: maximum length of a line; None for no limit.
    """
    start = times.expected_both(run.expected_start) if run.expected_start is not None else _UNPREDICTABLE
    lines = ["This was a dry run; nothing was submitted.", job_sentence(run.job), f"Expected start: {start}."]
    lines.append(f"It would preempt {_listed(run.preempts)}." if run.preempts else "It would preempt no job.")
    if run.releases:
        lines.append(f"Warm pools that would be released for it: those of {_listed(run.releases)}.")
    lines.append(run.note)
    return "\n".join(map(strip_control_characters, lines)) + _shifts(
        "Starts that would change", run.delays, width=width
    )


def what_if_sheet(effect: WhatIf, *, width: int | None = None) -> str:
    """Return the effect of changes.

    Args:
        effect: the predicted effect.
        width: maximum length of a line; None for no limit.
    """
    lines = ["Nothing was changed. With these changes,"]
    lines.append(
        f"- {_listed(effect.starts)} would start at once," if effect.starts else "- no job would start at once,"
    )
    lines.append(
        f"- {_listed(effect.preempts)} would be preempted." if effect.preempts else "- no job would be preempted."
    )
    if effect.releases:
        lines.append(f"- the warm pools of {_listed(effect.releases)} would be released.")
    lines.append(effect.note)
    return "\n".join(map(strip_control_characters, lines)) + _shifts(
        "Starts that would change", effect.moved, width=width
    )


def _ahead_rows(ahead: Iterable[Ahead]) -> Table:
    headers = ["Job Name", "State", values.PRIORITY, "Owner", "Started", "Ends By", "Demand"]
    rows = [
        [
            job.job_name,
            job.job_state,
            str(job.priority),
            values.owner(job.owner),
            times.relative(job.started_time),
            times.expected(job.expected_end),
            values.demand(job.demand),
        ]
        for job in ahead
    ]
    return Table(headers=headers, rows=rows)


def _shifts(title: str, shifts: Sequence[Shift], *, width: int | None) -> str:
    if not shifts:
        return ""
    rows = [[shift.job_name, times.expected(shift.before), times.expected(shift.after)] for shift in shifts]
    return f"\n\n{title}\n" + Table(headers=["Job Name", "Before", "After"], rows=rows).text(width=width)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
