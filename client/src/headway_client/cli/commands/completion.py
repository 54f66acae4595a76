"""The command completion: click's completion scripts for shells."""

from __future__ import annotations

import click

from headway_client.cli.command import Command

VARIABLE = "_HEADWAY_COMPLETE"
"""The environment variable by which a script asks `headway` for completions."""


@click.command("completion", cls=Command)
@click.argument("shell", metavar="SHELL", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes headway's command lines in a shell."""
    from click.shell_completion import get_completion_class

    completer = get_completion_class(shell)
    if completer is not None:
        print(completer(ctx.find_root().command, {}, "headway", VARIABLE).source())
