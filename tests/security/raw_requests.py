"""Requests to a sandbox's server as an attacker writes them: each header and character of the target is his own."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

from botocore.auth import S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.endpoint import RELAY

Headers = Iterable[tuple[str, str]]
_TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def cors(self) -> list[str]:
        """The headers that let another origin's page read it."""
        return [name for name in self.headers if name.lower().startswith("access-control-")]


def send(
    sb: Sandbox, method: str, target: str, headers: Headers = (), body: bytes = b"", *, relay: bool = False
) -> Response:
    """Send a request as it is; only `Host` is added if it is missing.

    Args:
        sb: The sandbox.
        method: The method.
        target: The path and query.
        headers: The headers.
        body: The body.
        relay: Whether to send it to the socket of training jobs.
    """
    connection = HTTPConnection("127.0.0.1", sb.info.port, timeout=_TIMEOUT_S)
    if relay:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(sb.state_dir / RELAY))
    given = list(headers)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        if "host" not in {name.lower() for name, _ in given}:
            connection.putheader("Host", f"127.0.0.1:{sb.info.port}")
        for name, value in given:
            connection.putheader(name, value)
        if method in {"POST", "PUT"}:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        return Response(status=answer.status, headers=dict(answer.getheaders()), body=answer.read())
    finally:
        connection.close()


def signed(
    sb: Sandbox,
    method: str,
    target: str,
    *,
    service: str = "s3",
    keys: tuple[str, ...] = (),
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> list[tuple[str, str]]:
    """Return the headers of a request that is signed as SDKs sign it, by default as the administrator."""
    asked = AWSRequest(method, sb.info.aws_endpoint + target, headers=dict(headers or {}), data=body)
    credentials = Credentials(*(keys or (sb.info.access_key, sb.info.secret_key)))
    SigV4Auth(credentials, service, sb.info.region).add_auth(asked)
    return list(asked.headers.items())


def presigned(
    sb: Sandbox, method: str, target: str, *, keys: tuple[str, ...] = (), expires_s: int = 60, service: str = "s3"
) -> str:
    """Return the target of a presigned URL, by default of the administrator."""
    asked = AWSRequest(method, sb.info.aws_endpoint + target)
    credentials = Credentials(*(keys or (sb.info.access_key, sb.info.secret_key)))
    kind = S3SigV4QueryAuth if service == "s3" else SigV4QueryAuth
    kind(credentials, service, sb.info.region, expires=expires_s).add_auth(asked)
    split = urlsplit(str(asked.url))
    return f"{split.path}?{split.query}"


def version_2(key: str, **more: str) -> str:
    """Return the query of a presigned URL of version 2, with a signature that nobody made."""
    return urlencode({"AWSAccessKeyId": key, "Signature": "x", "Expires": "9999999999", **more})
