"""What the examples' `run.py` share: scripts in S3, requests, and what jobs have logged and measured.

They run where the queue is configured, and take the role and the bucket of the training jobs from the command line:

    python -m examples.sweep.run --role ROLE_ARN --bucket BUCKET
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3

from headway_client import JobDetails
from headway_client.logs.reader import JobLogs, LogEvent

ROOT = Path(__file__).parents[1]
CODE = "/opt/ml/input/data/code"
"""Where SageMaker places the channel with the scripts."""
MAX_RUN_S = 900


@dataclass(frozen=True, kw_only=True)
class Account:
    """What the training jobs use in AWS."""

    role_arn: str
    bucket: str

    @classmethod
    def from_command_line(cls, description: str | None) -> Account:
        """Return what the command line names.

        Args:
            description: What the command does, for its help.
        """
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
        parser.add_argument("--role", required=True, help="ARN of the role of the training jobs")
        parser.add_argument("--bucket", required=True, help="bucket for their scripts, checkpoints and models")
        options = parser.parse_args()
        return cls(role_arn=options.role, bucket=options.bucket)


def unique(name: str) -> str:
    """Return a name that no earlier run has used: names are unique in the queue."""
    return f"{name}-{datetime.now().astimezone():%m%d-%H%M%S}"


def training_request(
    account: Account,
    name: str,
    scripts: Sequence[str],
    arguments: Mapping[str, object],
    *,
    image: str,
    resources: Mapping[str, Any],
    metrics: Iterable[str] = (),
    checkpoints: bool = False,
) -> dict[str, Any]:
    """Upload the scripts of a training job and return its CreateTrainingJob request.

    Args:
        account: Its role and bucket.
        name: Its name.
        scripts: Their paths in this repository, which they keep; the first one is run.
        arguments: The options of its command line.
        image: Its training image.
        resources: Instance types and counts, as in a ResourceConfig.
        metrics: Names of the metrics that it prints as `name=value`.
        checkpoints: Whether it writes checkpoints.
    """
    s3 = boto3.client("s3")
    for script in scripts:
        s3.upload_file(str(ROOT / script), account.bucket, f"{name}/code/{script}")
    prefix = f"s3://{account.bucket}/{name}"
    request: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": account.role_arn,
        "AlgorithmSpecification": {
            "TrainingImage": image,
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", f"{CODE}/{scripts[0]}"],
            "MetricDefinitions": [{"Name": metric, "Regex": rf"\b{metric}=([0-9.e+-]+)"} for metric in metrics],
        },
        "InputDataConfig": [
            {
                "ChannelName": "code",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"{prefix}/code/"}},
            }
        ],
        # For scripts that import each other.
        "Environment": {"PYTHONPATH": CODE, "PYTHONUNBUFFERED": "1"},
        "OutputDataConfig": {"S3OutputPath": f"{prefix}/output"},
        "ResourceConfig": {"VolumeSizeInGB": 30, **resources},
        "StoppingCondition": {"MaxRuntimeInSeconds": MAX_RUN_S},
    }
    if arguments:
        words = [text for key, value in arguments.items() for text in (f"--{key}", str(value))]
        request["AlgorithmSpecification"]["ContainerArguments"] = words
    if checkpoints:
        request["CheckpointConfig"] = {"S3Uri": f"{prefix}/checkpoints"}
    return request


def log(details: JobDetails) -> list[LogEvent]:
    """Return what all attempts and hosts of a job have logged so far, in order of time."""
    return JobLogs(boto3.client("logs")).new_events(details)


def final_metrics(details: JobDetails) -> dict[str, float]:
    """Return the last value of each metric of a job that has completed."""
    name = details.attempts[-1].name
    described = boto3.client("sagemaker").describe_training_job(TrainingJobName=name)
    return {entry["MetricName"]: entry["Value"] for entry in described.get("FinalMetricDataList", [])}
