"""The command version: print the versions of this client and of the server."""

from __future__ import annotations

import click

from headway.sanitize import strip_control_characters
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import open_api, show_document
from headway_client.cli.interruption import UNCHANGED
from headway_client.version import __version__


@click.command("version", cls=Command, interrupted=UNCHANGED)
@click.option("--client", is_flag=True, help="Only the version of this client; sends no request.")
@pass_common
def version(common: CommonOptions, *, client: bool) -> None:
    """Show the versions of this client and of the server."""
    if client:
        if common.is_document:
            show_document(common, {"client": __version__})
        else:
            print(f"client {__version__}")
        return
    api = open_api(common)
    server = api.version()
    if common.is_document:
        show_document(
            common, {"client": __version__, "server": server.version, "api": server.api, "endpoint": api.endpoint}
        )
    else:
        print(f"client {__version__}")
        print(strip_control_characters(f"server {server.version} (API {server.api}) at {api.endpoint}"))
