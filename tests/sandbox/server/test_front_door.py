"""What passes the front door reaches the application as it was sent; all else does not reach it at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headway_sandbox.emulator import authentication
from headway_sandbox.server.front_door import FrontDoor

ROOT, PORT = "ROOT1", 4566
SIGNED = "Credential=ROOT1/20260102/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + "0a" * 32
HEADERS = [
    (b"host", b"127.0.0.1:4566"),
    (b"x-amz-date", b"20260102T030405Z"),
    (b"authorization", f"AWS4-HMAC-SHA256 {SIGNED}".encode()),
]


class Door:
    """A front door before an application that records what it gets."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self.sent: list[Any] = []
        self.checked: list[bytes] = []
        self._door = FrontDoor(self._behind, port=PORT, administrator=ROOT)

    async def _behind(self, scope: Any, receive: Any, send: Any) -> None:
        self.got.append((scope["type"], await receive(), await receive()))
        headers = [(b"Access-Control-Allow-Origin", b"*"), (b"x-kept", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"done"})

    def call(self, *messages: Any, kind: str = "http", headers: Any = HEADERS) -> list[Any]:
        """Send messages of a request, and return those of the response."""
        scope = {
            "type": kind, "method": "PUT", "path": "/b/k", "raw_path": b"/b/k", "query_string": b"", "headers": headers,
            "server": ("127.0.0.1", PORT),
        }  # fmt: skip
        left = list(messages)

        async def receive() -> Any:
            return left.pop(0) if left else {"type": f"{kind}.disconnect"}

        async def send(message: Any) -> None:
            self.sent.append(message)

        asyncio.run(self._door(scope, receive, send))
        return self.sent


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    made = Door()
    monkeypatch.setattr(authentication, "secret_of", lambda _signature: "secret")
    monkeypatch.setattr(authentication, "check", lambda *arguments: made.checked.append(arguments[-1]))
    return made


def piece(body: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_is_checked_as_a_whole_and_passed_on_once(door: Door):
    start, body = door.call(piece(b"a", more=True), piece(b"b", more=False))
    assert door.checked == [b"ab"]
    assert door.got == [("http", piece(b"ab", more=False), {"type": "http.disconnect"})]
    assert (start["headers"], body["body"]) == ([(b"x-kept", b"1")], b"done")


def test_a_request_that_breaks_off_is_nobodys(door: Door):
    assert door.call(piece(b"a", more=True)) == []
    assert (door.got, door.checked) == ([], [])


def test_a_refused_request_is_not_read(door: Door):
    start, _body = door.call(piece(b"a", more=False), headers=HEADERS[:1])
    assert start["status"] == 403
    assert (door.got, door.checked) == ([], [])


def test_web_sockets_are_closed_before_they_open(door: Door):
    assert door.call({"type": "websocket.connect"}, kind="websocket") == [{"type": "websocket.close"}]
    assert door.got == []


def test_the_start_and_the_end_of_the_server_pass(door: Door):
    started = {"type": "lifespan.startup"}
    door.call(started, kind="lifespan")
    assert door.got[0][:2] == ("lifespan", started)
