"""The command history: ended jobs and their usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from headway_client.cli.arguments.filters import job_filters
from headway_client.cli.columns import column_options, require_rows
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows, wants_json
from headway_client.cli.interruption import UNCHANGED
from headway_client.job_states import ENDED_STATES
from headway_client.text import to_stderr

DEFAULT_LIMIT = 50


@click.command("history", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--state", multiple=True, type=click.Choice(ENDED_STATES), help="Only this state; repeatable.")
@job_filters(default_limit=DEFAULT_LIMIT)
@column_options
@pass_common
def history(
    common: CommonOptions,
    state: Sequence[str],
    limit: int,
    columns: Sequence[str],
    sort: Sequence[str],
    **filters: Any,
) -> None:
    """Show ended jobs, the newest first, and what they used."""
    from headway_client.cli.output import history_rows, sorted_jobs

    require_rows(columns, common.output)
    # One more than shown, to detect that there are more.
    jobs = list(open_api(common).list_jobs(states=list(state) or ENDED_STATES, limit=limit + 1, **filters))
    shown = sorted_jobs(jobs[:limit], sort)
    document = {"jobs": [job.document for job in shown], "truncated": len(jobs) > len(shown)}
    show_rows(common, document, lambda *, wide: history_rows(shown, wide=wide, names=columns), empty="No jobs.")
    if len(jobs) > len(shown) and not wants_json(common):
        to_stderr(f"Only the newest {limit} jobs are shown; use --limit to see more.")
