"""The command version: that of this client, and that of the server."""

from __future__ import annotations

import argparse

from headway.sanitize import neutralise
from headway_client import __version__
from headway_client.cli.context import open_api, show_json, wants_json
from headway_client.cli.grammar import Commands


def register(commands: Commands) -> None:
    """Say which arguments it takes."""
    command = commands.add("version", version, "show the versions of this client and of the server")
    command.add_argument("--client", action="store_true", help="only that of this client; no queue is asked")


def version(args: argparse.Namespace) -> None:
    """Show the versions."""
    if args.client:
        if wants_json(args):
            show_json({"client": __version__})
        else:
            print(f"client {__version__}")
        return
    api = open_api(args)
    server = api.version()
    if wants_json(args):
        show_json({"client": __version__, "server": server.version, "api": server.api, "endpoint": api.endpoint})
    else:
        print(f"client {__version__}")
        print(neutralise(f"server {server.version} (API {server.api}) at {api.endpoint}"))
