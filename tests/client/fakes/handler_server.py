"""The real handler of the queue's API behind an HTTP server, with a table in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.client.fakes import sigv4
from tests.client.fakes.server import ACCESS_KEY, SECRET_KEY, STAGE

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    """Serve a handler like API Gateway's REST proxy, and yield the endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _bridge(handler))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{STAGE}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _event(method: str, target: str, headers: dict[str, str], body: bytes) -> dict[str, Any]:
    """Return the proxy event of a request (source: API Gateway's guide, "Lambda proxy integrations")."""
    path, _, query = target.removeprefix(STAGE).partition("?")
    values = parse_qs(query)
    return {
        "resource": "/{proxy+}",
        "path": unquote(path),
        "httpMethod": method,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: each[-1] for name, each in values.items()} or None,
        "multiValueQueryStringParameters": values or None,
        "pathParameters": {"proxy": unquote(path).strip("/")},
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "identity": {"userArn": "arn:aws:iam::123456789012:user/ada", "sourceIp": "127.0.0.1"},
            "httpMethod": method,
            "path": STAGE + unquote(path),
            "requestId": "gateway-1",
            "stage": STAGE.strip("/"),
        },
        "body": body.decode() or None,
        "isBase64Encoded": False,
    }


def _bridge(handler: Handler) -> type[BaseHTTPRequestHandler]:
    class Bridge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sigv4.check(self.command, self.path, headers, body, secrets={ACCESS_KEY: SECRET_KEY})
            context = SimpleNamespace(
                function_name="api",
                function_version="1",
                memory_limit_in_mb=256,
                invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:api",
                aws_request_id="lambda-1",
                get_remaining_time_in_millis=lambda: 25_000,
            )
            answer = handler(_event(self.command, self.path, headers, body), context)
            content = answer["body"].encode()
            self.send_response(answer["statusCode"])
            for name, values in answer["multiValueHeaders"].items():
                for value in values:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Suppress the access log."""

    return Bridge
