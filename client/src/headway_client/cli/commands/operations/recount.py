"""The command recount: sums of usage are repaired."""

from __future__ import annotations

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_json, wants_json


@click.command("recount", cls=Command, interrupted="What was repaired so far stays; run it again.")
@pass_common
def recount(common: CommonOptions) -> None:
    """Compare the sums of usage with the jobs that are kept, and add what they lack."""
    api = open_api(common)
    compared = repaired = 0
    token: str | None = None
    while True:
        page = api.recount(token)
        compared, repaired = compared + page.compared, repaired + page.repaired
        if page.next_token is None or page.next_token == token:
            break
        token = page.next_token
    if wants_json(common):
        show_json({"compared": compared, "repaired": repaired})
    else:
        print(f"{compared} ended jobs were compared with the sums of usage; {repaired} were added.")
