"""Training with boto3 only: create, describe, wait, read the logs.

python boto3_waiter.py NAME ROLE BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys
from typing import Any

import boto3

LOG_GROUP = "/aws/sagemaker/TrainingJobs"


def main(name: str, role: str, bucket: str, instance_type: Any) -> None:
    """Train, and print the result."""
    sagemaker = boto3.client("sagemaker")
    created = sagemaker.create_training_job(
        TrainingJobName=name,
        RoleArn=role,
        AlgorithmSpecification={
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
            "TrainingInputMode": "File",
        },
        OutputDataConfig={"S3OutputPath": f"s3://{bucket}/output"},
        ResourceConfig={"InstanceType": instance_type, "InstanceCount": 1, "VolumeSizeInGB": 30},
        StoppingCondition={"MaxRuntimeInSeconds": 86_400},
        Environment={"SANDBOX_RUN_SECONDS": "86400"},
    )
    print("created:", created["TrainingJobArn"])
    for summary in sagemaker.list_training_jobs(NameContains=name)["TrainingJobSummaries"]:
        print("listed:", summary["TrainingJobName"], summary["TrainingJobStatus"])
    described = sagemaker.describe_training_job(TrainingJobName=name)
    print("described:", described["SecondaryStatus"], described["SecondaryStatusTransitions"][-1]["StatusMessage"])

    waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 5, "MaxAttempts": 60})

    logs = boto3.client("logs")
    pages = logs.get_paginator("describe_log_streams").paginate(
        logGroupName=LOG_GROUP, logStreamNamePrefix=f"{name}/algo-1"
    )
    for stream in (stream for page in pages for stream in page["logStreams"]):
        where = {"logGroupName": LOG_GROUP, "logStreamName": stream["logStreamName"], "startFromHead": True}
        page = logs.get_log_events(**where)
        while page["events"]:
            for event in page["events"]:
                print("log:", event["message"])
            page = logs.get_log_events(**where, nextToken=page["nextForwardToken"])
    described = sagemaker.describe_training_job(TrainingJobName=name)
    print("ended:", described["TrainingJobName"], described["TrainingJobStatus"])


if __name__ == "__main__":
    main(*sys.argv[1:])
