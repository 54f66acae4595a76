from __future__ import annotations

import socket
import threading
from types import SimpleNamespace
from typing import Any, cast

from headway_sandbox.training.container import runtime
from headway_sandbox.training.container.process import Container
from headway_sandbox.training.container.usage import Usage


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


def test_messages_of_a_host_are_its_usage_and_its_exit_code():
    peer: list[socket.socket] = []
    container = container_with(peer)
    runtime._tell(peer[0], host=0, usage={"at_s": 1.0, "cpu_s": 2.0, "memory_bytes": 3})
    container.wait(1.0)
    assert container.usages == {0: Usage(at_s=1.0, cpu_s=2.0, memory_bytes=3)}
    assert not container.ended
    runtime._tell(peer[0], host=0, exit=7)
    container.wait_for_end(1.0)
    assert (container.usages, container.exit_codes, container.ended) == ({}, {0: 7}, True)
    peer[0].close()
    container.kill()


def test_a_message_to_a_supervisor_that_has_gone_is_dropped():
    ours, theirs = socket.socketpair()
    theirs.close()
    runtime._tell(ours, host=0, exit=0)
    ours.close()


def test_the_end_is_waited_for_whatever_comes_before_it():
    peer: list[socket.socket] = []
    container = container_with(peer)
    runtime._tell(peer[0], host=0, usage={"at_s": 1.0, "cpu_s": 2.0, "memory_bytes": 3})
    end = threading.Timer(0.2, runtime._tell, (peer[0],), {"host": 0, "exit": 0})
    end.start()
    container.wait_for_end(30.0)
    assert container.ended
    end.join()
    peer[0].close()
    container.kill()
