"""A Ray cluster on the hosts of a training job: the trainer is its head and runs no tasks, the data hosts run them.

Ray's processes end with the script that started them, as it is process 1 of its container.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import ray

PORT = 6379
CONNECT_S = 180.0
"""How long the hosts wait for each other."""
_LOOK_EVERY_S = 0.5
_OBJECT_STORE_BYTES = 200 * 2**20


class NoPeer(Exception):
    """Another host was not there in time."""


def start_head(host: str, *, workers: int, timeout_s: float = CONNECT_S) -> None:
    """Start the head on this host, which runs no tasks, connect to it, and wait for the data hosts.

    Args:
        host: The name of this host.
        workers: How many tasks the data hosts run at a time, all together.
        timeout_s: How long to wait for them.

    Raises:
        NoPeer: They were not there in time.
    """
    _start(host, "--head", f"--port={PORT}", "--num-cpus=0", "--include-dashboard=false")
    ray.init(address=f"{host}:{PORT}", log_to_driver=False)
    _wait(lambda: ray.cluster_resources().get("CPU", 0) >= workers, f"{workers} workers on the data hosts", timeout_s)


def serve(host: str, head: str, *, workers: int, timeout_s: float = CONNECT_S) -> None:
    """Run tasks on this host until the head is gone: a host that goes on would keep the job running.

    Args:
        host: The name of this host.
        head: The name of the head.
        workers: How many tasks run at a time.
        timeout_s: How long to wait for the head.

    Raises:
        NoPeer: It was not there in time.
    """
    _wait(lambda: _listens(head), f"the head {head}", timeout_s)
    _start(host, f"--address={head}:{PORT}", f"--num-cpus={workers}")
    while _listens(head):
        time.sleep(_LOOK_EVERY_S)


def _start(host: str, *options: str) -> None:
    command = [
        # Not the program `ray`: its first line has the path where its environment was made, which may have moved.
        *(sys.executable, "-m", "ray.scripts.scripts", "start"),
        *(f"--node-ip-address={socket.gethostbyname(host)}", f"--object-store-memory={_OBJECT_STORE_BYTES}"),
        # Free ports: hosts that share a network interface, as in the sandbox, would choose the same ones.
        *("--min-worker-port=0", "--max-worker-port=0"),
        "--disable-usage-stats",
        *options,
    ]
    subprocess.run(command, check=True)


def _listens(host: str) -> bool:
    with suppress(OSError), socket.create_connection((host, PORT), timeout=5.0):
        return True
    return False


def _wait(holds: Callable[[], bool], what: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            raise NoPeer(f"Not there within {timeout_s:g} s: {what}.")
        time.sleep(_LOOK_EVERY_S)
