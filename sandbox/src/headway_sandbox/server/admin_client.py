"""Client of the admin API (`headway_sandbox.server.admin_api`)."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from headway_sandbox.errors import SandboxError

_PREFIX = "/_headway"
_TIMEOUT_S = 30.0
"""Long, as a sandbox that starts many functions at once on a busy machine responds late."""


def call(port: int, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Call the admin API, e.g. `call(4566, "PATCH", "/faults", {"event_drop": 0.1})`.

    Args:
        port: The sandbox's port.
        method: HTTP method.
        path: Path below `/_headway`.
        body: JSON body.

    Returns:
        The response's body.

    Raises:
        SandboxError: The call was refused, or another server listens on the port.
        OSError: No server listens on the port.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, f"{_PREFIX}{quote(path)}", body=json.dumps(body or {}).encode())
        response = connection.getresponse()
        document: dict[str, Any] = json.loads(response.read())
    except (http.client.HTTPException, ValueError) as error:
        raise SandboxError(f"The server on port {port} is not a sandbox.") from error
    finally:
        connection.close()
    if response.status != 200:
        raise SandboxError(str(document.get("message", response.status)))
    return document


def health(port: int) -> dict[str, Any] | None:
    """Return the health document of the sandbox on a port; None if there is no sandbox."""
    try:
        return call(port, "GET", "/health")
    except (OSError, SandboxError):
        return None
