"""The commands usage and report: usage by team, owner, pool or tag, in days, months or a range."""

from __future__ import annotations

from pathlib import Path

import click

from headway_client.cli.arguments.dimensions import Dimension
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_json, show_rows, wants_json
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import UsageError

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
    found = Report(
        month=month,
        sums=tuple(api.usage(by, *days) for by in ("team", "owner", "pool")),
        daily=api.usage("pool", *days, step="day", predictions=True),
    )
    if page is not None:
        page.write_text(found.html(), encoding="utf-8")
        print(f"{page} has the report of {month}.")
    elif wants_json(common):
        quality = {"predictions": found.daily.document["predictions"]} if found.daily.predictions else {}
        show_json({"month": month, "usage": [each.document for each in found.sums], **quality})
    else:
        show_rows(common, {}, lambda *, wide: month_rows(found, wide=wide), empty="Nothing was used.")
