"""The command budgets: what may be used of each budget, and was."""

from __future__ import annotations

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED


@click.command("budgets", cls=Command, rows=True, interrupted=UNCHANGED)
@pass_common
def budgets(common: CommonOptions) -> None:
    """Show what may be used of each budget, and was."""
    from headway_client.cli.output import budget_rows

    answer = open_api(common).capacity()
    document = {"budgets": [each.document for each in answer.budgets]}
    empty = "No budgets. Configure them with `headway config set FILE`."
    show_rows(common, document, lambda *, wide: budget_rows(answer.budgets, wide=wide), empty=empty)
