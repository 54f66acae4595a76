"""Workflows of Covalent, on its own server: each step is a training job of the queue that really runs."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos.invariants import most_at_once
from tests.client.covalent_executor.installed import metadata_in
from tests.e2e.queue_view import QueueView
from tests.e2e.sandbox.training_sandbox import queue_on, training_sandbox
from tests.e2e.waiting import eventually

pytestmark = [
    pytest.mark.e2e,
    # Its last release supports no later one; the executor itself is tested without it on all of them.
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Covalent 0.240 needs Python 3.11 or older"),
]

ROOT = Checkout.here().root
BIN = ROOT / ".envs/covalent/bin"
SCRIPT = Path(__file__).with_name("scripts") / "covalent_workflows.py"
CPU, GPU = "ml.m5.xlarge", "ml.g5.xlarge"
START_S, WORKFLOW_S = 60, 240


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    with training_sandbox() as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def queue(sb: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueView]:
    pools = {CPU: {"size": 2}, GPU: {"size": 1}}
    with queue_on(sb, tmp_path_factory.mktemp("user"), {"pools": pools}) as view:
        yield view


@dataclass(frozen=True, kw_only=True)
class Covalent:
    """A Covalent server of one test module, on loopback, with a home of its own."""

    environment: dict[str, str]

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(BIN / arguments[0]), *arguments[1:]],
            env=self.environment, capture_output=True, text=True, timeout=WORKFLOW_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, workflow: str) -> dict[str, Any]:
        """Run a workflow of the script, and return its result."""
        found: dict[str, Any] = json.loads(self.command("python", str(SCRIPT), workflow).splitlines()[-1])
        return found


@pytest.fixture(scope="module")
def covalent(sb: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Covalent]:
    assert os.access(BIN / "covalent", os.X_OK), f"{BIN}/covalent is missing: run `make setup`."
    home = tmp_path_factory.mktemp("covalent")
    aws = {name: value for name, value in sb.info.environment().items() if name.startswith("AWS_")}
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = Covalent(
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "layers/core/src", ROOT / "client/src", metadata_in(home)))),
            "COVALENT_CONFIG_DIR": str(home / "config"),
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")},
            "COVALENT_DISPATCHER_ADDR": "127.0.0.1",
            "COVALENT_DISPATCHER_PORT": str(port),
            "COVALENT_SVC_PORT": str(port),
            "HEADWAY_ENDPOINT": sb.endpoint,
            "ROLE_ARN": sb.info.role_arn,
            "TASKS_URI": f"s3://{sb.info.bucket}/covalent",
            **aws,
        }
    )
    # `covalent start` writes its log there, and does not make the folder.
    (home / "cache" / "covalent").mkdir(parents=True)
    server.command("covalent", "start", "--no-cluster", "--no-triggers", "--port", str(port))
    try:
        yield server
    finally:
        server.command("covalent", "stop")


def test_a_sweep_prepares_on_one_pool_and_trains_on_the_other(covalent: Covalent, queue: QueueView):
    found = covalent.run("sweep")
    assert found["status"] == "COMPLETED"
    assert found["result"]["rate"] == 0.3
    assert found["result"]["loss"] == pytest.approx(0.08)
    jobs = list(queue.jobs().values())
    assert {job.state for job in jobs} == {"completed"}
    assert sum(GPU in job.demand for job in jobs) == 3
    trained = [(job, job["Instances"].get(GPU, 0)) for job in queue.training_jobs()]
    assert most_at_once(trained) == 1


def test_a_step_that_fails_fails_the_workflow_with_its_reason_and_no_later_step_runs(
    covalent: Covalent, queue: QueueView
):
    before = set(queue.jobs())
    found = covalent.run("failure")
    assert (found["status"], found["result"]) == ("FAILED", None)
    status, reason = found["nodes"]["prepare"]
    assert status == "FAILED"
    assert "ValueError: there is no data: 0 rows" in reason
    (failed,) = (job for name, job in queue.jobs().items() if name not in before)
    assert (failed.state, failed.demand) == ("failed", {CPU: 1})


def test_a_cancelled_workflow_stops_its_training_job(covalent: Covalent, queue: QueueView):
    before = set(queue.jobs())
    with subprocess.Popen(
        [str(BIN / "python"), str(SCRIPT), "cancel"],
        env=covalent.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as user:  # fmt: skip
        assert user.stdin is not None
        assert user.stdout is not None
        user.stdout.readline()
        (name,) = eventually(lambda: set(queue.jobs()) - before, "the task is submitted", timeout_s=START_S)
        queue.wait_until_training(name)
        user.stdin.write("cancel\n")
        user.stdin.flush()
        eventually(lambda: queue.states()[name] == "stopped", queue.summary, timeout_s=START_S)
        found = json.loads(user.stdout.read().splitlines()[-1])
    assert found["status"] == "CANCELLED"
