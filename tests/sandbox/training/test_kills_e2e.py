"""Nothing of a job survives it, nor its sandbox, however both end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local import manager
from headway_sandbox.local.sandbox import Sandbox
from tests.sandbox.training.conftest import DURATIONS, settings
from tests.sandbox.training.jobs import Jobs, checkpoints, processes_with
from tests.sandbox.waiting import until

pytestmark = pytest.mark.e2e

ENDLESS = """
import subprocess, sys, time
MARK = "{mark}"
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", MARK], start_new_session=True)
open("/opt/ml/checkpoints/one", "w").close()
print("runs")
time.sleep(600)
"""


@pytest.fixture
def sb() -> Iterator[Sandbox]:
    with Sandbox(deploy=False, durations=DURATIONS, training=settings()) as sandbox:
        yield sandbox


def mark_of(sb: Sandbox, name: str) -> str:
    """Return what the processes of a job have in their command lines, in this run of the tests."""
    return f"mark-of-{name}-in-{sb.state_dir.name}"


def begin(jobs: Jobs, name: str) -> None:
    jobs.start(name, ENDLESS.format(mark=mark_of(jobs.sb, name)), **checkpoints(jobs.sb, name))
    jobs.wait_for_line(name, "runs")
    assert processes_with(mark_of(jobs.sb, name))


def nothing_is_left(sb: Sandbox, name: str) -> bool:
    folder = sb.state_dir / "training" / name
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    # The supervisor, and the first process of its container, have the folder in their command lines.
    running = [*processes_with(mark_of(sb, name)), *processes_with(str(folder))]
    return not (running or folder.exists() or str(folder) in mounts)


def test_a_job_ends_when_the_server_is_killed_and_not_started_again(sb: Sandbox):
    begin(Jobs(sb), "orphan")
    manager.kill(sb.state_dir)
    until(lambda: nothing_is_left(sb, "orphan"))


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "stopped"])
def test_a_job_ends_with_the_server_and_has_failed_by_sagemakers_fault_at_the_next_start(sb: Sandbox, kill: bool):
    jobs = Jobs(sb)
    begin(jobs, "lost")
    sb.restart(kill=kill)
    until(lambda: nothing_is_left(sb, "lost"))
    described = jobs.end("lost")
    assert described["TrainingJobStatus"] == "Failed"
    assert described["FailureReason"].startswith("InternalServerError: ")
    assert jobs.run("next", "print('works')")["TrainingJobStatus"] == "Completed"


def test_a_job_that_was_stopping_when_the_server_was_killed_is_stopped(sb: Sandbox):
    jobs = Jobs(sb)
    begin(jobs, "stopping")
    jobs.stop("stopping")
    sb.restart(kill=True)
    assert jobs.end("stopping")["TrainingJobStatus"] == "Stopped"
    until(lambda: nothing_is_left(sb, "stopping"))


def test_a_job_whose_supervisor_is_killed_fails_by_sagemakers_fault(sb: Sandbox):
    jobs = Jobs(sb)
    begin(jobs, "alone")
    (supervisor,) = processes_with(f"headway_sandbox.training.supervisor\0{sb.state_dir.resolve()}")
    os.kill(supervisor, signal.SIGKILL)
    assert jobs.end("alone")["FailureReason"].startswith("InternalServerError: ")
    until(lambda: nothing_is_left(sb, "alone"))


@pytest.mark.parametrize("control", ["finish", "fail"])
def test_a_job_that_a_test_ends_leaves_nothing(sb: Sandbox, control: str):
    jobs = Jobs(sb)
    begin(jobs, control)
    act: Any = getattr(sb, control)
    act(control)
    until(lambda: nothing_is_left(sb, control))


def test_what_a_script_has_printed_is_kept_over_a_restart(sb: Sandbox):
    jobs = Jobs(sb)
    jobs.run("printed", "print('kept')")
    sb.restart()
    assert jobs.log("printed") == ["kept"]


def test_the_utilization_of_each_host_is_published_and_kept_over_a_restart(sb: Sandbox):
    """It takes up to a minute until values are published."""
    jobs = Jobs(sb)
    script = """
import os, socket, sys, time
if socket.gethostname() == "algo-1":
    open(os.environ["HEADWAY_FAKE_GPU"], "w").write("75")
    if os.fork() == 0:
        while True:
            pass
time.sleep(600)
"""
    groups = [
        {"InstanceGroupName": "gpu", "InstanceType": "ml.g5.xlarge", "InstanceCount": 1},
        {"InstanceGroupName": "cpu", "InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
    ]
    jobs.start("measured", script, ResourceConfig={"InstanceGroups": groups, "VolumeSizeInGB": 30})
    until(lambda: jobs.figures("measured/algo-2", "MemoryUtilization"), timeout_s=150)

    def published() -> dict[str, list[float]]:
        return {
            f"{metric} {number}": jobs.figures(f"measured/algo-{number}", metric)
            for metric in ("CPUUtilization", "MemoryUtilization", "DiskUtilization", "GPUUtilization")
            for number in (1, 2)
        }

    found = published()
    assert found["CPUUtilization 1"][0] > 5 > found["CPUUtilization 2"][0]
    assert (found["GPUUtilization 1"], found["GPUUtilization 2"]) == ([75.0], [])
    assert all(
        0 < found[f"{name} {number}"][0] <= 100
        for name in ("MemoryUtilization", "DiskUtilization")
        for number in (1, 2)
    )
    assert any("GPU utilization is simulated" in line for line in jobs.log("measured", sandbox=True))
    sb.restart()
    assert {name: values[: len(found[name])] for name, values in published().items()} == found
