"""Calls that change training jobs, tags that are copied, names and requests that are not valid.

python boto3_changes.py NAME ROLE BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError


def outcome(call: Callable[[], Any]) -> str:
    """Return the code of a call's error, or that it succeeded."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "ok"


def main(name: str, role: str, bucket: str, instance_type: Any) -> None:
    """Submit a job for an instance that is free, and one that waits behind it, and try to change both."""
    sagemaker: Any = boto3.client("sagemaker")
    request: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": role,
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{bucket}/output"},
        "ResourceConfig": {"InstanceType": instance_type, "InstanceCount": 2, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "Environment": {"SANDBOX_RUN_SECONDS": "86400"},
        "Tags": [{"Key": "project", "Value": "search"}],
    }
    sagemaker.create_training_job(**request)
    while sagemaker.describe_training_job(TrainingJobName=name)["SecondaryStatus"] != "Training":
        time.sleep(0.5)

    arn = sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobArn"]
    tags = sagemaker.list_tags(ResourceArn=arn)["Tags"]
    print("tags:", sorted(tag["Key"] for tag in tags))
    waiting = f"{name}-waiting"
    waiting_arn = arn.replace(f"/{name}", f"/{waiting}")
    create = {**request, "TrainingJobName": waiting, "Tags": tags}
    print("create with these tags:", outcome(lambda: sagemaker.create_training_job(**create)))

    tag = [{"Key": "comment", "Value": "slow"}]
    own = [{"Key": "headway:job", "Value": "other"}]
    settings = {"EnableRemoteDebug": False}
    for title, call in {
        "add_tags, running": lambda: sagemaker.add_tags(ResourceArn=arn, Tags=tag),
        "add_tags of the queue, running": lambda: sagemaker.add_tags(ResourceArn=arn, Tags=own),
        "add_tags, waiting": lambda: sagemaker.add_tags(ResourceArn=waiting_arn, Tags=tag),
        "delete_tags, waiting": lambda: sagemaker.delete_tags(ResourceArn=waiting_arn, TagKeys=["project"]),
        "add_tags of the queue, waiting": lambda: sagemaker.add_tags(
            ResourceArn=waiting_arn, Tags=[{"Key": "headway:preemptible", "Value": "false"}]
        ),
        "update, waiting": lambda: sagemaker.update_training_job(TrainingJobName=waiting, RemoteDebugConfig=settings),
        "delete, waiting": lambda: sagemaker.delete_training_job(TrainingJobName=waiting),
        "describe, a name of 2,000 characters": lambda: sagemaker.describe_training_job(TrainingJobName="x" * 2000),
    }.items():
        print(f"{title}:", outcome(call))
    print("tags, waiting:", sagemaker.list_tags(ResourceArn=waiting_arn)["Tags"])

    image = request["AlgorithmSpecification"]
    channel = {
        "ChannelName": "train",
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": f"s3://{bucket}/data"}},
    }
    changes: dict[str, dict[str, Any]] = {
        "a boolean for a number": {"ResourceConfig": {**request["ResourceConfig"], "VolumeSizeInGB": True}},
        "an empty image": {"AlgorithmSpecification": {**image, "TrainingImage": ""}},
        "image and algorithm": {"AlgorithmSpecification": {**image, "AlgorithmName": "mine"}},
        "neither image nor algorithm": {"AlgorithmSpecification": {"TrainingInputMode": "File"}},
        "two channels of one name": {"InputDataConfig": [channel, channel]},
    }
    for title, change in changes.items():
        invalid = {**request, "TrainingJobName": f"{name}-invalid", **change}
        print(f"{title}:", outcome(partial(sagemaker.create_training_job, **invalid)))
    for each in (name, waiting):
        sagemaker.stop_training_job(TrainingJobName=each)


if __name__ == "__main__":
    main(*sys.argv[1:])
