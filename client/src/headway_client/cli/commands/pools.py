"""The commands on pools and policy: capacity, config show, config set."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from headway_client.cli import grammar, input_files
from headway_client.cli.context import open_api, show_json, show_rows, wants_json
from headway_client.cli.grammar import Commands
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.models import Configuration


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    commands.add("capacity", capacity, "show the pools and how their instances are used", rows=True)
    config = commands.group("config", "show or set the pools and the policy")
    config.add("show", config_show, "show the configuration document")
    put = config.add("set", config_set, "put a configuration document, unless it has changed since")
    put.add_argument(
        "file",
        metavar="FILE",
        help="the document as JSON, as `headway config show` prints it; - is standard input",
    )
    condition = put.add_mutually_exclusive_group()
    condition.add_argument(
        "--if-version",
        type=grammar.whole(0, 999_999_999),
        metavar="N",
        help="set it only if the configuration has version N; without, the version in the document",
    )
    condition.add_argument(
        "--force", action="store_true", help="replace the configuration, whatever was changed since; needs no version"
    )


def capacity(args: argparse.Namespace) -> None:
    """Show the pools and how their instances are used."""
    from headway_client.cli.output import pool_rows

    answer = open_api(args).capacity()
    empty = "No pools. Say which there are with `headway config set FILE`."
    show_rows(args, answer.document, lambda *, wide: pool_rows(answer.pools), empty=empty)  # noqa: ARG005


def config_show(args: argparse.Namespace) -> None:
    """Show the configuration document."""
    _show(args, open_api(args).get_config())


def config_set(args: argparse.Namespace) -> None:
    """Put another configuration document."""
    document = input_files.read_object(args.file)
    _show(args, open_api(args).put_config(document, if_version=args.if_version, force=args.force))


def _show(args: argparse.Namespace, configuration: Configuration) -> None:
    if wants_json(args):
        show_json(configuration.document)
        return
    # The document alone goes to standard output, so that it can be saved, edited and set again.
    show_json(configuration.settings)
    to_stderr(f"This is version {configuration.version}.")
    if configuration.problem is not None:
        to_stderr(f"It can't be used: {configuration.problem}")
