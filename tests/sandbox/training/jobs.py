"""Training jobs of a sandbox that run small scripts."""

from __future__ import annotations

import io
import sys
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headway_sandbox.local import training_options
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.training.container.isolation import CannotIsolate
from headway_sandbox.training.settings import TrainingSettings
from tests.sandbox.waiting import until

GROUP = "/aws/sagemaker/TrainingJobs"
"""Log group, and namespace of metrics."""
ENDED = {"Completed", "Failed", "Stopped"}
GRACE_S = 2.0
_END_S = 120.0


def training_settings() -> TrainingSettings:
    """Settings with this Python for all images; skips the test where scripts cannot be isolated."""
    try:
        return training_options.settings([f"*={sys.executable}"], stop_grace_s=GRACE_S)
    except CannotIsolate as error:
        pytest.skip(str(error))


def definition(sb: Sandbox, name: str, script: str = "", **changes: Any) -> dict[str, Any]:
    """Return a CreateTrainingJob request, and upload its script as a channel; a change to None leaves a member out."""
    bucket = sb.info.bucket
    if script:
        sb.client("s3").put_object(Bucket=bucket, Key=f"code/{name}/train.py", Body=script.encode())
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/code/{name}"}
    document: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": sb.info.role_arn,
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "/opt/ml/input/data/code/train.py"],
        },
        "InputDataConfig": [{"ChannelName": "code", "DataSource": {"S3DataSource": source}}],
        "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/output"},
        "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def checkpoints(sb: Sandbox, folder: str) -> dict[str, Any]:
    return {"CheckpointConfig": {"S3Uri": f"s3://{sb.info.bucket}/checkpoints/{folder}"}}


class Jobs:
    """Starts jobs, waits for them, and reads what they leave."""

    def __init__(self, sb: Sandbox) -> None:
        self.sb = sb
        self._sagemaker = sb.client("sagemaker")

    def start(self, name: str, script: str = "", **changes: Any) -> None:
        self._sagemaker.create_training_job(**definition(self.sb, name, script, **changes))

    def run(self, name: str, script: str = "", **changes: Any) -> dict[str, Any]:
        """Run a job to its end and return its description."""
        self.start(name, script, **changes)
        return self.end(name)

    def stop(self, name: str) -> None:
        self._sagemaker.stop_training_job(TrainingJobName=name)

    def describe(self, name: str) -> dict[str, Any]:
        description: dict[str, Any] = self._sagemaker.describe_training_job(TrainingJobName=name)
        return description

    def end(self, name: str) -> dict[str, Any]:
        """Wait for the end of a job and return its description."""
        until(lambda: self.describe(name)["TrainingJobStatus"] in ENDED, timeout_s=_END_S)
        return self.describe(name)

    def log(self, name: str, host: int = 1, *, sandbox: bool = False) -> list[str]:
        """Return what a host of a job has printed, or the sandbox's own lines in its log."""
        logs = self.sb.client("logs")
        try:
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=GROUP)
            events = [event for page in pages for event in page["events"]]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ResourceNotFoundException":
                return []
            raise
        # The emulator does not select streams by their prefix.
        lines = [event["message"] for event in events if event["logStreamName"].startswith(f"{name}/algo-{host}-")]
        return [line for line in lines if line.startswith("Sandbox: ") is sandbox]

    def wait_for_line(self, name: str, line: str) -> None:
        until(lambda: line in self.log(name))

    def figures(self, host: str, metric: str) -> list[float]:
        """Return the values of a metric of a host, such as `job/algo-1`, oldest first."""
        now = datetime.now(UTC)
        found: list[dict[str, Any]] = self.sb.client("cloudwatch").get_metric_statistics(
            Namespace=GROUP,
            MetricName=metric,
            Dimensions=[{"Name": "Host", "Value": host}],
            StartTime=now - timedelta(hours=1),
            EndTime=now,
            Period=60,
            Statistics=["Average"],
        )["Datapoints"]
        return [each["Average"] for each in sorted(found, key=lambda each: each["Timestamp"])]

    def keys(self, prefix: str) -> list[str]:
        found = self.sb.client("s3").list_objects_v2(Bucket=self.sb.info.bucket, Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def read(self, key: str) -> bytes:
        content: bytes = self.sb.client("s3").get_object(Bucket=self.sb.info.bucket, Key=key)["Body"].read()
        return content

    def archive(self, name: str, which: str = "model") -> dict[str, bytes | None]:
        """Return the files of a job's archive."""
        content = io.BytesIO(self.read(f"output/{name}/output/{which}.tar.gz"))
        with tarfile.open(fileobj=content) as packed:
            members = {member.name: packed.extractfile(member) for member in packed.getmembers()}
            return {path: None if file is None else file.read() for path, file in members.items()}


def processes_with(mark: str) -> list[int]:
    """Return the processes of this machine that have a text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found
