"""The command actions: what operators have done to the whole queue."""

from __future__ import annotations

import click

from headway_client.cli.arguments.params import WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED

DEFAULT_ACTIONS = 20

MAX_ACTIONS = 1000
"""Actions that one command shows."""


@click.command("actions", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option(
    "--limit", type=WholeNumber(1, MAX_ACTIONS), default=DEFAULT_ACTIONS, metavar="N", help="At most N actions."
)
@pass_common
def actions(common: CommonOptions, limit: int) -> None:
    """Show what operators have done: who paused, resumed or configured the queue, when and why."""
    from headway_client.cli.output import action_rows

    found = open_api(common).actions(limit=limit)
    show_rows(common, found.document, lambda *, wide: action_rows(found.actions, wide=wide))
