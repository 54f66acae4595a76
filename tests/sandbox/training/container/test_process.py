from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any, cast

from headway_sandbox.training.container.process import Container


def container_with(peer: list[socket.socket]) -> Container:
    """Return a container of one host whose process has ended, and the other end of its socket in `peer`."""
    container = Container.__new__(Container)
    container._socket, theirs = socket.socketpair()
    container._process = cast(Any, SimpleNamespace(poll=lambda: 0))
    container._hosts, container._received, container._closed, container.exit_codes = 1, b"", False, {}
    container.usages = {}
    container.endpoint = None
    peer.append(theirs)
    return container


def test_the_exit_code_that_was_sent_before_the_end_is_read():
    peer: list[socket.socket] = []
    container = container_with(peer)
    peer[0].sendall(b'{"host": 0, "exit": 3}\n')
    peer[0].close()
    assert not container.ended
    container.wait(1.0)
    assert (container.ended, container.exit_codes) == (True, {0: 3})
    container.kill()


def test_a_container_that_ends_without_an_exit_code_has_ended():
    peer: list[socket.socket] = []
    container = container_with(peer)
    container.terminate()
    peer[0].close()  # with SIGTERM unread
    container.wait(1.0)
    assert (container.ended, container.exit_codes) == (True, {})
    container.kill()
