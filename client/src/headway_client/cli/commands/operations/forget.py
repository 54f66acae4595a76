"""The command forget: a person's name is taken out of what the queue keeps."""

from __future__ import annotations

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.confirmation import confirm, yes_option
from headway_client.cli.context import open_api, show_document
from headway_client.errors import ServerFaultError


@click.command("forget", cls=Command, interrupted="What was forgotten so far stays so; run it again.")
@click.argument("owner")
@yes_option
@pass_common
def forget(common: CommonOptions, owner: str, *, yes: bool) -> None:
    """Take an OWNER's name out of their ended jobs and the sums of usage, and delete the jobs' requests."""
    api = open_api(common)
    confirm(common, f"Delete the requests and comments of the ended jobs of {owner}, and the name?", yes=yes)
    jobs = unreadable = sums = 0
    token: str | None = None
    while True:
        page = api.forget(owner, token)
        jobs, unreadable, sums = jobs + page.jobs, unreadable + page.unreadable, sums + page.sums
        if page.next_token is None or page.next_token == token:
            break
        token = page.next_token
    if common.is_document:
        show_document(common, {"jobs": jobs, "unreadable": unreadable, "sums": sums})
    else:
        print(f"{jobs} ended jobs and {sums} sums of usage no longer name {owner}.")
    if unreadable:
        raise ServerFaultError(f"{unreadable} damaged jobs still name {owner}; the API function's log names them.")
