"""A server on loopback that answers each request with the same bytes, so that botocore reads them as they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import boto3
from botocore.config import Config

HTML = b"<html>\r\n<head><title>Bad Gateway</title></head>\r\n<body>Bad Gateway</body>\r\n</html>\r\n"
DOCTYPE = b"<!DOCTYPE html>\n" + HTML
TRUNCATED = b'{"__type":"ValidationException","mess'
FOREIGN = b'{"message":"Forbidden"}'

BODIES = {"empty": b"", "HTML": HTML, "HTML 5": DOCTYPE, "truncated": TRUNCATED, "somebody else's JSON": FOREIGN}
STRANGE = {"a list": b'["ValidationException"]', "null": b"null", "a number for a code": b'{"__type":400}'}

STATUSES = (302, 400, 401, 403, 404, 407, 408, 413, 500, 502, 503, 504)


class RawServer:
    """Its responses.

    Attributes:
        status: the HTTP status.
        body: the body.
        headers: further headers.
        promised: the Content-Length, if it is not the body's: the connection is closed before as much has come.
        requests: how many there were.
    """

    def __init__(self) -> None:
        self.answer(200, b"{}")
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.requests += 1
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(server.status)
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(server.promised or len(server.body)))
                self.end_headers()
                self.wfile.write(server.body)
                self.close_connection = True

            do_GET = do_POST  # noqa: N815 - S3

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def answer(self, status: int, body: bytes, *, promised: int = 0, **headers: str) -> None:
        """Answer so from now on."""
        self.status, self.body, self.promised = status, body, promised
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @contextmanager
    def running(self) -> Iterator[RawServer]:
        """Serve."""
        thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def client(self, service: str) -> Any:
        """A client of a service that calls this server, without retries."""
        return boto3.client(
            service,  # type: ignore[call-overload]
            region_name="eu-west-1",
            endpoint_url=f"http://127.0.0.1:{self._http.server_address[1]}",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )
