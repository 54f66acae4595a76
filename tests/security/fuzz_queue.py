"""What the queue of a fuzz run has, for both sides of it: who fills it, and who draws calls about it."""

from __future__ import annotations

from typing import Any

NAMES = tuple(f"fuzz-{number}" for number in range(12))
"""Few enough that calls concern existing jobs."""

JOBS, ARRAYS = NAMES[:4], NAMES[4:6]
"""Those that are there from the beginning."""

POOL = "ml.p5.48xlarge"
POOLS = {POOL: {"size": 2}}


def request(name: str, role_arn: str, *, instances: int = 1, priority: int = 0) -> dict[str, Any]:
    """Return a CreateTrainingJob request that the queue accepts."""
    return {
        "TrainingJobName": name,
        "RoleArn": role_arn,
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
        "ResourceConfig": {"InstanceType": POOL, "InstanceCount": instances, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "Tags": [{"Key": "priority", "Value": str(priority)}],
    }
