"""The command board: a live picture of the queue."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from headway_client.cli.arguments.params import WholeNumber
from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import connection
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import UsageError
from headway_client.install_hint import install_command

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

_READ_TIMEOUT_S = 15.0
"""Of one call: a board shows a lost connection rather than wait for it."""


@click.command("board", cls=Command, interrupted=UNCHANGED)
@click.option("--web", is_flag=True, help="In a browser on this machine instead of the terminal.")
@click.option("--allow-changes", is_flag=True, help="With --web: let the pages change jobs.")
@click.option("--port", type=WholeNumber(0, 65_535), metavar="N", help="With --web: the port (default: a free one).")
@click.option("--no-browser", is_flag=True, help="With --web: only print the link.")
@pass_common
def board(
    common: CommonOptions,
    port: int | None,
    *,
    web: bool,
    allow_changes: bool,
    no_browser: bool,
) -> None:
    """Show pools, the queue with reasons, running jobs and events, live.

    Keys show, explain, hold, release and stop jobs and change priorities; `?` lists them.
    """
    if not web and (allow_changes or no_browser or port is not None):
        raise UsageError("Options --allow-changes, --port and --no-browser need --web.")
    if common.output != "table":
        raise UsageError(f"board does not support --output {common.output}; use `headway queue`.")
    if web:
        _serve(common, port=port or 0, allow_changes=allow_changes, opens=not no_browser)
    else:
        _show_in_terminal(common)


def _serve(common: CommonOptions, *, port: int, allow_changes: bool, opens: bool) -> None:
    from headway_client.board.web.server import BoardServer

    api, client_of = _open(common)
    try:
        server = BoardServer(api, client_of, port=port, allow_changes=allow_changes)
    except OSError as error:
        raise UsageError(f"The board can't listen on port {port} of this machine: {error.strerror}.") from error
    print(f"The board is at {server.url}\nThe link works once. Ctrl-C ends the board.", flush=True)
    try:
        if opens and not server.open(webbrowser.open):
            print("No browser was opened: open the link in one on this machine.", flush=True)
        server.serve()
    finally:
        server.close()


def _show_in_terminal(common: CommonOptions) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "The board needs a terminal. `headway queue` prints the queue, `headway board --web` serves it."
        )
    try:
        from headway_client.board.terminal.app import Board
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"textual", "rich"}:
            raise
        raise UsageError(f"The board in the terminal needs textual: {install_command('board')}.") from error
    from headway_client.cli.output import explanation_sheet

    api, client_of = _open(common)
    Board(api, client_of, explanation_sheet).run()


def _open(common: CommonOptions) -> tuple[HeadwayApi, Callable[[str], Any]]:
    """Return the queue, and what makes clients of AWS services with the caller's credentials.

    Both send one request for each call, as the board itself retries and counts its calls.
    """
    from dataclasses import replace
    from functools import partial

    from headway_client.cli.output import times
    from headway_client.http.api import HeadwayApi
    from headway_client.http.transport import Limits

    found = connection(common)
    api = HeadwayApi.connect(found, limits=replace(Limits(), tries=1, read_timeout_s=_READ_TIMEOUT_S))
    times.now_s = api.now_s
    return api, partial(found.aws_client, tries=1)
