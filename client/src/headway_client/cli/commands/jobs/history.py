"""The command history: ended jobs and their usage."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.filters import job_filters
from headway_client.cli.arguments.moments import METAVAR, Given, Moment, time_text
from headway_client.cli.columns import ENDED_NAMES, NAMES, column_options, require_known, require_rows
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import JobNotFoundError, UsageError
from headway_client.job_states import ENDED_STATES
from headway_client.text import counted, to_stderr

if TYPE_CHECKING:
    from headway_client.cli.output.table import Table
    from headway_client.models import Attempt

DEFAULT_LIMIT = 50

TRACE = "trace"
"""The format of the output that the simulator reads."""


@click.command(
    "history",
    cls=Command,
    rows=True,
    names=True,
    formats={TRACE: "for `headway policy test --trace`"},
    interrupted=UNCHANGED,
)
@click.option("--state", multiple=True, type=click.Choice(ENDED_STATES), help="Only this state; repeatable.")
@click.option(
    "--since",
    type=Moment(),
    metavar=METAVAR,
    help="Only jobs that ended since 2026-11-25, 2026-11-25T08:00Z, or in the last 36h.",
)
@click.option("--until", type=Moment(), metavar=METAVAR, help="Only jobs that ended before; needs --since.")
@job_filters(default_limit=DEFAULT_LIMIT)
@column_options(since=ENDED_NAMES)
@pass_common
def history(
    common: CommonOptions,
    state: Sequence[str],
    since: Given | None,
    until: Given | None,
    limit: int,
    columns: Sequence[str],
    sort: Sequence[str],
    **filters: Any,
) -> None:
    """Show ended jobs, the newest first, and what they used."""
    if common.output == TRACE:
        if columns or sort:
            raise UsageError("--columns and --sort are not possible with --output trace, whose columns are fixed.")
        _export_trace(common, since, until, state, limit, filters)
        return
    require_rows(columns, common.output)
    if since is not None or until is not None:
        require_known((*columns, *sort), ENDED_NAMES, "With --since")
        _show_span(common, since, until, state, limit, columns, sort, filters)
        return
    from headway_client.cli.output import history_rows, sorted_jobs

    require_known((*columns, *sort), NAMES, "Without --since")
    # One more than shown, to detect that there are more.
    jobs = list(open_api(common).list_jobs(states=list(state) or ENDED_STATES, limit=limit + 1, **filters))
    shown = sorted_jobs(jobs[:limit], sort)
    document = {"jobs": [job.document for job in shown], "truncated": len(jobs) > len(shown)}

    def rows(*, wide: bool) -> Table:
        return history_rows(shown, wide=wide, names=columns)

    show_rows(common, document, rows, names=[job.name for job in shown], empty="No jobs.")
    if len(jobs) > len(shown) and not common.is_document:
        to_stderr(f"There are more jobs than the newest {limit}: use --limit to see them.")


def _export_trace(
    common: CommonOptions,
    since: Given | None,
    until: Given | None,
    states: Sequence[str],
    limit: int,
    filters: dict[str, Any],
) -> None:
    """Print ended jobs as a trace.

    Args:
        common: the common options.
        since: when the span begins in which they ended; None for no limit.
        until: when it ends; None for no limit.
        states: the states of the jobs.
        limit: the most jobs to export.
        filters: the filters of a listing.
    """
    from headway_client.cli.output.usage.trace import trace_rows, traced_nodes

    api = open_api(common)

    def attempts_of(name: str) -> Sequence[Attempt]:
        try:
            return api.get_job(name).attempts
        except JobNotFoundError:
            # The table has forgotten it since the listing.
            return ()

    first, last = ("" if each is None else time_text(api, each) for each in (since, until))
    # The newest come first, and times of the API have one format, so that their texts compare as they do.
    listed = api.list_jobs(states=list(states) or ENDED_STATES, **filters)
    recent = takewhile(lambda job: (job.ended_time or "") >= first, listed)
    ended = (job for job in recent if not last or (job.ended_time or "") < last)
    jobs = list(islice(ended, limit + 1))
    listed_nodes = [(job, traced_nodes(job, attempts_of)) for job in jobs[:limit]]
    traced = [(job, nodes) for job, nodes in listed_nodes if nodes is not None]
    sys.stdout.write(trace_rows(traced).csv())
    left_out = len(listed_nodes) - len(traced)
    if left_out:
        to_stderr(
            f"Left out: {counted(left_out, 'job')}. A trace has jobs that held instances of one pool, the same number "
            "in each attempt."
        )
    if len(jobs) > limit:
        to_stderr(f"There are more jobs than the newest {limit}: use --limit to export them.")


def _show_span(
    common: CommonOptions,
    since: Given | None,
    until: Given | None,
    states: Sequence[str],
    limit: int,
    columns: Sequence[str],
    order: Sequence[str],
    filters: dict[str, Any],
) -> None:
    """Show the jobs that ended in a span of time.

    Args:
        common: the common options.
        since: when it begins.
        until: when it ends.
        states: the states of the jobs.
        limit: the most jobs to show.
        columns: the columns to show; empty for the usual ones.
        order: the columns that they are sorted by.
        filters: the filters of a listing.
    """
    from headway_client.cli.output import ended_job_rows, sorted_ended_jobs

    if since is None:
        raise UsageError("--until needs --since.")
    text = filters.pop("name_contains")
    api = open_api(common)
    end = None if until is None else time_text(api, until)
    # The queue has no such filter for a span, so that any number of jobs may be read for one that matches.
    most = limit + 1 if text is None else None
    ended = api.ended_jobs(time_text(api, since), end, states=states, limit=most, **filters)
    jobs = list(islice((job for job in ended if (text or "") in job.name), limit + 1))
    shown = sorted_ended_jobs(jobs[:limit], order)
    document = {"jobs": [job.document for job in shown], "truncated": len(jobs) > len(shown)}

    def rows(*, wide: bool) -> Table:
        return ended_job_rows(shown, wide=wide, names=columns)

    show_rows(common, document, rows, names=[job.name for job in shown], empty="No jobs.")
    if len(jobs) > len(shown) and not common.is_document:
        to_stderr(f"There are more jobs than the newest {limit}: use --limit to see them.")
