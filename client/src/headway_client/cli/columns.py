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

ENDED_NAMES = (
    *("name", "state", "priority", "entered", "started", "ended", "wait", "run", "attempts", "preemptions", "hours"),
    *("lost", "usage", "billed", "cost", "lost-cost", "saved", "estimate", "unpriced", "lost-unpriced", "prices"),
    *("team", "owner"),
)
"""Those of jobs that ended in a span of time, of which the queue returns what they used, lost and cost."""


class Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns with commas between them.

    Args:
        known: the names of the columns.
        sign: whether a minus may precede a name.
    """

    name = "columns"

    def __init__(self, known: Sequence[str], *, sign: bool = False) -> None:
        self._known = known
        self._sign = sign

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip().lower() for part in str(value).split(","))
        for name in names:
            bare = name.removeprefix("-") if self._sign else name
            if bare not in self._known:
                self.fail(f"there is no column {bare!r}; there are {', '.join(self._known)}", param, ctx)
        return names


def column_options(**others: Sequence[str]) -> Callable[[Function], Function]:
    """Add the options --columns and --sort, as the parameters `columns` and `sort`.

    Args:
        others: the columns with another option, by its name.
    """
    known = tuple(dict.fromkeys((*NAMES, *(name for names in others.values() for name in names))))
    lists = [", ".join(NAMES), *(f"with --{option}: {', '.join(names)}" for option, names in others.items())]
    options = [
        click.option(
            "--columns",
            "-O",
            type=Columns(known),
            default=(),
            metavar="NAME,...",
            help=f"The columns to show, in this order: {'; '.join(lists)}.",
        ),
        click.option(
            "--sort",
            type=Columns(known, sign=True),
            default=(),
            metavar="NAME,...",
            help="Sort the jobs that are shown by these columns; -NAME sorts in descending order.",
        ),
    ]

    def add(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def require_known(names: Sequence[str], known: Sequence[str], where: str) -> None:
    """Check that a listing has columns.

    Args:
        names: the columns; a minus may precede a name.
        known: those that the listing has.
        where: the listing, such as "With --since".

    Raises:
        UsageError: it lacks one.
    """
    for name in names:
        bare = name.removeprefix("-")
        if bare not in known:
            raise UsageError(f"{where} there is no column {bare!r}; there are {', '.join(known)}.")


def require_rows(columns: Sequence[str], output: str) -> None:
    """Check that the output format has columns.

    Args:
        columns: the chosen columns.
        output: the output format.

    Raises:
        UsageError: it has none.
    """
    if columns and output not in {"table", "wide", "csv"}:
        raise UsageError(f"--columns does not support --output {output}, which has no columns.")
