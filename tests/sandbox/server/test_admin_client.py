"""A program that listens on a sandbox's port is not taken for the sandbox: it does not have the key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from headway_sandbox.administrator import PROOF, Administrator, proof
from headway_sandbox.errors import SandboxError
from headway_sandbox.server import admin_client

KEY = Administrator(access_key="AKIA0000", secret_key="secret")
HEALTH = {"pid": 1, "stateDir": "/state"}


@pytest.fixture(params=["no proof", "an empty one", "one of another key", "one of another request", "the proof"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[int, bool]]:
    """The port of a server that answers like a sandbox, and whether it has the key."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            signature = str(self.headers["Authorization"]).rpartition("Signature=")[2]
            proofs = {
                "an empty one": "",
                "one of another key": proof("other", signature),
                "one of another request": proof(KEY.secret_key, "0" * 64),
                "the proof": proof(KEY.secret_key, signature),
            }
            self.send_response_only(200)
            if request.param in proofs:
                self.send_header(PROOF, proofs[request.param])
            self.end_headers()
            self.wfile.write(json.dumps(HEALTH).encode())

        def log_message(self, *_arguments: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=listening.serve_forever, daemon=True).start()
    yield listening.server_port, request.param == "the proof"
    listening.shutdown()
    listening.server_close()


def test_only_who_has_the_key_is_the_sandbox(server: tuple[int, bool]):
    port, has_key = server
    if has_key:
        assert admin_client.health(port, KEY) == HEALTH
    else:
        assert admin_client.health(port, KEY) is None
        with pytest.raises(SandboxError, match="is not this sandbox"):
            admin_client.call(port, KEY, "GET", "/health")
