"""`python -m headway_sandbox.training.container.runtime SPEC SOCKET`: process 1 of a training job's namespaces.

It starts the hosts, and reports what their processes use and their exit codes. Its network namespace has nothing but a
loopback interface; the AWS endpoint there is a socket that it opens and hands to the supervisor, which answers on it.
When it ends, the kernel ends all processes of the job, whatever they do.
"""

from __future__ import annotations

import array
import fcntl
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headway_sandbox.training.container import usage
from headway_sandbox.training.container.spec import ContainerSpec

TERMINATE = b"T"
"""From the supervisor: send SIGTERM to process 1 of each host."""
TERMINATE_ALL = b"A"
"""From the supervisor: send SIGTERM to all processes of each host."""

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_BACKLOG = 64
_MEASURE_EVERY_S = 0.5
# To measure memory takes a time in proportion to it: 15 ms per GiB. At most this part of one core is used for it.
_MEASURING_SHARE = 0.05


def main(path: str, descriptor: int) -> int:
    """Run all hosts and return 0 when they have ended."""
    spec = ContainerSpec.read(Path(path))
    supervisor = socket.socket(fileno=descriptor)
    _bring_loopback_up()
    with socket.create_server(("127.0.0.1", spec.port), backlog=_BACKLOG) as endpoint:
        socket.send_fds(supervisor, [b"\n"], [endpoint.fileno()])
    outputs = [host.output for host in spec.hosts]
    hosts = {
        os.pidfd_open(process.pid): (number, process)
        for number, process in enumerate(_start_host(path, number, outputs) for number in range(len(spec.hosts)))
    }
    for output in outputs:
        os.close(output)  # so that the supervisor finds the end of a host's output
    try:
        return _follow(supervisor, hosts)
    except BrokenPipeError:
        return 1  # the supervisor has gone


def _follow(supervisor: socket.socket, hosts: dict[int, tuple[int, subprocess.Popen[bytes]]]) -> int:
    """Report on the hosts, which have the keys of their pidfd, until all have ended or the supervisor has gone."""
    measure_at = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(supervisor, selectors.EVENT_READ)
        for each in hosts:
            selector.register(each, selectors.EVENT_READ)
        while hosts:
            for key, _events in selector.select(max(0.0, measure_at - time.monotonic())):
                if key.fd == supervisor.fileno():
                    received = supervisor.recv(1)
                    if received == TERMINATE:
                        for _number, process in hosts.values():
                            process.send_signal(signal.SIGTERM)
                    elif received == TERMINATE_ALL:
                        _terminate_all(process.pid for _number, process in hosts.values())
                    else:
                        return 1  # the supervisor has gone
                else:
                    number, process = hosts.pop(key.fd)
                    selector.unregister(key.fd)
                    _tell(supervisor, host=number, exit=process.wait())
            began = time.monotonic()
            if began >= measure_at:
                for number, process in hosts.values():
                    _tell(supervisor, host=number, usage=asdict(usage.measure(process.pid)))
                took_s = time.monotonic() - began
                measure_at = began + max(_MEASURE_EVERY_S, took_s / _MEASURING_SHARE)
    return 0


def _tell(supervisor: socket.socket, **message: Any) -> None:
    supervisor.sendall(json.dumps(message).encode() + b"\n")


def _start_host(path: str, number: int, outputs: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "headway_sandbox.training.container.host", path, str(number)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[outputs[number]])


def _terminate_all(outside: Iterable[int]) -> None:
    """Send SIGTERM to all processes of the hosts.

    Args:
        outside: The processes that wait for them, outside of their PID namespaces.
    """
    spared = {os.getpid(), *outside}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in spared:
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGTERM)


def _bring_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = array.array("b", struct.pack("16sh", b"lo", 0) + b"\0" * 22)
        fcntl.ioctl(control, _GET_FLAGS, request)
        (flags,) = struct.unpack_from("h", request, 16)
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP) + b"\0" * 22)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
