"""The command capacity: the pools and how they are used."""

from __future__ import annotations

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED


@click.command("capacity", cls=Command, rows=True, interrupted=UNCHANGED)
@pass_common
def capacity(common: CommonOptions) -> None:
    """Show the pools and how their instances are used."""
    from headway_client.cli.output import pool_rows

    answer = open_api(common).capacity()
    empty = "No pools. Configure them with `headway config set FILE`."
    show_rows(common, answer.document, lambda *, wide: pool_rows(answer.pools, wide=wide), empty=empty)
