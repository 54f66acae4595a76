"""The CreateTrainingJob request of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.sagemaker_sdk.submit_options import QueueOptions
from headway_covalent import run_task
from headway_covalent.errors import MissingSetting, ReservedMember

REQUIRED = {
    "image": "the training image, with the Python that the workflow is written with",
    "role_arn": "the role of the training jobs",
    "s3_uri": "where tasks and results are kept, such as s3://bucket/covalent",
    "instance_type": "the type of the instance of each task, such as ml.m5.xlarge",
}
"""Settings that an executor cannot do without."""

RESERVED = frozenset(
    {"TrainingJobName", "RoleArn", "AlgorithmSpecification", "InputDataConfig", "OutputDataConfig", "ResourceConfig"}
)
"""Members of the request that the executor sets."""


def job_name(dispatch_id: str, node_id: int) -> str:
    """Return the name of the job of a task: the same when it is asked for again, at most 63 characters."""
    return f"covalent-{dispatch_id.replace('-', '')[:32]}-{node_id}"


def task_uri(s3_uri: str, name: str) -> str:
    """Return the prefix of what is sent to a job."""
    return f"{s3_uri.rstrip('/')}/{name}/task"


def training_request(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to submit for a task.

    Args:
        name: The job's name.
        settings: The attributes of the executor.

    Raises:
        MissingSetting: A required one is empty.
        ReservedMember: Its `request` has a member that the executor sets.
    """
    for setting, meaning in REQUIRED.items():
        if not settings[setting]:
            raise MissingSetting(f"The executor has no {setting}: give {meaning}.")
    more = settings["request"] or {}
    if reserved := sorted(RESERVED & more.keys()):
        raise ReservedMember(
            f"The executor sets {', '.join(reserved)} itself: leave that out of `request`, and use its other settings."
        )
    script = f"{run_task.ML}/input/data/{run_task.CHANNEL}/{run_task.SCRIPT}"
    source = {"S3DataType": "S3Prefix", "S3Uri": task_uri(settings["s3_uri"], name)}
    request = {
        "StoppingCondition": {"MaxRuntimeInSeconds": settings["max_runtime_s"]},
        **more,
        "TrainingJobName": name,
        "RoleArn": settings["role_arn"],
        "AlgorithmSpecification": {
            "TrainingImage": settings["image"],
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", script],
        },
        "InputDataConfig": [{"ChannelName": run_task.CHANNEL, "DataSource": {"S3DataSource": source}}],
        "OutputDataConfig": {"S3OutputPath": settings["s3_uri"].rstrip("/")},
        "ResourceConfig": {
            "InstanceType": settings["instance_type"],
            "InstanceCount": 1,
            "VolumeSizeInGB": settings["volume_gb"],
        },
    }
    options = QueueOptions(
        priority=settings["priority"], share_identifier=settings["team"], tags=settings["tags"] or None
    )
    return options.applied_to(request)
