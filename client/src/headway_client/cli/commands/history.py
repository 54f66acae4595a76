"""The command history: the jobs that have ended, and what they used."""

from __future__ import annotations

import argparse

from headway_client.cli.context import open_api, show_rows, wants_json
from headway_client.cli.filters import add_filters, chosen
from headway_client.cli.grammar import Commands
from headway_client.job_states import ENDED_STATES
from headway_client.text import to_stderr

DEFAULT_LIMIT = 50


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("history", history, "show ended jobs, the newest first, and what they used", rows=True)
    command.add_argument("--state", action="append", choices=ENDED_STATES, help="only this state; may repeat")
    add_filters(command, default_limit=DEFAULT_LIMIT)


def history(args: argparse.Namespace) -> None:
    """Show the jobs that have ended."""
    from headway_client.cli.output import history_rows

    # One more than shown, to know whether there are more.
    states = args.state or ENDED_STATES
    jobs = list(open_api(args).list_jobs(states=states, limit=args.limit + 1, **chosen(args)))
    shown = jobs[: args.limit]
    document = {"jobs": [job.document for job in shown], "truncated": len(jobs) > len(shown)}
    show_rows(args, document, lambda *, wide: history_rows(shown, wide=wide), empty="No jobs.")
    if len(jobs) > len(shown) and not wants_json(args):
        to_stderr(f"These are the newest {args.limit}; there are more: see --limit.")
