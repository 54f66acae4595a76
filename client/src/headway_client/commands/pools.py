"""The commands on pools and policy: capacity, config show, config set."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from headway_client import files
from headway_client.commands.context import open_api, show_json, show_rows, wants_json
from headway_client.commands.grammar import Commands
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.documents import Configuration


def register(commands: Commands) -> None:
    """Say which arguments they take."""
    commands.add("capacity", capacity, "show the pools and how their instances are used", rows=True)
    config = commands.group("config", "show or set the pools and the policy")
    config.add("show", config_show, "show the configuration document")
    put = config.add("set", config_set, "put a configuration document, if it is valid")
    put.add_argument("file", metavar="FILE", help="the document as JSON; - is standard input")


def capacity(args: argparse.Namespace) -> None:
    """Show the pools and how their instances are used."""
    from headway_client.render import pool_rows

    answer = open_api(args).capacity()
    empty = "No pools. Say which there are with `headway config set FILE`."
    show_rows(args, answer.document, lambda *, wide: pool_rows(answer.pools), empty=empty)  # noqa: ARG005


def config_show(args: argparse.Namespace) -> None:
    """Show the configuration document."""
    _show(args, open_api(args).get_config())


def config_set(args: argparse.Namespace) -> None:
    """Put another configuration document."""
    _show(args, open_api(args).put_config(files.read_object(args.file)))


def _show(args: argparse.Namespace, configuration: Configuration) -> None:
    if wants_json(args):
        show_json(configuration.document)
        return
    # The document alone goes to standard output, so that it can be saved, edited and set again.
    show_json(configuration.settings)
    to_stderr(f"This is version {configuration.version}.")
    if configuration.problem is not None:
        to_stderr(f"It can't be used: {configuration.problem}")
