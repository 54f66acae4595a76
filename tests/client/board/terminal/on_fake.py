"""Run the board in this terminal on the fake API, for tests in tmux."""

from __future__ import annotations

from botocore.credentials import Credentials

from headway_client.board.terminal.app import Board
from headway_client.errors import NotAllowedError
from headway_client.http.api import HeadwayApi
from tests.client.fakes.log_store import LogStore
from tests.client.fakes.server import ACCESS_KEY, REGION, SECRET_KEY, ContractServer


def client_of(service: str) -> LogStore:
    if service != "logs":
        raise NotAllowedError("There are no AWS credentials.")
    return LogStore()


def main() -> None:
    with ContractServer().running() as server:
        server.queue.add("trains", jobState="running", priority=9, team="vision")
        for number in range(30):
            server.queue.add(f"waits-{number:02}", priority=5, team="search")
        api = HeadwayApi(server.endpoint, region=REGION, credentials=Credentials(ACCESS_KEY, SECRET_KEY))
        Board(api, client_of, lambda found: found.note).run()


if __name__ == "__main__":
    main()
