"""Shared helpers of the fake SageMaker's tests."""

from __future__ import annotations

from typing import Any

from headway_sandbox.sagemaker.service import FakeSageMaker

ROLE = "arn:aws:iam::123456789012:role/HeadwayTrainingRole"


def request(name: str = "train-1", **changes: Any) -> dict[str, Any]:
    """Return a CreateTrainingJob request; a change to None leaves the member out."""
    document: dict[str, Any] = {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/t:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/output"},
        "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "Environment": {"SANDBOX_RUN_SECONDS": "600"},
        "Tags": [{"Key": "team", "Value": "vision"}],
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def spot(name: str = "train-1", **changes: Any) -> dict[str, Any]:
    condition = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
    return request(name, **{"EnableManagedSpotTraining": True, "StoppingCondition": condition, **changes})


def on(kind: str, count: int = 1) -> dict[str, Any]:
    """Return a ResourceConfig."""
    return {"InstanceType": kind, "InstanceCount": count, "VolumeSizeInGB": 30}


def statuses(events: list[dict[str, Any]]) -> list[str]:
    return [event["SecondaryStatus"] for event in events]


def play(fleet: FakeSageMaker, *, until: float = 1e9) -> list[dict[str, Any]]:
    """Advance from one due time to the next; return all events."""
    events = []
    while (due := fleet.next_due()) is not None and due <= until:
        events += fleet.advance(due)
    return events
