"""What the commands need to say which arguments they take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from headway_client.errors import UsageError

OUTPUTS = ("table", "wide", "json", "csv")

MAX_NAMES = 100
"""The most jobs that one command acts on."""

Run = Callable[[argparse.Namespace], int | None]

# argparse gives what add_subparsers() returns no public name.
_Actions: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class Parser(argparse.ArgumentParser):
    """Raises `UsageError` in place of leaving the process, so that --output json tells usage errors too."""

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


class Commands:
    """Where commands are added: at the top, or below a group such as ``config``."""

    def __init__(self, actions: _Actions, common: argparse.ArgumentParser, root: argparse.ArgumentParser) -> None:
        self._actions = actions
        self._common = common
        #: The parser of the whole command line.
        self.root = root

    def add(self, name: str, run: Run, text: str, *, rows: bool = False) -> argparse.ArgumentParser:
        """Add a command and return its parser, for its own arguments.

        Args:
            name: as it is typed.
            run: carries it out, and returns the exit code; None stands for 0.
            text: what it does, as a sentence without its first capital and its period.
            rows: whether what it prints can be had as CSV.
        """
        command = self._actions.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", parents=[self._common], allow_abbrev=False
        )
        command.set_defaults(run=run, has_rows=rows)
        return command

    def group(self, name: str, text: str) -> Commands:
        """Add a command that has commands of its own."""
        group = self._actions.add_parser(name, help=text, allow_abbrev=False)
        return Commands(group.add_subparsers(metavar="ACTION", required=True), self._common, self.root)


def common_options(*, default: str | None) -> argparse.ArgumentParser:
    """Return the options that every command takes, as a parent for argparse."""
    common = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    group = common.add_argument_group("common options")
    group.add_argument("--endpoint", metavar="URL", default=default, help="the queue's API, with its stage")
    group.add_argument("--profile", metavar="NAME", default=default, help="a profile of the profile file, or `sandbox`")
    group.add_argument("--region", default=default, help="the API's AWS region (HEADWAY_REGION)")
    group.add_argument(
        "--output",
        "-o",
        choices=OUTPUTS,
        default=default or "table",
        help="table (default), wide: with more columns and nothing cut, json, for errors too, or csv for lists",
    )
    return common


def add_name(command: argparse.ArgumentParser) -> None:
    """Let a command take the name of a job."""
    command.add_argument("name", metavar="NAME", help="the job's name")


def add_names(command: argparse.ArgumentParser) -> None:
    """Let a command take the names of jobs, as `names`."""
    command.add_argument(
        "names", metavar="NAME", nargs="+", action=_Names, help=f"the job's name; up to {MAX_NAMES} of them"
    )


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a type of arguments: whole numbers in a range."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)

    return read


def decimal(text: str) -> float:
    """Read a number such as 2.5."""
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no number such as 1 or 2.5")
    return float(text)


priority = whole(0, 9999)
"""The type of priorities."""


class _Names(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        names = list(dict.fromkeys(values or ()))
        if len(names) > MAX_NAMES:
            parser.error(f"these are {len(names)} jobs; a command takes up to {MAX_NAMES}")
        setattr(namespace, self.dest, names)
