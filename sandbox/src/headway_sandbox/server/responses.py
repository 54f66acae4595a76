"""Responses of the server's own."""

from __future__ import annotations

from collections.abc import Mapping

from headway_sandbox.emulator.patches import Send


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
