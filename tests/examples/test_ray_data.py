"""The hosts of examples/ray_data wait for each other, for a limited time."""

from __future__ import annotations

import pytest

from tests.examples.environments import run_with

FREE_PORT = """
import socket
from examples.ray_data import cluster
with socket.create_server(("127.0.0.1", 0)) as free:
    cluster.PORT = free.getsockname()[1]
"""


def test_a_data_host_whose_head_does_not_come_fails():
    code = FREE_PORT + "cluster.serve('localhost', 'localhost', workers=1, timeout_s=0.2)"
    assert "NoPeer: Not there within 0.2 s: the head localhost." in run_with("ray", code).stderr


def test_a_data_host_starts_ray_when_its_head_is_there_and_ends_when_it_is_gone():
    code = (
        FREE_PORT
        + """
from threading import Timer
server = socket.create_server(("127.0.0.1", cluster.PORT))
def end():
    print("the head is gone", flush=True)
    server.close()
def start(host, *options):
    print(host, *options[1:], flush=True)
    Timer(1.0, end).start()
cluster._start = start
cluster.serve("localhost", "127.0.0.1", workers=3)
print("the data host has ended")
"""
    )
    ended = run_with("ray", code)
    assert ended.stdout.splitlines() == ["localhost --num-cpus=3", "the head is gone", "the data host has ended"]


@pytest.mark.parametrize(("workers", "error"), [(4, ""), (5, "NoPeer: Not there within 0.2 s: 5 workers")])
def test_the_trainer_begins_when_all_workers_have_joined(workers: int, error: str):
    code = f"""
from examples.ray_data import cluster
cluster._start = lambda *_: None
cluster.ray.init = lambda **_: None
cluster.ray.cluster_resources = lambda: {{"CPU": 4.0}}
cluster.start_head("localhost", workers={workers}, timeout_s=0.2)
"""
    ended = run_with("ray", code)
    assert error in ended.stderr
    assert ended.returncode == (1 if error else 0), ended.stderr
