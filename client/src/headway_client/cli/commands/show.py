"""The command show: all about one job."""

from __future__ import annotations

import argparse

from headway_client.cli import grammar
from headway_client.cli.context import colour, open_api, show_json, wants_json, width
from headway_client.cli.grammar import Commands


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    grammar.add_name(commands.add("show", show, "show a job with its attempts, reasons and history"))


def show(args: argparse.Namespace) -> None:
    """Show all about one job."""
    from headway_client.cli.output import job_sheet

    details = open_api(args).get_job(args.name)
    if wants_json(args):
        # The details keep the job's document, which is the whole answer.
        show_json(details.job.document)
    else:
        print(job_sheet(details, width=width(args), colour=colour()))
