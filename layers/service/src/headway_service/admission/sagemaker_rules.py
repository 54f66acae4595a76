"""SageMaker's rules on CreateTrainingJob requests that its service model does not contain (API reference).

SageMaker checks them when the job is launched, which may be days after its submission.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headway_service.errors import FieldError


def spot_errors(request: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a request in managed spot training (StoppingCondition, EnableManagedSpotTraining)."""
    spot = request.get("EnableManagedSpotTraining", False)
    stopping = request.get("StoppingCondition", {})
    wait_s = stopping.get("MaxWaitTimeInSeconds")
    field = "StoppingCondition.MaxWaitTimeInSeconds"
    if not spot and wait_s is not None:
        yield FieldError(field=field, message="is only for spot: remove it or set EnableManagedSpotTraining to true")
    if spot and wait_s is None:
        yield FieldError(field=field, message="is required when EnableManagedSpotTraining is true")
    if spot and wait_s is not None and wait_s < stopping.get("MaxRuntimeInSeconds", 0):
        yield FieldError(field=field, message=f"is {wait_s}; it must be at least MaxRuntimeInSeconds")


def algorithm_errors(request: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a request in its algorithm: it has either an image or an algorithm (AlgorithmSpecification)."""
    specification = request.get("AlgorithmSpecification", {})
    image, algorithm = specification.get("TrainingImage"), specification.get("AlgorithmName")
    if image is not None and algorithm is not None:
        yield FieldError(
            field="AlgorithmSpecification.AlgorithmName",
            message="cannot be combined with TrainingImage: keep one of the two",
        )
    elif not image and algorithm is None:
        yield FieldError(
            field="AlgorithmSpecification.TrainingImage",
            message="is required: name the image of the container, or an algorithm in AlgorithmName",
        )


def channel_errors(request: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a request in its channels: unique names, and a VPC for file systems (Channel, VpcConfig)."""
    channels = request.get("InputDataConfig", [])
    names = Counter(channel["ChannelName"] for channel in channels)
    for name in sorted(name for name, count in names.items() if count > 1):
        yield FieldError(field="InputDataConfig", message=f"has the channel {name!r:.80} twice: rename one")
    for i, channel in enumerate(channels):
        if "FileSystemDataSource" in channel.get("DataSource", {}) and "VpcConfig" not in request:
            yield FieldError(
                field=f"InputDataConfig[{i}].DataSource.FileSystemDataSource",
                message="needs VpcConfig: SageMaker reaches file systems only through a VPC",
            )
