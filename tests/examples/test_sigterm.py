"""A script ends when it receives SIGTERM: process 1 of a container does not without a handler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.examples.environments import exit_code_after_sigterm, start_script


@pytest.mark.parametrize(
    ("environment", "script", "group"),
    [
        ("examples", "heterogeneous", "trainer"),
        ("examples", "heterogeneous", "data"),
        ("torch", "data_parallel", "trainer"),
        ("ray", "ray_data", "data"),
    ],
)
def test_a_script_ends_by_sigterm(tmp_path: Path, environment: str, script: str, group: str):
    resources = {
        "current_host": "localhost",
        "current_group_name": group,
        "hosts": ["localhost"],
        "network_interface_name": "lo",
    }
    (tmp_path / "resourceconfig.json").write_text(json.dumps(resources))
    options = ("--steps=1000000", f"--model-dir={tmp_path}", f"--resources={tmp_path / 'resourceconfig.json'}")
    process = start_script(environment, f"examples/{script}/train.py", *options)
    assert exit_code_after_sigterm(process) == 128 + 15
