"""Options that choose and sort the columns of a list of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from headway_client.cli.arguments.params import Function
from headway_client.errors import UsageError

NAMES = (
    *(
        "name",
        "state",
        "priority",
        "place",
        "demand",
        "otherwise",
        "after",
        "instances",
        "age",
        "elapsed",
        "limit",
        "entered",
    ),
    *("started", "ended", "wait", "run", "attempts", "preemptions", "hours", "usage", "team", "owner", "attempt"),
    *("members", "comment", "why"),
)
"""The names of the columns. They are here, as --help must not wait for the modules that format them."""


class Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns with commas between them.

    Args:
        sign: whether a minus may precede a name.
    """

    name = "columns"

    def __init__(self, *, sign: bool = False) -> None:
        self._sign = sign

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip().lower() for part in str(value).split(","))
        for name in names:
            bare = name.removeprefix("-") if self._sign else name
            if bare not in NAMES:
                self.fail(f"there is no column {bare!r}; there are {', '.join(NAMES)}", param, ctx)
        return names


def column_options(function: Function) -> Function:
    """Add the options --columns and --sort, as the parameters `columns` and `sort`."""
    options: Sequence[Callable[[Function], Function]] = (
        click.option(
            "--columns",
            "-O",
            type=Columns(),
            default=(),
            metavar="NAME,...",
            help=f"The columns to show, in this order: {', '.join(NAMES)}.",
        ),
        click.option(
            "--sort",
            type=Columns(sign=True),
            default=(),
            metavar="NAME,...",
            help="Sort the jobs that are shown by these columns; -NAME sorts in descending order.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def require_rows(columns: Sequence[str], output: str) -> None:
    """Check that the output format has columns.

    Args:
        columns: the chosen columns.
        output: the output format.

    Raises:
        UsageError: it has none.
    """
    if columns and output == "json":
        raise UsageError("--columns does not support --output json, which has all members of each job.")
