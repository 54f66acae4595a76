"""The hosts of examples/data_parallel share every batch, and their logs are read."""

from __future__ import annotations

from examples.data_parallel import run
from tests.examples.environments import run_with


def test_the_digests_of_the_hosts_are_read_from_their_logs():
    lines = ["host 1 of 2 has weights ab12", "loss=0.5", "host 2 of 2 has weights cd34", "Sandbox: host"]
    assert run.digests(lines) == ["ab12", "cd34"]


def test_the_hosts_train_on_each_sample_once():
    code = """
from examples.data_parallel.train import batch, part
samples, labels = batch(1, 0)
parts = [part(samples, rank, 4) for rank in range(4)]
print([len(each) for each in parts], sorted(sum((each.tolist() for each in parts), [])) == sorted(samples.tolist()))
"""
    assert run_with("torch", code).stdout == "[16, 16, 16, 16] True\n"


def test_a_batch_that_cannot_be_divided_equally_is_refused():
    code = "from examples.data_parallel.train import batch, part; part(batch(1, 0)[0], 0, 3)"
    assert "A batch of 64 samples cannot be divided equally on 3 hosts." in run_with("torch", code).stderr
