"""The commands that ask the scheduler: why, forecast, what-if. None of them changes anything."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from headway_client.cli import grammar, input_files
from headway_client.cli.context import colour, open_api, show_json, show_rows, wants_json, width
from headway_client.cli.grammar import Commands
from headway_client.errors import UsageError
from headway_client.text import to_stderr

MAX_CHANGES = 10
"""The most changes that the server tries out at a time."""

MAX_FORECAST_JOBS = 100
"""The most jobs that the server tells of."""


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    grammar.add_name(commands.add("why", why, "explain why a job waits, who is ahead of it, and what can be done"))

    command = commands.add("forecast", forecast, "show when waiting jobs are expected to start", rows=True)
    command.add_argument("name", metavar="NAME", nargs="?", help="only this job")
    command.add_argument(
        "--limit",
        type=grammar.whole(1, MAX_FORECAST_JOBS),
        default=MAX_FORECAST_JOBS,
        metavar="N",
        help=f"show at most N jobs (default {MAX_FORECAST_JOBS})",
    )

    command = commands.add("what-if", what_if, "show what changes would bring about, without making them")
    group = command.add_argument_group(
        "changes", f"up to {MAX_CHANGES}, each may repeat; they are made in the order in which they are given"
    )
    for option, metavar, make, text in (
        ("--submit", "FILE", _submit, "a request is submitted; - is standard input"),
        ("--withdraw", "NAME", _withdraw, "a job leaves the queue"),
        ("--priority", "NAME=N", _reprioritise, "a job has another priority"),
        ("--pool", "POOL=N", _resize, "a pool has another size"),
    ):
        group.add_argument(option, metavar=metavar, action=_Change, make=make, dest="changes", default=[], help=text)


def why(args: argparse.Namespace) -> None:
    """Explain why a job is where it is."""
    from headway_client.cli.output import explanation_sheet

    told = open_api(args).explain(args.name)
    if wants_json(args):
        show_json(told.document)
    else:
        print(explanation_sheet(told, width=width(args), colour=colour()))


def forecast(args: argparse.Namespace) -> None:
    """Show when waiting jobs are expected to start."""
    from headway_client.cli.output import forecast_rows

    told = open_api(args).forecast(args.name, limit=args.limit)
    empty = "No jobs wait." if args.name is None else f"{args.name} does not wait."
    show_rows(args, told.document, lambda *, wide: forecast_rows(told), empty=empty)  # noqa: ARG005
    if wants_json(args) or not told.jobs:
        return
    to_stderr(told.note)
    if told.more:
        to_stderr(f"These are the first {len(told.jobs)}; there are more.")


def what_if(args: argparse.Namespace) -> None:
    """Show what changes would bring about."""
    from headway_client.cli.output import what_if_sheet

    if not 1 <= len(args.changes) <= MAX_CHANGES:
        raise UsageError(
            f"These are {len(args.changes)} changes; give 1 to {MAX_CHANGES} by --submit, --withdraw, --priority and "
            "--pool."
        )
    told = open_api(args).what_if([make(value) for make, value in args.changes])
    if wants_json(args):
        show_json(told.document)
    else:
        print(what_if_sheet(told, width=width(args)))


def _submit(source: str) -> dict[str, Any]:
    return {"change": "submit", "request": input_files.read_object(source)}


def _withdraw(name: str) -> dict[str, Any]:
    return {"change": "withdraw", "jobName": name}


def _reprioritise(text: str) -> dict[str, Any]:
    name, priority = _pair(text, "--priority", "NAME=N", grammar.priority)
    return {"change": "reprioritise", "jobName": name, "priority": priority}


def _resize(text: str) -> dict[str, Any]:
    pool, size = _pair(text, "--pool", "POOL=N", grammar.whole(0, 999_999_999))
    return {"change": "resize", "pool": pool, "size": size}


def _pair(text: str, option: str, form: str, number: Callable[[str], int]) -> tuple[str, int]:
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise UsageError(f"{option} {text}: this is no {form}.")
    try:
        return name, number(value)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{option} {text}: {error}.") from error


class _Change(argparse.Action):
    """Keeps changes of all kinds in one list, in the order in which they are given."""

    def __init__(self, *, make: Callable[[str], dict[str, Any]], **options: Any) -> None:
        super().__init__(**options)
        self._make = make

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (self._make, values)])
