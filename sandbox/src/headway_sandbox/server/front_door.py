"""The first that a request meets: it passes on what a known caller has signed, and nothing else.

In this order: what a web page may have sent is refused, then what is not signed in exactly one way, then what the
emulator offers to everybody, then what the caller has not signed. Requests on the relay's socket come from training
jobs: they are the job's or refused, whatever they say. No answer has a CORS header.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headway_sandbox.administrator import CONTROLS, PROOF, SERVICE, proof
from headway_sandbox.emulator import authentication
from headway_sandbox.emulator.patches import AsgiApp, Receive, Scope, Send
from headway_sandbox.errors import AwsError
from headway_sandbox.server import web_pages
from headway_sandbox.server.responses import respond
from headway_sandbox.signed_request import Signature, read
from headway_sandbox.training.endpoint import FROM_JOB

# What the emulator answers itself, for whoever asks: it is no service of AWS.
_EMULATORS_OWN = "_"
_API_CALLS = ("_aws", "execute-api")
_HEALTH = ("health",)


class FrontDoor:
    """An ASGI application before another one.

    Args:
        behind: The application that gets the requests of known callers.
        port: The server's port.
        administrator: Access key of the administrator.
    """

    def __init__(self, behind: AsgiApp, *, port: int, administrator: str) -> None:
        self._behind = behind
        self._port = port
        self._administrator = administrator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._behind(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _without_cors(send))
        else:
            # Before it is accepted: 403. Nothing of Headway has web sockets.
            await send({"type": "websocket.close"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        headers = _joined(sent)
        try:
            web_pages.check(headers, port=self._port)
            signature = read(scope["query_string"].decode("latin-1"), sent)
            self._check_route(scope, headers, signature)
        except AwsError as error:
            await _refuse(send, error)
            return
        try:
            secret = authentication.secret_of(signature)
            body = await _body(receive)
            if body is None:
                return
            authentication.check(signature, secret, scope, headers, body)
        except AwsError as error:
            answer = authentication.refused(error, scope, headers)
            await respond(send, answer.status, answer.body, answer.headers)
            return
        if scope["path"].startswith(CONTROLS):
            send = _with_header(send, PROOF, proof(secret, signature.value))
        await self._behind(scope, _again(body, receive), send)

    def _check_route(self, scope: Scope, headers: Mapping[str, str], signature: Signature) -> None:
        """Raise an error if the caller that a signature names may not go where the request wants to."""
        of_job = scope["server"] is None  # the relay's socket has no address
        by_administrator = signature.access_key == self._administrator
        if of_job and (by_administrator or headers.get(FROM_JOB) != signature.access_key):
            raise AwsError("AccessDenied", "A training job has the credentials of its role only.", status=403)
        parts = tuple(part for part in scope["path"].split("/") if part)
        if scope["path"].startswith(CONTROLS):
            if not by_administrator or signature.service != SERVICE:
                raise AwsError("AccessDenied", "Only the sandbox's administrator may use its controls.", status=403)
        elif parts[:1] == _HEALTH or _is_emulators_own(parts):
            raise AwsError("AccessDenied", "The sandbox does not have this path.", status=403)


def _is_emulators_own(parts: tuple[str, ...]) -> bool:
    return bool(parts) and parts[0].startswith(_EMULATORS_OWN) and parts[:2] != _API_CALLS


def _joined(sent: list[tuple[str, str]]) -> dict[str, str]:
    """Return headers by name, as a signature covers a header on several lines: joined by commas."""
    headers: dict[str, str] = {}
    for name, value in sent:
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if its sender has gone."""
    pieces, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what receives a body that was read, and then what comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return left.pop() if left else await receive()

    return again


def _without_cors(send: Send) -> Send:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [each for each in message.get("headers", []) if not each[0].lower().startswith(b"access-control-")]
            message = {**message, "headers": kept}
        await send(message)

    return sent


def _with_header(send: Send, name: str, value: str) -> Send:
    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), (name.encode(), value.encode())]}
        await send(message)

    return sent


async def _refuse(send: Send, error: AwsError) -> None:
    content = json.dumps({"__type": error.code, "message": error.message}).encode()
    await respond(send, error.status, content, {"content-type": "application/json", "x-amzn-errortype": error.code})
