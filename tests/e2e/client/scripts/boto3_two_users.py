"""Two users in one process, each with a session and a thread, and a third one without permissions.

python boto3_two_users.py NAME ROLE BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.exceptions import ClientError, WaiterError

USERS = ("ada", "bob")


def main(name: str, role: str, bucket: str, instance_type: Any) -> None:
    """Submit a job for each user, and try to use that of the other."""
    clients = {user: boto3.Session(profile_name=user).client("sagemaker") for user in (*USERS, "stranger")}

    def train(user: str) -> None:
        clients[user].create_training_job(
            TrainingJobName=f"{name}-{user}",
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

    with ThreadPoolExecutor(len(USERS)) as pool:
        list(pool.map(train, USERS))
    for user, other in zip(USERS, reversed(USERS), strict=True):
        try:
            clients[user].stop_training_job(TrainingJobName=f"{name}-{other}")
        except ClientError as error:
            print(f"{user} stops the job of {other}:", error.response["Error"]["Code"])
    for user in USERS:
        clients[user].stop_training_job(TrainingJobName=f"{name}-{user}")
    for operation, arguments in {
        "describe_training_job": {"TrainingJobName": f"{name}-ada"},
        "list_training_jobs": {},
        "list_tags": {"ResourceArn": f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{name}-ada"},
    }.items():
        try:
            getattr(clients["stranger"], operation)(**arguments)
        except ClientError as error:
            print(f"stranger, {operation}:", error.response["Error"]["Code"])
    try:
        waiter = clients["stranger"].get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName=f"{name}-ada", WaiterConfig={"MaxAttempts": 1})
    except WaiterError as error:
        print("stranger, waiter:", error.last_response["Error"]["Code"])


if __name__ == "__main__":
    main(*sys.argv[1:])
