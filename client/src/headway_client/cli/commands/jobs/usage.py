"""The commands usage and report: usage by team, owner, pool or tag, in days, months or a range."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway_client.cli.arguments.dimensions import Dimension
from headway_client.cli.arguments.moments import today
from headway_client.cli.arguments.output_files import write_text
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_rows
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.cli.output.table import Table
    from headway_client.http.api import HeadwayApi
    from headway_client.models import Usage

STEPS = ("total", "month", "day")


def _has_totals(common: CommonOptions) -> bool:
    """Return whether rows are followed by their total: programs, which read CSV or bare rows, would count it as one."""
    return common.output != "csv" and common.headers


@click.command("usage", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--by", type=Dimension(), default="team", metavar="NAME", help="team, owner, pool, or tag:NAME.")
@click.option(
    "--from",
    "first",
    metavar="DAY",
    help="The first day, in UTC, such as 2026-11-01 (default: the first one of the month of the last day).",
)
@click.option("--to", "last", metavar="DAY", help="The last day, which is included (default today).")
@click.option("--step", type=click.Choice(STEPS), default="total", help="A row for the whole range, a month or a day.")
@pass_common
def usage(common: CommonOptions, by: str, first: str | None, last: str | None, step: str) -> None:
    """Show what was used, lost and waited for, from sums by day and month."""
    from headway_client.cli.output import usage_rows

    api = open_api(common)
    found = api.usage(by, first or _first_of_month(api, last), last, step=step)

    def rows(*, wide: bool) -> Table:
        return usage_rows(found, wide=wide, totals=_has_totals(common))

    show_rows(common, found.document, rows, empty=f"Nothing was used from {found.first} to {found.last} (UTC).")


@click.command("report", cls=Command, rows=True, interrupted=UNCHANGED)
@click.option("--month", metavar="MONTH", help="The month, such as 2026-11 (default: this month, in UTC).")
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with plots to this file. It needs no network and runs no script.",
)
@pass_common
def report(common: CommonOptions, month: str | None, page: Path | None) -> None:
    """Show a month by team, owner and pool: as a table, as CSV, or as a page."""
    from headway.days import month_of
    from headway_client.cli.output.usage.report import Report, days_of, month_rows

    api = open_api(common)
    month = month or month_of(today(api))
    days = days_of(month)
    if days is None:
        raise UsageError(f"{month!r} is no month: write it as 2026-11.")
    # How good predictions were is the same by whatever the sums are.
    sums = tuple(api.usage(by, *days, predictions=by == "pool") for by in ("team", "owner", "pool"))
    found = Report(month=month, sums=sums, daily=_by_days(api, *days) if page is not None else None)
    if page is not None:
        write_text(page, found.html())
    if page is not None and common.for_people:
        print(f"{page} has the report of {month}.")
        return
    by_pool = sums[-1]
    quality = {"predictions": by_pool.document["predictions"]} if by_pool.predictions else {}
    document = {"month": month, "usage": [each.document for each in sums], **quality}

    def rows(*, wide: bool) -> Table:
        return month_rows(found, wide=wide, totals=_has_totals(common))

    show_rows(common, document, rows, empty=f"Nothing was used in {month}.")


def _first_of_month(api: HeadwayApi, last: str | None) -> str:
    """Return the first day of the month of a range's last day, which is today unless it is given."""
    from headway.days import month_of

    try:
        day = today(api) if last is None else date.fromisoformat(last)
    except ValueError:
        raise UsageError(f"{last!r} is no day: write it as 2026-11-30.") from None
    return f"{month_of(day)}-01"


def _by_days(api: HeadwayApi, first: str, last: str) -> Usage | None:
    """Return the sums of a month by pool, day by day; None if those of its first day are not kept any more."""
    from headway.days import kept_since

    if date.fromisoformat(first) < kept_since(today(api)):
        return None
    return api.usage("pool", first, last, step="day")
