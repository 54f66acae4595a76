"""The command compare: jobs side by side."""

from __future__ import annotations

from collections.abc import Sequence

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import JOB_NAME
from headway_client.errors import UsageError

MAX_COMPARED = 8


@click.command("compare", cls=Command, rows=True, interrupted=UNCHANGED)
@click.argument("names", nargs=-1, required=True, type=JOB_NAME, metavar="NAME NAME...")
@pass_common
def compare(common: CommonOptions, names: Sequence[str]) -> None:
    """Compare jobs: time, instance hours, cost, attempts and final metrics side by side."""
    from headway_client.cli.output.usage.compare import comparison

    if not 2 <= len(names) <= MAX_COMPARED:
        raise UsageError(f"Name 2 to {MAX_COMPARED} jobs.")
    api = open_api(common)
    jobs = [api.get_job(name) for name in names]
    document = {"jobs": [job.document for job in jobs]}
    show_rows(common, document, lambda *, wide: comparison(jobs))  # noqa: ARG005
