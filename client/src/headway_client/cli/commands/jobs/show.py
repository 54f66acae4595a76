"""The command show: one job in detail."""

from __future__ import annotations

import click

from headway_client.cli.arguments.params import job_name
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import colour, open_api, show_json, wants_json, width
from headway_client.cli.interruption import UNCHANGED


@click.command("show", cls=Command, interrupted=UNCHANGED)
@job_name
@pass_common
def show(common: CommonOptions, name: str) -> None:
    """Show a job with its attempts, reasons and history."""
    from headway_client.cli.output import job_sheet

    details = open_api(common).get_job(name)
    if wants_json(common):
        # The job's document is the whole response.
        show_json(details.job.document)
    else:
        print(job_sheet(details, width=width(common), colour=colour()))
