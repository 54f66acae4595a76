"""The relay of a training job: what is not signed by the job's role alone does not even reach the server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from threading import Thread

import pytest

from headway_sandbox.training import endpoint

AT, SIG = "20260102T030405Z", "0a" * 32


class Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@dataclass
class Relay:
    """A relay with its server."""

    port: int
    arrived: list[tuple[str, list[tuple[str, str]], bytes]] = field(default_factory=list)

    def send(self, *lines: str, body: bytes = b"") -> bytes:
        """Send a request as it is, and return all that is answered."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        return answer


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    listener = socket.create_server(("127.0.0.1", 0))
    made = Relay(port=listener.getsockname()[1])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            made.arrived.append((self.path, list(self.headers.items()), body))
            self.send_response_only(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_arguments: object) -> None:
            pass

    # Deeper than the 107 bytes of a socket's path.
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        server = Server(endpoint.RELAY, Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    endpoint.serve(listener, relay=folder / endpoint.RELAY, access_key="OWN1")
    yield made
    server.shutdown()
    server.server_close()


def signed(key: str = "OWN1") -> list[str]:
    value = f"AWS4-HMAC-SHA256 Credential={key}/20260102/eu-west-1/s3/aws4_request, "
    return ["Host: h", f"X-Amz-Date: {AT}", f"Authorization: {value}SignedHeaders=host;x-amz-date, Signature={SIG}"]


def presigned(key: str = "OWN1") -> str:
    return (
        f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={key}%2F20260102%2Feu-west-1%2Fs3%2Faws4_request"
        f"&X-Amz-Date={AT}&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature={SIG}"
    )


def test_what_the_job_has_signed_is_passed_on_with_its_mark(relay: Relay):
    forged = ["X-Headway-Training-Job: OTHER", "x-headway-training-job: OTHER2", "Connection: close", "TE: trailers"]
    answer = relay.send("POST /a?b=c HTTP/1.1", *signed(), *forged, "Content-Length: 4", body=b"body")
    assert (answer[:12], answer[-2:]) == (b"HTTP/1.1 200", b"ok")
    relay.send(f"POST /a?{presigned()} HTTP/1.1", "Host: h")
    (first, headers, body), (second, others, _) = relay.arrived
    assert (first, body, second) == ("/a?b=c", b"body", f"/a?{presigned()}")
    for sent in (headers, others):
        assert [value for name, value in sent if name.lower() == endpoint.FROM_JOB] == ["OWN1"]
    assert {"connection", "te"} & {name.lower() for name, _ in headers} == set()


REFUSED = {
    "no signature": ("/", ["Host: h"]),
    "another key": ("/", signed("OTHER")),
    "another key, presigned": (f"/?{presigned('OTHER')}", ["Host: h"]),
    "own key in an unusual header, presigned by another": (
        f"/?{presigned('test')}", ["Host: h", "Authorization: Bearer Credential=OWN1/"],
    ),
    "own key in header and query": (f"/?{presigned()}", signed()),
    "two headers": ("/", [*signed(), signed("OTHER")[2]]),
    "chunks": ("/", [*signed(), "Transfer-Encoding: chunked"]),
    "a length that is none": ("/", [*signed(), "Content-Length: +5"]),
    "a length in other digits": ("/", [*signed(), "Content-Length: \xb2"]),
    "two lengths": ("/", [*signed(), "Content-Length: 0", "Content-Length: 5"]),
    "a folded header": ("/", [*signed(), "X-A: b\r\n c"]),
    "a line that is no header": ("/", [*signed(), "no header"]),
    "a name with a space": ("/", [*signed(), "Transfer-Encoding : chunked"]),
}  # fmt: skip


@pytest.mark.parametrize("way", REFUSED)
def test_all_else_does_not_reach_the_server(relay: Relay, way: str):
    target, headers = REFUSED[way]
    answer = relay.send(f"POST {target} HTTP/1.1", *headers, body=b"0\r\n\r\nPOST / HTTP/1.1\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 411"))
    assert answer.count(b"HTTP/1.1") == 1
    assert relay.arrived == []
