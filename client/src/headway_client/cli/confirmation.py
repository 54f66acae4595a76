"""Ask before a command changes something that is not easy to undo."""

from __future__ import annotations

import sys

import click

from headway_client.cli.arguments.params import Function
from headway_client.cli.command import CommonOptions
from headway_client.cli.interruption import UNCHANGED, Interrupted
from headway_client.errors import UsageError


def yes_option(function: Function) -> Function:
    """Add the option --yes as the parameter `yes`."""
    return click.option("--yes", "-y", is_flag=True, help="Do not ask; required without a terminal.")(function)


def confirm(common: CommonOptions, question: str, *, yes: bool) -> None:
    """Return if the user confirms.

    Args:
        common: the common options; other output than tables is for programs, which can't answer.
        question: what would be done.
        yes: whether the user has confirmed with --yes.

    Raises:
        UsageError: the user declines, or there is no terminal to ask on; nothing was changed.
        Interrupted: Ctrl-C at the question; nothing was changed.
    """
    if yes:
        return
    if not common.for_people or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("Nothing was changed: this needs a confirmation; add --yes.")
    try:
        confirmed = click.confirm(question, err=True)
    except click.Abort:
        # click maps both Ctrl-C and the end of the input to this.
        raise Interrupted(UNCHANGED) from None
    if not confirmed:
        raise UsageError("Nothing was changed.")
