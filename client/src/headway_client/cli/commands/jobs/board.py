"""The command board: a live picture of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway_client.cli.command import Command, CommonOptions, pass_common
from headway_client.cli.context import connection
from headway_client.cli.interruption import UNCHANGED
from headway_client.errors import UsageError

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi


@click.command("board", cls=Command, interrupted=UNCHANGED)
@pass_common
def board(common: CommonOptions) -> None:
    """Show pools, the queue with reasons, running jobs and events, live.

    Keys show, explain, hold, release and stop jobs and change priorities; `?` lists them.
    """
    if common.output != "table":
        raise UsageError(f"board does not support --output {common.output}; use `headway queue`.")
    _show_in_terminal(common)


def _show_in_terminal(common: CommonOptions) -> None:
    try:
        from headway_client.board.terminal.app import Board, Sheets
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"textual", "rich"}:
            raise
        raise UsageError("The board in the terminal needs textual: pip install 'headway[board]'.") from error
    from headway_client.cli.output import explanation_sheet, job_sheet

    Board(_open_board_api(common), Sheets(job=job_sheet, explanation=explanation_sheet)).run()


def _open_board_api(common: CommonOptions) -> HeadwayApi:
    """Return a client that sends one request for each call, as the board itself retries and counts its calls."""
    from headway_client.cli.output import times
    from headway_client.http.api import HeadwayApi
    from headway_client.http.transport import Limits

    api = HeadwayApi.connect(connection(common), limits=Limits(tries=1))
    times.now_s = api.now_s
    return api
