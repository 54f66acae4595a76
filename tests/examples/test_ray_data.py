"""The hosts of examples/ray_data wait for each other for a limited time."""

from __future__ import annotations

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
server = socket.create_server(("127.0.0.1", cluster.PORT))
def start(host, *options):
    print(host, *options[1:])
    server.close()
cluster._start = start
cluster.serve("localhost", "127.0.0.1", workers=3)
"""
    )
    ended = run_with("ray", code)
    assert (ended.stdout, ended.returncode) == ("localhost --num-cpus=3\n", 0), ended.stderr
