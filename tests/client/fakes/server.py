"""An HTTP server on loopback with the fake API, which checks signatures and injects faults."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.client.fakes import sigv4
from tests.client.fakes.contract import Queue

ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "eu-west-1"
STAGE = "/v1"
QUEUE_TIME = "2026-01-02T06:30:00Z"
"""The queue's time in each of its responses."""


@dataclass
class Received:
    """A received request; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    port: int
    """The client's port, which identifies its connection."""

    @property
    def access_key(self) -> str:
        """The access key that signed the request."""
        return self.headers["authorization"].partition("Credential=")[2].partition("/")[0]


@dataclass
class Fault:
    """A response in place of the queue's.

    Attributes:
        status: its HTTP status.
        body: its body.
        headers: its headers.
        drop: close the connection without a response.
        after: process the request before the fault.
        hang_s: seconds to wait before closing the connection.
        claimed_bytes: the Content-Length to claim; the rest of the body is never sent.
    """

    status: int = 500
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    after: bool = False
    hang_s: float = 0.0
    claimed_bytes: int = 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Simultaneous connections beyond this backlog are delayed by a second.
    request_queue_size = 64


class ContractServer:
    """The queue at `endpoint`. Each of `faults` applies to one request; `received` has all requests.

    `secrets` has the secret key of each access key.
    """

    def __init__(self) -> None:
        self.secrets = {ACCESS_KEY: SECRET_KEY}
        self.queue = Queue()
        self.faults: deque[Fault | None] = deque()
        self.received: list[Received] = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}{STAGE}"

    def fail(self, *faults: Fault | None) -> None:
        """Let the next requests fail; None spares one."""
        self.faults.extend(faults)

    @contextmanager
    def running(self) -> Iterator[ContractServer]:
        thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.stopped.set()
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def _own_headers(queue: Queue, document: dict[str, Any]) -> dict[str, str]:
    # API Gateway's own responses have a message, but no version.
    if queue.server_version is None or "message" in document:
        return {}
    return {"Headway-Version": queue.server_version, "Headway-Time": QUEUE_TIME}


def _handler(server: ContractServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Nagle's algorithm and delayed acknowledgements would add 40 ms to every response.
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with server.lock:
                server.received.append(Received(self.command, self.path, headers, body, self.client_address[1]))
                fault = server.faults.popleft() if server.faults else None
            if fault is None or fault.after:
                status, document = self._answer(headers, body)
                content = b"" if status == 304 else json.dumps(document).encode()
                fault = fault or Fault(status=status, body=content, headers=_own_headers(server.queue, document))
            if fault.drop or fault.hang_s:
                server.stopped.wait(fault.hang_s)
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response_only(fault.status)
            for name, value in {
                "Content-Type": "application/json",
                "Date": self.date_time_string(),
                **fault.headers,
            }.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(fault.claimed_bytes or len(fault.body)))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(fault.body)
            if fault.claimed_bytes:
                server.stopped.wait(10)
                self.close_connection = True

        def _answer(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
            try:
                said = sigv4.check(self.command, self.path, headers, body, secrets=server.secrets)
            except sigv4.WrongSignature as error:
                return 403, {"message": str(error)}
            if (said["region"], said["service"]) != (REGION, "execute-api"):
                return 403, {"message": "Credential should be scoped to a valid region."}
            with server.lock:
                return server.queue.answer(self.command, self.path.removeprefix(STAGE), body, headers)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Suppress the access log, as `received` has the requests."""

    return Handler
