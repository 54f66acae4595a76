"""Client of the admin API (`headway_sandbox.server.admin_api`)."""

from __future__ import annotations

import hmac
import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headway_sandbox.administrator import CONTROLS, PROOF, SERVICE, Administrator, proof
from headway_sandbox.errors import SandboxError

_REGION = "local"
_TIMEOUT_S = 30.0
"""Long, as a sandbox that starts many functions at once on a busy machine responds late."""


def call(
    port: int, administrator: Administrator, method: str, path: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Call the admin API, e.g. `call(4566, key, "PATCH", "/faults", {"event_drop": 0.1})`.

    Args:
        port: The sandbox's port.
        administrator: Its key.
        method: HTTP method.
        path: Path below `/_headway`.
        body: JSON body.

    Returns:
        The response's body.

    Raises:
        SandboxError: The call was refused, or another server listens on the port: it cannot prove that it has the key.
        OSError: No server listens on the port.
    """
    target, content = f"{CONTROLS.rstrip('/')}{quote(path)}", json.dumps(body or {}).encode()
    asked = AWSRequest(method, f"http://127.0.0.1:{port}{target}", data=content)
    SigV4Auth(Credentials(administrator.access_key, administrator.secret_key), SERVICE, _REGION).add_auth(asked)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, target, body=content, headers=dict(asked.headers))
        response = connection.getresponse()
        expected = proof(administrator.secret_key, asked.headers["Authorization"].rpartition("Signature=")[2])
        if not hmac.compare_digest(expected, response.getheader(PROOF, "")):
            raise SandboxError(f"The server on port {port} is not this sandbox.")
        document: dict[str, Any] = json.loads(response.read())
    except (http.client.HTTPException, ValueError) as error:
        raise SandboxError(f"The server on port {port} is not a sandbox.") from error
    finally:
        connection.close()
    if response.status != 200:
        raise SandboxError(str(document.get("message", response.status)))
    return document


def health(port: int, administrator: Administrator) -> dict[str, Any] | None:
    """Return the health document of the sandbox on a port; None if there is no sandbox with this administrator."""
    try:
        return call(port, administrator, "GET", "/health")
    except (OSError, SandboxError):
        return None
