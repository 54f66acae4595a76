"""Script mode with the toolkit of SDK 2's images, and an unmodified script of SDK 3 with its drivers."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.settings import find_interpreters
from tests.sandbox.training.conftest import DISK_BYTES, DURATIONS, settings
from tests.sandbox.training.jobs import Jobs

pytestmark = pytest.mark.e2e

ROOT = Checkout.here().root
TOOLKIT = ROOT / ".envs/training/bin/python"
SDK_3 = ROOT / ".envs/sdk3/bin/python"
TRAIN = """
import argparse, os
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
print("trained with", parser.parse_known_args()[0].lr, os.listdir(os.environ["SM_CHANNEL_TRAIN"]))
open(os.environ["SM_MODEL_DIR"] + "/weights", "w").write("w")
"""


@pytest.fixture(scope="module")
def sb() -> Iterator[Sandbox]:
    if not TOOLKIT.exists():
        pytest.skip("The sagemaker-training toolkit is not installed: run `make .envs/training/.made`.")
    training = settings(interpreters=find_interpreters([f"*={TOOLKIT}"], default=TOOLKIT))
    with Sandbox(deploy=False, durations=DURATIONS, training=training) as sandbox:
        sandbox.client("s3").put_object(Bucket=sandbox.info.bucket, Key="data/a.csv", Body=b"1")
        yield sandbox


def member(name: str, content: bytes = b"", **changes: Any) -> tuple[tarfile.TarInfo, bytes]:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for attribute, value in changes.items():
        setattr(entry, attribute, value)
    return entry, content


def script_mode(sb: Sandbox, name: str, script: str, *more: tuple[tarfile.TarInfo, bytes]) -> dict[str, Any]:
    """Upload a script, and more members of its archive, as SDK 2 does, and return what its requests have."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for entry, data in (member("train.py", script.encode()), *more):
            packed.addfile(entry, io.BytesIO(data))
    bucket = sb.info.bucket
    sb.client("s3").put_object(Bucket=bucket, Key=f"{name}/sourcedir.tar.gz", Body=content.getvalue())
    hyperparameters = {
        "sagemaker_program": "train.py",
        "sagemaker_submit_directory": f"s3://{bucket}/{name}/sourcedir.tar.gz",
        "sagemaker_region": sb.info.region,
        "sagemaker_job_name": name,
        "sagemaker_container_log_level": 20,
        "lr": 0.1,
    }
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/data/"}}
    return {
        "AlgorithmSpecification": {"TrainingImage": "pytorch-training:2", "TrainingInputMode": "File"},
        "HyperParameters": {name: json.dumps(value) for name, value in hyperparameters.items()},
        "InputDataConfig": [{"ChannelName": "train", "DataSource": source}],
    }


def test_script_mode_runs_the_script_with_its_hyperparameters(sb: Sandbox):
    jobs = Jobs(sb)
    assert jobs.run("mode", **script_mode(sb, "mode", TRAIN))["TrainingJobStatus"] == "Completed"
    assert "trained with 0.1 ['a.csv']" in jobs.log("mode")
    assert jobs.archive("mode") == {"weights": b"w"}


def test_the_error_of_a_script_in_script_mode_is_the_reason(sb: Sandbox):
    described = Jobs(sb).run("mode-fails", **script_mode(sb, "mode-fails", "raise ValueError('no data')"))
    assert described["FailureReason"].startswith("AlgorithmError: ExecuteUserScriptError:")


@pytest.mark.parametrize("kind", ["traversal", "absolute path", "link", "bomb"])
def test_a_hostile_archive_changes_nothing_outside_of_its_job(sb: Sandbox, tmp_path: Path, kind: str):
    """The toolkit unpacks it in the container, as the job's user; the sandbox itself unpacks no archive."""
    name, victim = f"hostile-{kind.replace(' ', '-')}", tmp_path / "victim"
    victim.write_text("as before")
    more = {
        "traversal": [member("../" * 12 + str(victim)[1:], b"changed")],
        "absolute path": [member(str(victim), b"changed")],
        "link": [
            member("link", type=tarfile.SYMTYPE, linkname=str(tmp_path)),
            member("link/victim", b"changed"),
        ],
        "bomb": [member(f"zeros-{number}", b"\0" * (DISK_BYTES // 2)) for number in range(4)],
    }[kind]
    jobs = Jobs(sb)
    described = jobs.run(name, **script_mode(sb, name, "import time; time.sleep(3)", *more))
    if kind == "bomb":
        assert "No space left on device" in described["FailureReason"]
    assert victim.read_text() == "as before"
    assert not (sb.state_dir / "training" / name).exists()
    assert jobs.run(f"{name}-next", **script_mode(sb, f"{name}-next", TRAIN))["TrainingJobStatus"] == "Completed"


def test_a_trainer_of_sdk_3_runs_with_its_drivers(sb: Sandbox, tmp_path: Path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "train.py").write_text(TRAIN)
    config = tmp_path / "sagemaker.yaml"
    # As in tests.e2e.client.sdk_users: the SDK calls STS only at AWS.
    modules = f"{{TelemetryOptOut: true, Session: {{DefaultS3Bucket: {sb.info.bucket}}}}}"
    config.write_text(f"SchemaVersion: '1.0'\nSageMaker: {{PythonSDK: {{Modules: {modules}}}}}\n")
    environment = {
        **sb.info.environment(),
        "SAGEMAKER_USER_CONFIG_OVERRIDE": str(config),
        "SAGEMAKER_ADMIN_CONFIG_OVERRIDE": str(config),
        "SAGEMAKER_VALIDATE_ROLE": "false",
    }
    command = [
        SDK_3,
        ROOT / "tests/e2e/client/scripts/sdk3_trainer.py",
        "v3",
        sb.info.role_arn,
        sources,
        sb.info.bucket,
        "ml.m5.xlarge",
    ]
    ended = subprocess.run(
        list(map(str, command)), env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "Completed" in ended.stdout, ended.stdout + ended.stderr
    (name,) = [job["TrainingJobName"] for job in sb.jobs() if job["TrainingJobName"].startswith("v3-")]
    assert "trained with None ['a.csv']" in Jobs(sb).log(name)
