"""The quickstart's commands, run in order on a sandbox."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local.sandbox import Sandbox

pytestmark = pytest.mark.e2e

PAGE = (Path(__file__).parents[2] / "docs/tutorial/quickstart.md").read_text()
# The fixture replaces these commands: it starts and stops a separate sandbox.
BY_THE_FIXTURE = ("python3 -m venv", "source ", "pip install", "headway sandbox")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(speed=100) as running:
        yield running


def commands() -> list[str]:
    typed = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in typed for line in block.splitlines()]
    return [line for line in lines if not line.startswith(BY_THE_FIXTURE)]


def type_in(sandbox: Sandbox, folder: Path, command: str) -> str:
    environment = {
        **sandbox.info.environment(),
        "HEADWAY_ENDPOINT": sandbox.endpoint,
        "HEADWAY_REGION": sandbox.info.region,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_every_command_of_the_quickstart_works_as_documented(sandbox: Sandbox, tmp_path: Path) -> None:
    (job,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "job.json").write_text(job)

    def show(name: str) -> dict[str, Any]:
        shown: dict[str, Any] = json.loads(type_in(sandbox, tmp_path, f"headway show {name} --output json"))
        return shown

    def until(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, type_in(sandbox, tmp_path, "headway queue --all")
            time.sleep(0.2)

    for command in commands():
        shown = type_in(sandbox, tmp_path, command)
        if command == "headway capacity":
            until(lambda: show("first")["jobState"] != "running" or show("second")["jobState"] != "pending")
        if command.startswith("headway stop"):
            assert "Preempted" in {step["reason"]["code"] for step in show("first")["history"]}
        if command.startswith("headway results"):
            assert "The lowest loss is 0.01, of sweep_1." in shown
    assert show("second")["jobState"] in {"stopped", "stopping"}
    pools = json.loads(type_in(sandbox, tmp_path, "headway capacity --output json"))["pools"]
    assert [pool["size"] for pool in pools] == [4]
    until(lambda: show("first")["jobState"] == "running")
