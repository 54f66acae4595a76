"""Builds CreateTrainingJob requests for the fake SageMaker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"


def training_request(
    name: str,
    demand: Sequence[tuple[str, int]],
    *,
    run_s: int,
    outcome: str = "complete",
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a CreateTrainingJob request.

    Args:
        name: TrainingJobName.
        demand: Instance types and counts.
        run_s: Training time, s.
        outcome: ``complete``, or the FailureReason of the job's failure (`headway_sandbox.sagemaker.run_script`).
        tags: Tags of the training job.
    """
    if len(demand) == 1:
        ((pool, count),) = demand
        resources: dict[str, Any] = {"InstanceType": pool, "InstanceCount": count, "VolumeSizeInGB": 30}
    else:
        groups = [
            {"InstanceGroupName": f"g{number}", "InstanceType": pool, "InstanceCount": count}
            for number, (pool, count) in enumerate(demand)
        ]
        resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
        "ResourceConfig": resources,
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
        "Environment": {"SANDBOX_RUN_SECONDS": str(run_s), "SANDBOX_OUTCOME": outcome},
        "Tags": [{"Key": key, "Value": value} for key, value in (tags or {}).items()],
    }
