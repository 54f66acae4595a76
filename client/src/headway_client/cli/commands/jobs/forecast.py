"""The commands for predictions: why, forecast, what-if. They change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.params import FILE, PRIORITY, WholeNumber
from headway_client.cli.command import Command, CommonOptions, OrderedCommand, pass_common
from headway_client.cli.context import colour, open_api, show_document, show_rows, width
from headway_client.cli.interruption import UNCHANGED
from headway_client.cli.job_names import JOB_NAME, job_name
from headway_client.errors import UsageError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.cli.output.table import Table

MAX_CHANGES = 10
"""Maximum number of changes in one call of the server."""

MAX_FORECAST_JOBS = 100
"""Maximum number of jobs in the server's forecast."""


@click.command("why", cls=Command, interrupted=UNCHANGED)
@job_name
@pass_common
def why(common: CommonOptions, name: str) -> None:
    """Explain why a job waits, which jobs are ahead of it, and what can be done."""
    from headway_client.cli.output import explanation_sheet

    explanation = open_api(common).explain(name)
    if common.is_document:
        show_document(common, explanation.document)
    else:
        print(explanation_sheet(explanation, width=width(common), colour=colour()))


@click.command("forecast", cls=Command, rows=True, names=True, interrupted=UNCHANGED)
@click.argument("name", metavar="[NAME]", required=False, type=JOB_NAME, help="Only this job.")
@click.option(
    "--limit",
    type=WholeNumber(1, MAX_FORECAST_JOBS),
    default=MAX_FORECAST_JOBS,
    metavar="N",
    help=f"Show at most N jobs (default {MAX_FORECAST_JOBS}).",
)
@pass_common
def forecast(common: CommonOptions, name: str | None, limit: int) -> None:
    """Show when waiting jobs are expected to start."""
    from headway_client.cli.output import forecast_rows

    found = open_api(common).forecast(name, limit=limit)
    empty = "No jobs are waiting." if name is None else f"{name} is not waiting."

    def rows(*, wide: bool) -> Table:
        return forecast_rows(found, wide=wide)

    show_rows(common, found.document, rows, names=[job.job_name for job in found.jobs], empty=empty)
    if common.is_document or not found.jobs:
        return
    to_stderr(found.note)
    if found.more:
        to_stderr(f"There are more jobs than the first {len(found.jobs)}.")


@click.command("what-if", cls=OrderedCommand, interrupted=UNCHANGED)
@click.option("--submit", multiple=True, metavar="FILE", type=FILE, help="A request is submitted; - is standard input.")
@click.option("--withdraw", multiple=True, metavar="NAME", type=JOB_NAME, help="A job leaves the queue.")
@click.option("--priority", multiple=True, metavar="NAME=N", help="The priority of a job changes.")
@click.option("--pool", multiple=True, metavar="POOL=N", help="The size of a pool changes.")
@click.pass_context
def what_if(ctx: click.Context, /, **values: Sequence[str]) -> None:
    """Show the effect of changes without making them.

    Give 1 to 10 changes. They are made in the order in which they are given; each option is repeatable.
    """
    from headway_client.cli.output import what_if_sheet

    common = ctx.ensure_object(CommonOptions)
    chosen = OrderedCommand.in_order(ctx, values)
    if not 1 <= len(chosen) <= MAX_CHANGES:
        raise UsageError(
            f"There are {len(chosen)} changes; give 1 to {MAX_CHANGES} of --submit, --withdraw, --priority and --pool."
        )
    make = {"submit": _submit, "withdraw": _withdraw, "priority": _reprioritise, "pool": _resize}
    effect = open_api(common).what_if([make[name](value) for name, value in chosen])
    if common.is_document:
        show_document(common, effect.document)
    else:
        print(what_if_sheet(effect, width=width(common)))


def _submit(source: str) -> dict[str, Any]:
    return {"change": "submit", "request": input_files.read_object(source)}


def _withdraw(name: str) -> dict[str, Any]:
    return {"change": "withdraw", "jobName": name}


def _reprioritise(text: str) -> dict[str, Any]:
    name, priority = _pair(text, "--priority", "NAME=N", PRIORITY)
    return {"change": "reprioritise", "jobName": name, "priority": priority}


def _resize(text: str) -> dict[str, Any]:
    pool, size = _pair(text, "--pool", "POOL=N", WholeNumber(0, 999_999_999))
    return {"change": "resize", "pool": pool, "size": size}


def _pair(text: str, option: str, form: str, number: WholeNumber) -> tuple[str, int]:
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise UsageError(f"{option} {text}: expected {form}.")
    try:
        return name, number.convert(value, None, None)
    except click.BadParameter as error:
        raise UsageError(f"{option} {text}: {error.message}.") from error
