"""The hosts of examples/data_parallel share every batch, and their logs are read."""

from __future__ import annotations

import json
from pathlib import Path

from examples.data_parallel import run
from tests.examples.environments import TIMEOUT_S, run_with, start_script


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


def test_two_hosts_end_with_the_same_weights_and_the_first_one_saves_the_model(tmp_path: Path):
    hosts = ["127.0.0.1", "127.0.0.2"]
    processes = []
    for host in hosts:
        folder = tmp_path / host
        folder.mkdir()
        resources = {"current_host": host, "hosts": hosts, "network_interface_name": "lo"}
        (folder / "resourceconfig.json").write_text(json.dumps(resources))
        options = ("--steps=5", f"--model-dir={folder}", f"--resources={folder / 'resourceconfig.json'}")
        processes.append(start_script("torch", "examples/data_parallel/train.py", *options))
    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in processes]
    first, second = run.digests("".join(outputs).splitlines())
    assert first == second
    assert [(tmp_path / host / "model.pt").exists() for host in hosts] == [True, False]
