"""The command show: one job in detail."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import colour, open_api, show_document, width
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import job_name
from headway_client.errors import ClientError, JobNotFoundError

if TYPE_CHECKING:
    from headway_client.models import JobDetails


@click.command("show", cls=Command, interrupted=UNCHANGED)
@job_name
@pass_common
def show(common: CommonOptions, name: str) -> None:
    """Show a job with its attempts, reasons and history, and the jobs that it depends on.

    If run times are predicted, it shows when the job is likely to start or to end.
    """
    from headway_client.cli.output import dependency_tables, job_sheet

    api = open_api(common)
    details = api.get_job(name)
    if common.is_document:
        # The job's document is the whole response.
        show_document(common, details.job.document)
    else:

        def find(other: str) -> JobDetails | None:
            with suppress(JobNotFoundError):
                return api.get_job(other)
            return None

        explanation = None
        if details.predictable:
            # What is likely is an addition to what is so, and has to be simulated.
            with suppress(ClientError):
                explanation = api.explain(name)
        others = dependency_tables(details, find, width=width(common), colour=colour())
        print("\n\n".join([job_sheet(details, explanation, width=width(common), colour=colour()), *others]))
