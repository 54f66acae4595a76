"""Show what a configuration would do, and ask before it is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headway.sanitize import strip_control_characters
from headway_client.cli.confirmation import confirm
from headway_client.cli.context import show_document
from headway_client.errors import ClientError, RefusedError
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.cli.command import CommonOptions
    from headway_client.http.api import HeadwayApi
    from headway_client.models import ConfigurationEffects

MAX_NAMES = 5
"""Names that a line lists; JSON has more."""


def effects_of(api: HeadwayApi, settings: Mapping[str, Any], *, yes: bool) -> ConfigurationEffects | None:
    """Return what a configuration would do; None if the queue can't tell and the user has confirmed with --yes.

    Raises:
        RefusedError: the configuration is not valid.
        ClientError: the queue can't tell.
    """
    try:
        return api.config_effects(settings)
    except RefusedError:
        raise
    except ClientError as error:
        if not yes:
            raise
        to_stderr(f"The effects are not known: {error.message}")
        return None


def show_effects(common: CommonOptions, effects: ConfigurationEffects, *, dry_run: bool) -> None:
    """Show the changes and the effects, a line each.

    Args:
        common: the common options.
        effects: from the queue.
        dry_run: whether this is the result of the command. If it is not, standard output is for the configuration.
    """
    if common.is_document:
        if dry_run:
            show_document(common, {"dryRun": True, **effects.document})
        return
    for line in _lines(effects):
        if dry_run:
            print(strip_control_characters(line))
        else:
            to_stderr(line)


def confirm_effects(common: CommonOptions, effects: ConfigurationEffects, question: str, *, yes: bool) -> None:
    """Show the changes and the effects, and ask if there is any effect, or something was left out.

    Args:
        common: the common options.
        effects: from the queue.
        question: what would be done.
        yes: whether the user has confirmed with --yes.

    Raises:
        UsageError: the user declines, or there is no terminal to ask on; nothing was changed.
    """
    show_effects(common, effects, dry_run=False)
    if effects.effects or not effects.is_whole:
        confirm(common, question, yes=yes)


def _lines(effects: ConfigurationEffects) -> Iterator[str]:
    yield from (f"{each.field}: {each.message}" for each in effects.changes)
    if not effects.changes:
        yield "No changes."
    for each in effects.effects:
        names = ", ".join(each.names[:MAX_NAMES])
        more = f" and {each.count - MAX_NAMES} more" if each.count > MAX_NAMES else ""
        yield f"{each.message}. [{each.code}: {names}{more}]"
    if effects.effects or not effects.is_whole:
        yield effects.note
