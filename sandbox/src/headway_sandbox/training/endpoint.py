"""The AWS endpoint in a container's network: it passes on what the job's role has signed, and nothing else.

So a script reaches the AWS services with its role's permissions, but neither the controls of the sandbox nor anything
as another user. It passes requests on to a socket of the server that is for training jobs only, and names the job's
access key: there a request is the job's or refused, whatever it says.
"""

from __future__ import annotations

import os
import socket
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from headway_sandbox.errors import AwsError
from headway_sandbox.signed_request import read
from headway_sandbox.training.assignment import HOST

RELAY = "relay.sock"
"""Name of the server's socket for training jobs, in its state directory, which no script sees."""
FROM_JOB = "x-headway-training-job"
"""Header of requests on that socket: the access key of the job's role. A script cannot set it."""

# Of one connection only (RFC 9110, 7.6.1), and Expect, which is answered here.
_HOP_BY_HOP = {"connection", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", FROM_JOB}
_PIECE_BYTES = 65_536
_TIMEOUT_S = 60.0


def serve(listener: socket.socket, *, relay: Path, access_key: str) -> None:
    """Answer on a socket until this process ends, in threads.

    Args:
        listener: The socket.
        relay: The server's socket for training jobs.
        access_key: The access key of the job's role.
    """

    class Handler(_Handler):
        relay_socket = relay
        signer = access_key

    server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="endpoint", daemon=True).start()


class _RelayConnection(HTTPConnection):
    """A connection to the server's socket for training jobs."""

    def __init__(self, relay: Path) -> None:
        super().__init__(HOST, timeout=_TIMEOUT_S)
        self._relay = relay

    def connect(self) -> None:
        """Connect by way of the folder, as a socket's path has 107 bytes at most."""
        folder = os.open(self._relay.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(_TIMEOUT_S)
            self.sock.connect(f"/proc/self/fd/{folder}/{self._relay.name}")
        finally:
            os.close(folder)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    relay_socket: Path
    signer: str

    def _forward(self) -> None:
        try:
            signature = read(self.path.partition("?")[2], self.headers.items())
        except AwsError as error:
            self._refuse(error.status, error.message)
            return
        length = self.headers.get("Content-Length", "0")
        if signature.access_key != self.signer:
            self._refuse(403, "A training job has the credentials of its role only.")
        elif self.headers.defects or any("\n" in value or "\r" in value for value in self.headers.values()):
            self._refuse(400, "The request's headers are malformed.")
        elif "Transfer-Encoding" in self.headers:
            self._refuse(411, "The sandbox needs a Content-Length.")
        elif not (length.isascii() and length.isdigit()):
            self._refuse(400, "Content-Length is not a number.")
        else:
            try:
                self._pass_on(int(length))
            except (OSError, HTTPException, ValueError):
                self.close_connection = True  # the client retries

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _forward  # noqa: N815

    def _pass_on(self, left: int) -> None:
        connection = _RelayConnection(self.relay_socket)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    connection.putheader(name, value)
            connection.putheader(FROM_JOB, self.signer)
            connection.endheaders()
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
