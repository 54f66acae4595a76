"""The commands for pools and configuration: capacity, config show, config set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from headway.sanitize import strip_control_characters
from headway_client.cli import config_changes
from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.params import FILE, ExclusiveOption, WholeNumber
from headway_client.cli.command import Command, CommonOptions, Group, pass_common
from headway_client.cli.confirmation import confirm, yes_option
from headway_client.cli.context import open_api, show_json, show_rows, wants_json
from headway_client.cli.interruption import UNCHANGED
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.cli.config_changes import Change
    from headway_client.models import Configuration


@click.command("capacity", cls=Command, rows=True, interrupted=UNCHANGED)
@pass_common
def capacity(common: CommonOptions) -> None:
    """Show the pools and how their instances are used."""
    from headway_client.cli.output import pool_rows

    answer = open_api(common).capacity()
    empty = "No pools. Configure them with `headway config set FILE`."
    show_rows(common, answer.document, lambda *, wide: pool_rows(answer.pools, wide=wide), empty=empty)


config = Group("config", help="Show or set the pools and the policy.")


@config.command("show", interrupted=UNCHANGED)
@pass_common
def config_show(common: CommonOptions) -> None:
    """Show the configuration document."""
    _show(common, open_api(common).get_config())


@config.command("set")
@click.argument(
    "file", metavar="FILE", type=FILE, help="The document as JSON, as `headway config show` prints it; - is stdin."
)
@click.option(
    "--if-version",
    cls=ExclusiveOption,
    conflicts_with="force",
    type=WholeNumber(0, 999_999_999),
    metavar="N",
    help="Set it only if the configuration has version N; by default the version in the document.",
)
@click.option(
    "--force", is_flag=True, help="Replace the configuration whatever its version; the document needs no version."
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@yes_option
@pass_common
def config_set(
    common: CommonOptions, file: str, if_version: int | None, *, force: bool, dry_run: bool, yes: bool
) -> None:
    """Set the configuration document, unless it has changed in the meantime."""
    settings = config_changes.settings_of(input_files.read_object(file))
    api = open_api(common)
    before = api.get_config()
    based_on = settings.get("version") if if_version is None else if_version
    # The server refuses such a document and says why; a comparison with another version would mislead.
    comparable = force or based_on == before.version or "version" not in before.settings
    if comparable or dry_run:
        found = config_changes.changes(before.settings, settings)
        shrinks = config_changes.affects_sizes(before.settings, settings)
        risks = config_changes.risks(before.settings, settings, api.capacity().pools) if shrinks else []
        _show_changes(common, found, risks, dry_run=dry_run)
        if dry_run:
            if not comparable:
                to_stderr(f"It would be refused: it is not based on the newest version, {before.version}.")
            return
        if risks:
            confirm(common, "Set this configuration?", yes=yes)
    _show(common, api.put_config(settings, if_version=if_version, force=force))


def _show_changes(common: CommonOptions, found: Sequence[Change], risks: Sequence[str], *, dry_run: bool) -> None:
    if wants_json(common):
        if dry_run:
            changes = [{"field": each.field, "before": each.before, "after": each.after} for each in found]
            show_json({"dryRun": True, "changes": changes, "risks": risks})
        return
    lines = [str(change) for change in found] or ["No changes."]
    for line in [*lines, *risks]:
        # Standard output is for the new configuration, so that it can be saved.
        if dry_run:
            print(strip_control_characters(line))
        else:
            to_stderr(line)


def _show(common: CommonOptions, configuration: Configuration) -> None:
    if wants_json(common):
        show_json(configuration.document)
        return
    # Only the document goes to standard output, so that it can be saved, edited and set again.
    show_json(configuration.settings)
    to_stderr(f"This is version {configuration.version}.")
    if configuration.problem is not None:
        to_stderr(f"It is not valid: {configuration.problem}")
