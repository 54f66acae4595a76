"""The sandbox from a wheel: in an environment of its own, without a checkout, make or sam."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.processes import processes_of
from tests.sandbox.fleets import request
from tests.wheels import ROOT, build_wheel

pytestmark = pytest.mark.e2e

TIMEOUT_S = 300
SCRIPT = """
import json, sys
import boto3, headway_client

headway_client.install()
job = json.load(sys.stdin)
client = boto3.client("sagemaker")
client.create_training_job(**job)
name = job["TrainingJobName"]
client.get_waiter("training_job_completed_or_stopped").wait(
    TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120}
)
print(client.describe_training_job(TrainingJobName=name)["TrainingJobStatus"])
"""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A user's environment and folder, with no path into the checkout."""

    bin: Path
    folder: Path

    def run(
        self, *words: str, given: str = "", expected: int = 0, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment."""
        home = {"HOME": str(self.folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
        done = subprocess.run(
            [str(self.bin / words[0]), *words[1:]], env={**home, **(variables or {})}, cwd=self.folder, input=given,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        assert done.returncode == expected, f"{words}: {done.stdout}{done.stderr}"
        return done

    def install(self, package: str, pins: Path) -> None:
        """Install a package as its user does, but with pins: a release of another package must not fail this test."""
        pip = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--no-input", "--constraint", str(pins)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [*pip, package], env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def pins() -> str:
    """The versions of the environments that all other tests run in; the emulator's own come first."""
    found: dict[str, str] = {}
    for environment in ("dev", "sandbox"):
        text = (ROOT / "requirements" / f"{environment}.txt").read_text("utf-8")
        found |= dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", text, re.MULTILINE))
    return "".join(f"{name}=={version}\n" for name, version in found.items())


@contextmanager
def running_sandbox(machine: Machine) -> Iterator[dict[str, str]]:
    """The sandbox with its settings for boto3."""
    try:
        info = json.loads(machine.run("headway", "sandbox", "up", "--speed", "600", "-o", "json").stdout)
        yield {
            "AWS_ENDPOINT_URL": info["aws_endpoint"],
            "AWS_DEFAULT_REGION": info["region"],
            "AWS_ACCESS_KEY_ID": info["access_key"],
            "AWS_SECRET_ACCESS_KEY": info["secret_key"],
        }
    finally:
        machine.run("headway", "sandbox", "down")


def test_a_job_runs_to_its_end_in_a_sandbox_from_a_wheel(tmp_path: Path):
    wheel = build_wheel(tmp_path / "dist")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    constraints = tmp_path / "pins.txt"
    constraints.write_text(pins())
    machine = Machine(bin=tmp_path / "env" / "bin", folder=tmp_path / "project")
    machine.folder.mkdir()

    machine.install(str(wheel), constraints)
    refused = machine.run("headway", "sandbox", "up", expected=2).stderr
    extra = f"{wheel}[sandbox]"
    assert f"(ministack, samtranslator, aws_lambda_powertools, pydantic): run `pip install '{extra}'`" in refused
    assert processes_of(machine.folder) == []

    machine.install(extra, constraints)
    # What the README begins with.
    (demo,) = re.findall(r"^build/try/bin/(headway .+)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    machine.run(*demo.split())
    with running_sandbox(machine) as settings:
        job = json.dumps(request("first"))
        assert machine.run("python", "-c", SCRIPT, given=job, variables=settings).stdout == "Completed\n"
        # The queue learns of the end by an event.
        machine.run("headway", "wait", "first", "--timeout", "120")
        ended = json.loads(machine.run("headway", "queue", "--all", "-o", "json").stdout)
        assert [(entry["jobName"], entry["jobState"]) for entry in ended["jobs"]] == [("first", "completed")]

        # The same version is not deployed again, another one is, and the jobs stay.
        assert machine.run("headway", "sandbox", "up").stderr == ""
        (handler,) = tmp_path.glob("env/lib/python*/site-packages/headway_sandbox/_bundle/functions/api/app.py")
        handler.write_text(handler.read_text("utf-8") + "\n# another version\n", "utf-8")
        assert machine.run("headway", "sandbox", "up").stderr == "headway: deploying (CloudFormation)\n"
        assert json.loads(machine.run("headway", "show", "first", "-o", "json").stdout)["jobState"] == "completed"
    assert processes_of(machine.folder) == []
