"""The command recount: sums of usage are repaired, or compared with the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.dimensions import NAMES
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.confirmation import confirm, yes_option
from headway_client.cli.context import open_api, show_document
from headway_client.errors import ServerFaultError, UsageError
from headway_client.text import counted

if TYPE_CHECKING:
    from headway_client.cli.usage_comparison import Comparison


MAX_NAMED = 10
"""Damaged jobs that the message names; `--output json` has them all."""


@click.command("recount", cls=Command, interrupted="What was repaired so far stays; run it again.")
@click.option(
    "--compare",
    "compared",
    metavar="DAY",
    help="Change nothing: show in what the sums of this UTC day, such as 2026-11-24, differ from the jobs.",
)
@click.option(
    "--repair",
    "repaired",
    metavar="DAY",
    help="Show the same, and give the sums what the jobs have, too much as well as too little; asks before.",
)
@click.option(
    "--by", type=click.Choice(NAMES), help="The sums: by default those by team for --compare, and all for --repair."
)
@yes_option
@pass_common
def recount(common: CommonOptions, compared: str | None, repaired: str | None, by: str | None, *, yes: bool) -> None:
    """Compare the sums of usage with the jobs that are kept, and add what they lack."""
    if compared is not None and repaired is not None:
        raise UsageError("Use either --compare or --repair.")
    if repaired is not None:
        _repair(common, [by] if by else list(NAMES), repaired, yes=yes)
        return
    if yes:
        raise UsageError("--yes needs --repair.")
    if compared is not None:
        _show_comparison(common, by or "team", compared)
        return
    if by is not None:
        raise UsageError("--by needs --compare or --repair.")
    api = open_api(common)
    count = added = 0
    unreadable: list[str] = []
    token: str | None = None
    while True:
        page = api.recount(token)
        count, added = count + page.compared, added + page.repaired
        unreadable += page.unreadable
        if page.next_token is None or page.next_token == token:
            break
        token = page.next_token
    if common.is_document:
        show_document(common, {"compared": count, "repaired": added, "unreadable": unreadable})
    else:
        print(f"{count} ended jobs were compared with the sums of usage; {added} were added.")
    if unreadable:
        more = len(unreadable) - MAX_NAMED
        named = ", ".join(unreadable[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise ServerFaultError(
            f"The sums may lack the use of {counted(len(unreadable), 'damaged job')}, left out here: {named}. "
            "Correct their items in the table, or restore it."
        )


def _show_comparison(common: CommonOptions, by: str, day: str) -> None:
    from headway_client.cli.usage_comparison import compare

    found = compare(open_api(common), by, day)
    if common.is_document:
        show_document(common, _document(found))
    else:
        _print(found)


def _repair(common: CommonOptions, dimensions: list[str], day: str, *, yes: bool) -> None:
    from headway_client.cli.usage_comparison import compare, repair

    api = open_api(common)
    found = [compare(api, by, day) for by in dimensions]
    if not common.is_document:
        for each in found:
            _print(each)
    differing = [each for each in found if each.differences]
    for each in differing:
        each.require_exact()
    if differing:
        count = sum(len(each.differences) for each in differing)
        confirm(common, f"Give {count} figures of {day} the values that the jobs have?", yes=yes)
    for each in differing:
        repair(api, each)
        if not common.is_document:
            print(f"{len(each.differences)} figures of {day} by {each.by} were repaired.")
    if common.is_document:
        show_document(common, {"day": day, "repaired": [_document(each) for each in differing]})


def _document(found: Comparison) -> dict[str, Any]:
    listed = [
        {"name": each.name, "figure": each.figure, "stored": each.stored, "computed": each.computed}
        for each in found.differences
    ]
    left_out = {"incomplete": list(found.incomplete), "unreadable": list(found.unreadable)}
    return {"by": found.by, "day": found.day, "differences": listed, **left_out}


def _print(found: Comparison) -> None:
    from headway.sanitize import strip_control_characters

    for each in found.differences:
        name = strip_control_characters(each.name) or "(none)"
        kind = "too much" if each.stored > each.computed else "too little"
        print(f"{found.by} {name}: {each.figure}: the sum has {each.stored}, the jobs have {each.computed}: {kind}.")
    if not found.differences:
        print(f"The sums of {found.day} by {found.by} have what the jobs have.")
    if found.incomplete:
        named = ", ".join(map(strip_control_characters, found.incomplete))
        print(f"Jobs with more attempts than are kept, so that the jobs may seem to have too little: {named}.")
    if found.unreadable:
        named = ", ".join(map(strip_control_characters, found.unreadable))
        print(f"Damaged jobs, which were left out, so that the jobs may seem to have too little: {named}.")
