"""The command queue: list running and waiting jobs, once or repeatedly."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.filters import job_filters
from headway_client.cli.arguments.params import ExclusiveOption, WholeNumber
from headway_client.cli.columns import column_options, require_rows
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED, if_interrupted
from headway_client.errors import UsageError
from headway_client.http.outage import NO_RESPONSE
from headway_client.job_states import ENDED_STATES, HELD, JOB_STATES, WAITING_STATES
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.cli.output.table import Table
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job

DEFAULT_LIMIT = 200

DEFAULT_WATCH_S = 5
MIN_WATCH_S = 2
"""Minimum refresh interval, as each refresh may request many pages."""
MAX_WATCH_S = 3600

# Cursor to the top left, then erase to the end of the screen (source: ECMA-48, CUP and ED).
_REDRAW = "\x1b[H\x1b[J"

_pause = time.sleep


@click.command("queue", cls=Command, rows=True, names=True, interrupted=UNCHANGED)
@click.option("--state", multiple=True, type=click.Choice((*JOB_STATES, HELD)), help="Only this state; repeatable.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    cls=ExclusiveOption,
    conflicts_with="state",
    help="Also ended jobs, and training jobs that bypassed the queue.",
)
@job_filters(default_limit=DEFAULT_LIMIT)
@column_options()
@click.option(
    "--watch",
    is_flag=False,
    flag_value=str(DEFAULT_WATCH_S),
    type=WholeNumber(MIN_WATCH_S, MAX_WATCH_S),
    metavar="[SECONDS]",
    help=f"Refresh the list every few seconds (default {DEFAULT_WATCH_S}) until Ctrl-C.",
)
@pass_common
def queue(
    common: CommonOptions,
    state: Sequence[str],
    limit: int,
    columns: Sequence[str],
    sort: Sequence[str],
    watch: int | None,
    *,
    everything: bool,
    **filters: Any,
) -> None:
    """Show running and waiting jobs, and why they wait."""
    if watch is not None and not common.for_people:
        raise UsageError(f"--watch does not support --output {common.output}; call the command repeatedly.")
    require_rows(columns, common.output)
    listing = _Listing(states=state, everything=everything, limit=limit, filters=filters, columns=columns, order=sort)
    api = open_api(common)
    if watch is None:
        _show(common, api, listing)
        return
    with if_interrupted(UNCHANGED):
        _watch(common, api, listing, watch)


@dataclass(frozen=True, kw_only=True)
class _Listing:
    """The selection of jobs to show, their columns, and the columns that they are sorted by."""

    states: Sequence[str]
    everything: bool
    limit: int
    filters: dict[str, Any]
    columns: Sequence[str]
    order: Sequence[str]


def _watch(common: CommonOptions, api: HeadwayApi, listing: _Listing, every_s: int) -> None:
    from headway_client.cli.output import times

    while True:
        # On a terminal each refresh replaces the previous one; elsewhere they are printed one after the other.
        print(_REDRAW if sys.stdout.isatty() else "", end="")
        print(f"{times.clock(datetime.now(UTC))}, every {every_s} s")
        try:
            _show(common, api, listing)
        except NO_RESPONSE as error:
            to_stderr(f"The queue does not respond; retrying: {error}")
        print(flush=True)
        _pause(every_s)


def _show(common: CommonOptions, api: HeadwayApi, listing: _Listing) -> None:
    from headway_client.cli.output import job_rows, sorted_jobs
    from headway_client.models import RogueJobs

    jobs = list(islice(_jobs(api, listing), listing.limit + 1))
    shown = sorted_jobs(jobs[: listing.limit], listing.order)
    truncated = len(jobs) > len(shown)
    rogues = api.rogue_jobs() if listing.everything else RogueJobs(jobs=(), more=False)
    document: dict[str, Any] = {"jobs": [job.document for job in shown], "truncated": truncated}
    if listing.everything:
        document |= {"rogueJobs": [rogue.document for rogue in rogues.jobs], "moreRogueJobs": rogues.more}

    def rows(*, wide: bool) -> Table:
        return job_rows(shown, rogues.jobs, wide=wide, names=listing.columns)

    show_rows(common, document, rows, names=[job.name for job in shown], empty="No jobs.")
    if common.is_document:
        return
    if truncated:
        to_stderr(f"There are more jobs than the first {listing.limit}: use --limit to see them.")
    if rogues.more:
        to_stderr(f"Only the first {len(rogues.jobs)} training jobs that bypassed the queue are shown.")


def _jobs(api: HeadwayApi, listing: _Listing) -> Iterator[Job]:
    # One more than shown, to detect that there are more.
    limit = listing.limit + 1
    if HELD in listing.states:
        # To the server a held job is a waiting one.
        asked = dict.fromkeys([*(each for each in listing.states if each != HELD), *WAITING_STATES])
        for job in api.list_jobs(states=asked, **listing.filters):
            if job.held or job.state in listing.states:
                yield job
        return
    if listing.states:
        yield from api.list_jobs(states=listing.states, limit=limit, **listing.filters)
        return
    yield from api.list_jobs(limit=limit, **listing.filters)
    if listing.everything:
        yield from api.list_jobs(states=ENDED_STATES, limit=limit, **listing.filters)
