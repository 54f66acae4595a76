"""The command recount: sums of usage are repaired, or compared with the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.dimensions import NAMES
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_json, wants_json
from headway_client.errors import BusyError, UsageError

if TYPE_CHECKING:
    from headway.accounting.differences import Difference
    from headway_client.http.api import HeadwayApi

MAX_SCANS = 6
"""How often the jobs are read for a comparison while the sums of the day change."""


@click.command("recount", cls=Command, interrupted="What was repaired so far stays; run it again.")
@click.option(
    "--compare",
    "day",
    metavar="DAY",
    help="Change nothing: show in what the sums of this UTC day, such as 2026-11-24, differ from the jobs.",
)
@click.option("--by", type=click.Choice(NAMES), help="The sums to compare (default team); needs --compare.")
@pass_common
def recount(common: CommonOptions, day: str | None, by: str | None) -> None:
    """Compare the sums of usage with the jobs that are kept, and add what they lack."""
    if day is not None:
        _show_comparison(common, by or "team", day)
        return
    if by is not None:
        raise UsageError("--by needs --compare.")
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


def _show_comparison(common: CommonOptions, by: str, day: str) -> None:
    from headway.sanitize import strip_control_characters

    found, incomplete = _compare(open_api(common), by, day)
    if wants_json(common):
        listed = [
            {"name": each.name, "figure": each.figure, "stored": each.stored, "computed": each.computed}
            for each in found
        ]
        show_json({"by": by, "day": day, "differences": listed, "incomplete": incomplete})
        return
    for each in found:
        name = strip_control_characters(each.name) or "(none)"
        kind = "too much" if each.stored > each.computed else "too little"
        print(f"{by} {name}: {each.figure}: the sum has {each.stored}, the jobs have {each.computed}: {kind}.")
    if not found:
        print(f"The sums of {day} by {by} have what the jobs have.")
    if incomplete:
        named = ", ".join(map(strip_control_characters, incomplete))
        print(f"Jobs with more attempts than are kept, so that the jobs may seem to have too little: {named}.")


def _compare(api: HeadwayApi, by: str, day: str) -> tuple[list[Difference], list[str]]:
    """The differences, and the jobs of which attempts are not kept."""
    for _ in range(MAX_SCANS):
        scanned = _scan(api, by, day)
        if scanned is not None:
            return scanned
    raise BusyError(f"The sums of {day} keep changing; try again later.")


def _scan(api: HeadwayApi, by: str, day: str) -> tuple[list[Difference], list[str]] | None:
    """The differences; None if the sums have changed meanwhile."""
    from headway.accounting.differences import differences

    jobs: dict[str, Any] = {}
    token: str | None = None
    while True:
        page = api.compare_usage(by, day, token)
        jobs |= {job.name: job for job in page.jobs}
        token = page.next_token
        if token is None:
            break
    if page.changed:
        return None
    incomplete = sorted(job.name for job in jobs.values() if not job.complete)
    return differences(page.stored or {}, [job.sums for job in jobs.values()]), incomplete
