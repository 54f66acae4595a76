"""The command completion: print click's completion script for a shell."""

from __future__ import annotations

import click

from headway_client.cli.command import Command
from headway_client.cli.interruption import UNCHANGED

VARIABLE = "_HEADWAY_COMPLETE"
"""The environment variable with which a completion script requests completions from `headway`."""


@click.command("completion", cls=Command, interrupted=UNCHANGED)
@click.argument("shell", metavar="SHELL", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes headway's command lines in a shell."""
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    if completer is not None:
        print(completer(ctx.find_root().command, {}, "headway", VARIABLE).source())
