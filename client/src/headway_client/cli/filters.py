"""Which jobs a listing shows: options that the server's listing knows."""

from __future__ import annotations

import argparse
from typing import Any

from headway_client.cli import grammar

MAX_LISTED_JOBS = 10_000


def add_filters(command: argparse.ArgumentParser, *, default_limit: int) -> None:
    """Let a command take filters, all of which a job has to pass, and a limit."""
    command.add_argument("--mine", action="store_true", help="only jobs that you submitted")
    command.add_argument("--owner", metavar="ARN", help="only jobs that this user or role submitted")
    command.add_argument("--team", metavar="NAME", help="only jobs of this team")
    command.add_argument("--name", metavar="TEXT", help="only jobs with this in their name")
    command.add_argument(
        "--limit",
        type=grammar.whole(1, MAX_LISTED_JOBS),
        default=default_limit,
        metavar="N",
        help=f"show at most N jobs (default {default_limit})",
    )


def chosen(args: argparse.Namespace) -> dict[str, Any]:
    """Return the filters as arguments of `HeadwayApi.list_jobs`."""
    return {"mine": args.mine, "owner": args.owner, "team": args.team, "name_contains": args.name}
