"""The command line's grammar: the common options, and the commands, each of which brings its own arguments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from headway_client import __version__
from headway_client.cli.commands import (
    completion,
    connect,
    dlq,
    doctor,
    forecast,
    history,
    logs,
    policy,
    pool_operations,
    pools,
    queue,
    sandbox,
    show,
    simulate,
    submit,
    update,
    version,
    wait,
)
from headway_client.cli.grammar import Commands, Parser, common_options
from headway_client.errors import UsageError

_GROUPS = (
    submit,
    queue,
    show,
    forecast,
    wait,
    logs,
    connect,
    update,
    history,
    pools,
    pool_operations,
    policy,
    dlq,
    doctor,
    version,
    completion,
    sandbox,
    simulate,
)
"""In the order of the help."""

_DESCRIPTION = "Queue SageMaker training jobs on a fixed number of instances, the most important first."

_EPILOG = """\
The queue's endpoint is taken from --endpoint, HEADWAY_ENDPOINT, the profile (--profile, HEADWAY_PROFILE or
the default of ~/.config/headway/config.toml), or the sandbox of the checkout you stand in.

exit codes: 0 done, 2 wrong usage, 3 refused, 4 no such job or pool, 5 conflict, 6 not reachable or not allowed,
7 busy or faulty server, 8 a job that was waited for failed or was stopped, 9 the time to wait is up,
10 server too old, 1 anything unexpected, 130 interrupted; of several jobs the highest
"""


def build() -> argparse.ArgumentParser:
    """Return the parser; what it parses holds the command's function as `run`."""
    # The common options may stand before the command or behind it. Behind it they have no default, which
    # would otherwise wipe out what was given before.
    parser: argparse.ArgumentParser = Parser(
        prog="headway",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common_options(default=None)],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"headway {__version__}")
    actions = parser.add_subparsers(metavar="COMMAND", required=True)
    commands = Commands(actions, common_options(default=argparse.SUPPRESS), parser)
    for group in _GROUPS:
        group.register(commands)
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; `UsageError` if it is none."""
    args = build().parse_args(arguments)
    if args.output == "csv" and not args.has_rows:
        raise UsageError("What this command prints are no rows, so there is no csv of it: use --output json.")
    return args
