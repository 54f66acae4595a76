"""ARNs of training jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SEPARATOR = ":training-job/"


def arn_of(request: Mapping[str, Any], region: str, name: str) -> str:
    """Return the ARN of a training job.

    The account and the partition are those of the request's role, as SageMaker requires a role of the same account
    (source: API reference, CreateTrainingJob, RoleArn with iam:PassRole).

    Args:
        request: the CreateTrainingJob request.
        name: the training job's name.
    """
    parts = str(request.get("RoleArn", "")).split(":")
    partition, account = (parts[1], parts[4]) if len(parts) > 5 else ("aws", "")
    return f"arn:{partition}:sagemaker:{region}:{account}{_SEPARATOR}{name}"


def name_in(arn: object) -> str | None:
    """Return the name of the training job of an ARN; None for anything else."""
    _, separator, name = arn.rpartition(_SEPARATOR) if isinstance(arn, str) else ("", "", "")
    return name if separator else None


def with_name(arn: str, name: str) -> str:
    """Return the ARN of a training job with another name."""
    return f"{arn.rpartition(_SEPARATOR)[0]}{_SEPARATOR}{name}"
