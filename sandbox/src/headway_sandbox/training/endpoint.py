"""The AWS endpoint in a container's network: it passes on what the job's role has signed, and nothing else.

So a script reaches the AWS services with its role's permissions, but neither the controls of the sandbox, which need no
signature, nor anything as another user.
"""

from __future__ import annotations

import re
import socket
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from headway_sandbox.training.assignment import HOST

FROM_JOB = "x-headway-training-job"
"""Header of requests that come from a training job: the server refuses those to its own controls."""

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/")
# Of one connection only (RFC 9110, 7.6.1), and Expect, which is answered here.
_HOP_BY_HOP = {"connection", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", FROM_JOB}
_PIECE_BYTES = 65_536
_TIMEOUT_S = 60.0


def signer_of(target: str, authorization: str) -> str:
    """Return the access key that a request is signed with; empty if it has none.

    Args:
        target: Its path and query: presigned URLs have the key there.
        authorization: Its header Authorization.
    """
    found = _CREDENTIAL.search(authorization)
    if found:
        return found[1]
    return parse_qs(urlsplit(target).query).get("X-Amz-Credential", [""])[0].partition("/")[0]


def serve(listener: socket.socket, *, port: int, access_key: str) -> None:
    """Answer on a socket until this process ends, in threads.

    Args:
        listener: The socket.
        port: Port of the endpoint on this machine.
        access_key: The access key of the job's role.
    """

    class Handler(_Handler):
        endpoint_port = port
        signer = access_key

    server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="endpoint", daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoint_port: int
    signer: str

    def _forward(self) -> None:
        if signer_of(self.path, self.headers.get("Authorization", "")) != self.signer:
            self._refuse(403, "A training job has the credentials of its role only.")
        elif "Transfer-Encoding" in self.headers:
            self._refuse(411, "The sandbox needs a Content-Length.")
        else:
            try:
                self._pass_on()
            except (OSError, HTTPException):
                self.close_connection = True  # the client retries

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _forward  # noqa: N815

    def _pass_on(self) -> None:
        connection = HTTPConnection(HOST, self.endpoint_port, timeout=_TIMEOUT_S)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.putheader(FROM_JOB, "true")
            connection.endheaders()
            left = int(self.headers.get("Content-Length") or 0)
            while left > 0 and (piece := self.rfile.read(min(left, _PIECE_BYTES))):
                connection.send(piece)
                left -= len(piece)
            self._answer(connection.getresponse())
        finally:
            connection.close()

    def _answer(self, response: HTTPResponse) -> None:
        self.send_response_only(response.status, response.reason)
        sized = response.headers.get("Content-Length") is not None
        content = b"" if sized else response.read()
        for name, value in response.headers.items():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        if not sized:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        while sized and (piece := response.read(_PIECE_BYTES)):
            self.wfile.write(piece)

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True  # the request's body is not read
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(message)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(message.encode())

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: standard error is the server's log."""
