"""The client's side of `/_headway/…` (`headway_sandbox.server.admin_api`)."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headway_sandbox.errors import SandboxError

_PREFIX = "/_headway"
_TIMEOUT_S = 30.0
"""A sandbox that starts many functions at once, on a machine with more to do, answers late."""


def call(port: int, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One call, e.g. `call(4566, "PATCH", "/faults", {"event_drop": 0.1})`.

    Raises:
        SandboxError: it was refused; the message says why.
        OSError: nobody answers.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, f"{_PREFIX}{quote(path)}", body=json.dumps(body or {}).encode())
        response = connection.getresponse()
        document: dict[str, Any] = json.loads(response.read())
    except (http.client.HTTPException, ValueError) as error:
        raise SandboxError(f"What listens on port {port} is no sandbox.") from error
    finally:
        connection.close()
    if response.status != 200:
        raise SandboxError(str(document.get("message", response.status)))
    return document


def health(port: int) -> dict[str, Any] | None:
    """What the sandbox on that port says of itself; None if there is none."""
    try:
        return call(port, "GET", "/health")
    except (OSError, SandboxError):
        return None
