"""The commands for the configuration: config show, set, history, diff, rollback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.arguments import input_files
from headway_client.cli.arguments.params import FILE, ExclusiveOption, Function, WholeNumber
from headway_client.cli.command import CommonOptions, Group, pass_common
from headway_client.cli.config_effects import confirm_effects, effects_of, show_effects
from headway_client.cli.confirmation import yes_option
from headway_client.cli.context import open_api, show_document, show_rows
from headway_client.cli.interruption import UNCHANGED
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.models import Configuration

DEFAULT_HISTORY = 20

MAX_HISTORY = 1000
"""Versions of the configuration that one command shows."""

_REASON = click.option("--reason", metavar="TEXT", default="", help="The reason, for `headway config history`.")


def _version(name: str, text: str, *, required: bool = True) -> Callable[[Function], Function]:
    """Return an argument that is a version of the configuration."""
    kind = WholeNumber(0, 999_999_999)
    return click.argument(name, metavar=name.upper(), type=kind, required=required, help=text)


config = Group("config", help="Show or set the pools and the policy.")


@config.command("show", interrupted=UNCHANGED)
@pass_common
def config_show(common: CommonOptions) -> None:
    """Show the configuration document."""
    _show(common, open_api(common).get_config())


@config.command("set")
@click.argument(
    "file",
    metavar="FILE",
    type=FILE,
    help="The document as JSON, as `headway config show` prints it, or as YAML; - is stdin.",
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
@_REASON
@click.option("--dry-run", is_flag=True, help="Only show what it would change, and do to jobs and people.")
@yes_option
@pass_common
def config_set(
    common: CommonOptions, file: str, if_version: int | None, reason: str, *, force: bool, dry_run: bool, yes: bool
) -> None:
    """Set the configuration document, unless it has changed in the meantime."""
    settings = _settings_in(input_files.read_object(file))
    api = open_api(common)
    effects = effects_of(api, settings, yes=yes and not dry_run)
    based_on = settings.get("version") if if_version is None else if_version
    if effects is not None:
        # The server refuses another version and says why; a comparison with the newest one would mislead.
        is_newest = force or based_on == effects.version
        if dry_run:
            show_effects(common, effects, dry_run=True)
            if not is_newest:
                to_stderr(f"It would be refused: it is not based on the newest version, {effects.version}.")
            return
        if is_newest:
            confirm_effects(common, effects, "Set this configuration?", yes=yes)
    _report(common, api.put_config(settings, if_version=if_version, force=force, reason=reason))


@config.command("history", rows=True, interrupted=UNCHANGED)
@click.option(
    "--limit", type=WholeNumber(1, MAX_HISTORY), default=DEFAULT_HISTORY, metavar="N", help="At most N versions."
)
@pass_common
def config_history(common: CommonOptions, limit: int) -> None:
    """Show who has changed the configuration, when, how and why, the newest change first."""
    from headway_client.cli.output import change_rows

    found = open_api(common).config_history(limit=limit)
    show_rows(common, found.document, lambda *, wide: change_rows(found.versions, wide=wide))


@config.command("diff", interrupted=UNCHANGED)
@_version("version", "The version that is compared, as `headway config history` names it.")
@_version("other", "The version that it is compared with; by default the one before.", required=False)
@pass_common
def config_diff(common: CommonOptions, version: int, other: int | None) -> None:
    """Show how a version of the configuration differs from an earlier one, path by path."""
    found = open_api(common).config_version(version, since=other)
    if common.is_document:
        show_document(common, found.document)
        return
    for each in found.changes:
        print(strip_control_characters(f"{each.field}: {each.message}"))
    if not found.changes:
        is_known = found.since is not None
        print(f"No changes since version {found.since}." if is_known else "No version before it is known.")


@config.command("rollback")
@_version("version", "The version that is set again, as `headway config history` names it.")
@_REASON
@click.option("--dry-run", is_flag=True, help="Only show what it would change, and do to jobs and people.")
@yes_option
@pass_common
def config_rollback(common: CommonOptions, version: int, reason: str, *, dry_run: bool, yes: bool) -> None:
    """Set a version of the configuration again, as a new version."""
    api = open_api(common)
    settings = dict(api.config_version(version).settings)
    effects = api.config_effects(settings)
    if dry_run:
        show_effects(common, effects, dry_run=True)
        return
    confirm_effects(common, effects, f"Set version {version} again?", yes=yes)
    reason = reason or f"as in version {version}"
    _report(common, api.put_config(settings, if_version=effects.version, reason=reason))


def _settings_in(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration in a document, which may be the response that ``config show -o json`` prints."""
    inner = document.get("document")
    if "pools" in document or not isinstance(inner, Mapping):
        return dict(document)
    version = {"version": document["version"]} if "version" in document else {}
    return {**version, **inner}


def _show(common: CommonOptions, configuration: Configuration) -> None:
    if common.is_document:
        show_document(common, configuration.document)
        return
    # Only the document goes to standard output, so that it can be saved, edited and set again.
    show_document(common, configuration.settings)
    to_stderr(f"This is version {configuration.version}.")


def _report(common: CommonOptions, configuration: Configuration) -> None:
    """Say which version a configuration that was set has; what it changes was shown before."""
    if common.is_document:
        show_document(common, configuration.document)
    else:
        print(f"The configuration is version {configuration.version} now.")
