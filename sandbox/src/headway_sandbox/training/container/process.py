"""A running container, as its supervisor sees it."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from headway_sandbox.training.container import runtime
from headway_sandbox.training.container.spec import ContainerSpec
from headway_sandbox.training.container.usage import Usage

_BYTES = 65_536
_END_S = 10.0


class Container:
    """Starts the hosts of a job. All of its processes end with `kill`, or when this process ends.

    The second holds even if this process is killed: the container's first process finds its socket closed.

    Args:
        spec: What it runs.
        path: File for the specification.
        prefix: The command that makes its namespaces.
    """

    def __init__(self, spec: ContainerSpec, path: Path, *, prefix: Sequence[str]) -> None:
        spec.write(path)
        self.exit_codes: dict[int, int] = {}
        """Exit code of each host that has ended, by its number from 0."""
        self.usages: dict[int, Usage] = {}
        """What each running host used when it was measured last, by its number from 0."""
        self._hosts = len(spec.hosts)
        self._received = b""
        self._closed = False
        self._socket, theirs = socket.socketpair()
        outputs = [host.output for host in spec.hosts]
        command = [*prefix, sys.executable, "-m", runtime.__name__, str(path), str(theirs.fileno())]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno(), *outputs], start_new_session=True
            )
        finally:
            theirs.close()
            for output in outputs:
                os.close(output)
        _message, received, _flags, _address = socket.recv_fds(self._socket, 1, 1)
        self.endpoint = socket.socket(fileno=received[0]) if received else None
        """The socket of the AWS endpoint in the container's network; None if its namespaces could not be made."""

    @property
    def ended(self) -> bool:
        """Whether all hosts have ended."""
        return len(self.exit_codes) == self._hosts or self._closed

    def wait(self, timeout_s: float) -> None:
        """Wait until a host ends or was measured, or for this time."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return
        try:
            received = self._socket.recv(_BYTES)
        except ConnectionResetError:  # it has ended without reading all that was sent to it
            received = b""
        # Not when the process has ended: its last messages may still be on their way.
        self._closed = not received
        *lines, self._received = (self._received + received).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "usage" in message:
                self.usages[message["host"]] = Usage(**message["usage"])
            else:
                self.exit_codes[message["host"]] = message["exit"]
                self.usages.pop(message["host"], None)

    def wait_for_end(self, timeout_s: float) -> None:
        """Wait until all hosts have ended, or for this time."""
        ends_at = time.monotonic() + timeout_s
        while not self.ended and (left_s := ends_at - time.monotonic()) > 0:
            self.wait(left_s)

    def terminate(self, *, everyone: bool = False) -> None:
        """Send SIGTERM to process 1 of each host, or to everyone: all of its processes."""
        with suppress(BrokenPipeError):
            self._socket.sendall(runtime.TERMINATE_ALL if everyone else runtime.TERMINATE)

    def end(self) -> None:
        """End all processes of the container. `wait` returns then, also on another thread."""
        # Its first process ends when its socket does. The socket may be closed already.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def kill(self) -> None:
        """End all processes of the container, and wait for them."""
        if self._process.poll() is None:
            # The parent of the PID namespace's first process finds that ended when the kernel has ended all other
            # processes of the namespace.
            self.end()
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._socket.close()
        if self.endpoint is not None:
            self.endpoint.close()
