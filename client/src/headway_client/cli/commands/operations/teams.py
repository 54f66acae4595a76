"""The command teams: what teams are guaranteed, use and wait for."""

from __future__ import annotations

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED


@click.command("teams", cls=Command, rows=True, interrupted=UNCHANGED)
@pass_common
def teams(common: CommonOptions) -> None:
    """Show what each team is guaranteed, uses and waits for."""
    from headway_client.cli.output import team_rows

    answer = open_api(common).capacity()
    document = {"teams": [team.document for team in answer.teams]}
    empty = "No teams. Configure them with `headway config set FILE`."
    show_rows(common, document, lambda *, wide: team_rows(answer.teams, wide=wide), empty=empty)
