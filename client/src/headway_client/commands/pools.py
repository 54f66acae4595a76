"""The commands on pools and policy: capacity, config show, config set."""

from __future__ import annotations

import argparse

from headway_client import files, render
from headway_client.commands.context import open_api, show_json, tell, wants_json
from headway_client.documents import Configuration


def capacity(args: argparse.Namespace) -> None:
    """Show the pools and how their instances are used."""
    answer = open_api(args).capacity()
    if wants_json(args):
        show_json(answer.document)
    elif answer.pools:
        print(render.capacity_table(answer, width=render.output_width()))
    else:
        print("No pools. Say which there are with `headway config set FILE`.")


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
    tell(f"This is version {configuration.version}.")
    if configuration.problem is not None:
        tell(f"It can't be used: {configuration.problem}")
