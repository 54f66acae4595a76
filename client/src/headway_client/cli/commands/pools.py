"""The commands for pools and configuration: capacity, config show, config set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway_client.cli import input_files
from headway_client.cli.command import Command, CommonOptions, Group, pass_common
from headway_client.cli.context import open_api, show_json, show_rows, wants_json
from headway_client.cli.params import FILE, ExclusiveOption, WholeNumber
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.models import Configuration


@click.command("capacity", cls=Command, rows=True)
@pass_common
def capacity(common: CommonOptions) -> None:
    """Show the pools and how their instances are used."""
    from headway_client.cli.output import pool_rows

    answer = open_api(common).capacity()
    empty = "No pools. Configure them with `headway config set FILE`."
    show_rows(common, answer.document, lambda *, wide: pool_rows(answer.pools), empty=empty)  # noqa: ARG005


config = Group("config", help="Show or set the pools and the policy.")


@config.command("show")
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
@pass_common
def config_set(common: CommonOptions, file: str, if_version: int | None, *, force: bool) -> None:
    """Set the configuration document, unless it has changed in the meantime."""
    document = input_files.read_object(file)
    _show(common, open_api(common).put_config(document, if_version=if_version, force=force))


def _show(common: CommonOptions, configuration: Configuration) -> None:
    if wants_json(common):
        show_json(configuration.document)
        return
    # Only the document goes to standard output, so that it can be saved, edited and set again.
    show_json(configuration.settings)
    to_stderr(f"This is version {configuration.version}.")
    if configuration.problem is not None:
        to_stderr(f"It is not valid: {configuration.problem}")
