"""The command completion: scripts that teach a shell the command line."""

from __future__ import annotations

import argparse

from headway_client.cli.grammar import Commands


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("completion", completion, "print a script that completes headway's command lines in a shell")
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    command.set_defaults(root=commands.root)


def completion(args: argparse.Namespace) -> None:
    """Print the script."""
    from headway_client.cli import shell_completion

    print(shell_completion.script(args.shell, args.root), end="")
