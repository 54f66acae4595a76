"""Options that filter the jobs of a listing; the server applies them."""

from __future__ import annotations

from collections.abc import Callable

import click

from headway_client.cli.arguments.params import Arn, Function, WholeNumber

MAX_LISTED_JOBS = 10_000


def job_filters(*, default_limit: int) -> Callable[[Function], Function]:
    """Add the filters of `HeadwayApi.list_jobs`, all of which have to match, and a limit.

    Args:
        default_limit: the number of jobs without --limit.

    Returns:
        A decorator for a command's function, which receives `mine`, `owner`, `team`, `name_contains` and `limit`.
    """
    options = [
        click.option("--mine", is_flag=True, help="Only jobs that you submitted."),
        click.option("--owner", type=Arn(), metavar="ARN", help="Only jobs that this user or role submitted."),
        click.option("--team", metavar="NAME", help="Only jobs of this team."),
        click.option("--name", "name_contains", metavar="TEXT", help="Only jobs whose name contains this text."),
        click.option(
            "--limit",
            type=WholeNumber(1, MAX_LISTED_JOBS),
            default=default_limit,
            metavar="N",
            help=f"Show at most N jobs (default {default_limit}).",
        ),
    ]

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add
