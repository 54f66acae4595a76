"""The command queue: who runs and who waits, once or again and again."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from headway_client.cli import grammar
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.filters import add_filters, chosen
from headway_client.cli.grammar import Commands
from headway_client.errors import BusyError, NotReachableError, ServerFaultError, UsageError
from headway_client.job_states import ENDED_STATES, JOB_STATES
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Job

DEFAULT_LIMIT = 200

DEFAULT_WATCH_S = 5
MIN_WATCH_S = 2
"""The queue is not asked more often: each look may be many pages."""
MAX_WATCH_S = 3600

# Cursor to the top left, then erase to the end of the screen (source: ECMA-48, CUP and ED).
_REDRAW = "\x1b[H\x1b[J"

_pause = time.sleep


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("queue", queue, "show who runs and who waits, and why", rows=True)
    which = command.add_mutually_exclusive_group()
    which.add_argument("--state", action="append", choices=JOB_STATES, help="only this state; may repeat")
    which.add_argument("--all", action="store_true", help="ended jobs too, and those that bypassed the queue")
    add_filters(command, default_limit=DEFAULT_LIMIT)
    command.add_argument(
        "--watch",
        nargs="?",
        type=grammar.whole(MIN_WATCH_S, MAX_WATCH_S),
        const=DEFAULT_WATCH_S,
        metavar="SECONDS",
        help=f"show it again and again (every {DEFAULT_WATCH_S} seconds by default) until Ctrl-C",
    )


def queue(args: argparse.Namespace) -> None:
    """Show the jobs that have not ended, or those asked for."""
    if args.watch is not None and args.output in {"json", "csv"}:
        raise UsageError(f"--watch is for people; for a program ask again and again with --output {args.output}.")
    api = open_api(args)
    if args.watch is None:
        _show(api, args)
        return
    try:
        _watch(api, args)
    except KeyboardInterrupt:
        # The way to leave, so no failure.
        print()


def _watch(api: HeadwayApi, args: argparse.Namespace) -> None:
    while True:
        # On a terminal each look takes the place of the last one; elsewhere they follow on each other.
        print(_REDRAW if sys.stdout.isatty() else "", end="")
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%SZ}, every {args.watch} s")
        try:
            _show(api, args)
        except (BusyError, NotReachableError, ServerFaultError) as error:
            to_stderr(f"The queue does not answer, and is asked again: {error}")
        print(flush=True)
        _pause(args.watch)


def _show(api: HeadwayApi, args: argparse.Namespace) -> None:
    from headway_client.cli.output import job_rows
    from headway_client.models import RogueJobs

    jobs = list(islice(_jobs(api, args), args.limit + 1))
    shown = jobs[: args.limit]
    truncated = len(jobs) > len(shown)
    rogues = api.rogue_jobs() if args.all else RogueJobs(jobs=(), more=False)
    document: dict[str, Any] = {"jobs": [job.document for job in shown], "truncated": truncated}
    if args.all:
        document |= {"rogueJobs": [rogue.document for rogue in rogues.jobs], "moreRogueJobs": rogues.more}
    show_rows(args, document, lambda *, wide: job_rows(shown, rogues.jobs, wide=wide), empty="No jobs.")
    if args.output == "json":
        return
    if truncated:
        to_stderr(f"These are the first {args.limit}; there are more: see --limit.")
    if rogues.more:
        to_stderr(f"Of the training jobs that did not come through the queue these are the first {len(rogues.jobs)}.")


def _jobs(api: HeadwayApi, args: argparse.Namespace) -> Iterator[Job]:
    # One more than shown, to know whether there are more.
    limit = args.limit + 1
    if args.state:
        yield from api.list_jobs(states=args.state, limit=limit, **chosen(args))
        return
    yield from api.list_jobs(limit=limit, **chosen(args))
    if args.all:
        yield from api.list_jobs(states=ENDED_STATES, limit=limit, **chosen(args))
