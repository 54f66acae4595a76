"""Training jobs of child processes: with `multiprocessing`, for each start method, and with `subprocess`.

python boto3_children.py NAME ROLE BUCKET INSTANCE_TYPE
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from typing import Any

import boto3


def train(name: str, role: str, bucket: str, instance_type: Any) -> None:
    """Start a training job."""
    boto3.client("sagemaker").create_training_job(
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


def main(name: str, *others: str) -> None:
    """Start a training job in each kind of child process."""
    for method in ("fork", "spawn", "forkserver"):
        context: Any = multiprocessing.get_context(method)
        child = context.Process(target=train, args=(f"{name}-{method}", *others))
        child.start()
        child.join()
        print(f"{method}: {child.exitcode}")
    done = subprocess.run([sys.executable, __file__, "--child", f"{name}-subprocess", *others], check=False)
    print(f"subprocess: {done.returncode}")


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        train(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
