"""The commands usage and report: usage by team, owner, pool or tag, in days, months or a range."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.dimensions import Dimension
from headway_client.cli.arguments.output_files import write_text
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Usage

STEPS = ("total", "month", "day")


@click.command("usage", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--by", type=Dimension(), default="team", metavar="NAME", help="team, owner, pool, or tag:NAME.")
@click.option("--from", "first", required=True, metavar="DAY", help="The first day, in UTC, such as 2026-11-01.")
@click.option("--to", "last", metavar="DAY", help="The last day, which is included (default today).")
@click.option("--step", type=click.Choice(STEPS), default="total", help="A row for the whole range, a month or a day.")
@pass_common
def usage(common: CommonOptions, by: str, first: str, last: str | None, step: str) -> None:
    """Show what was used, lost and waited for, from sums by day and month."""
    from headway_client.cli.output import usage_rows

    found = open_api(common).usage(by, first, last, step=step)
    show_rows(common, found.document, lambda *, wide: usage_rows(found, wide=wide), empty="Nothing was used.")


@click.command("report", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--month", required=True, metavar="MONTH", help="The month, such as 2026-11.")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with plots to this file. It needs no network and runs no script.",
)
@pass_common
def report(common: CommonOptions, month: str, page: Path | None) -> None:
    """Show a month by team, owner and pool: as a table, as CSV, or as a page."""
    from headway_client.cli.output.usage.report import Report, days_of, month_rows

    days = days_of(month)
    if days is None:
        raise UsageError(f"{month!r} is no month: write it as 2026-11.")
    api = open_api(common)
    # How good predictions were is the same by whatever the sums are.
    sums = tuple(api.usage(by, *days, predictions=by == "pool") for by in ("team", "owner", "pool"))
    found = Report(month=month, sums=sums, daily=_by_days(api, *days) if page is not None else None)
    if page is not None:
        write_text(page, found.html())
    if page is not None and common.output in {"table", "wide"}:
        print(f"{page} has the report of {month}.")
        return
    by_pool = sums[-1]
    quality = {"predictions": by_pool.document["predictions"]} if by_pool.predictions else {}
    document = {"month": month, "usage": [each.document for each in sums], **quality}
    show_rows(common, document, lambda *, wide: month_rows(found, wide=wide), empty="Nothing was used.")


def _by_days(api: HeadwayApi, first: str, last: str) -> Usage | None:
    """Return the sums of a month by pool, day by day; None if those of its first day are not kept any more."""
    from headway.accounting.days import day_of, kept_since

    if date.fromisoformat(first) < kept_since(day_of(int(api.now_s() * 1000))):
        return None
    return api.usage("pool", first, last, step="day")
