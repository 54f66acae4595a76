"""Responses of the server's own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headway_sandbox.emulator.patches import Send
from headway_sandbox.errors import JournalError

JSON = {"content-type": "application/json"}
_NOT_SAVED = "SandboxCannotSave"


async def respond(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Send a complete response.

    Args:
        send: ASGI send function.
        headers: Its headers, but for the length of the body.
    """
    named = {name.lower(): str(value) for name, value in headers.items()} | {"content-length": str(len(body))}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def respond_not_saved(send: Send, error: JournalError, *, to_api_call: bool) -> None:
    """Send the error that the sandbox cannot save its state.

    Args:
        send: ASGI send function.
        error: Why it cannot; it says what to do.
        to_api_call: Whether the queue's API was called: then it is in the API's shape, which no client retries.
    """
    if to_api_call:
        await respond(send, 507, json.dumps({"error": {"code": _NOT_SAVED, "message": str(error)}}).encode(), JSON)
        return
    document = {"__type": "InternalFailure", "message": str(error)}
    await respond(send, 500, json.dumps(document).encode(), {"content-type": "application/x-amz-json-1.1"})
