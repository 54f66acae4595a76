"""The request of a member of an array: that of the array with the member's hyperparameters and checkpoint location."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def member_request(request: Mapping[str, Any], parameters: Mapping[str, str], member: str) -> dict[str, Any]:
    """The CreateTrainingJob request of a member.

    Members must not read each other's checkpoints, so each has a location of its own below that of the array. Outputs
    are apart already: SageMaker adds the name of the training job to their location.

    Args:
        request: the request of the array.
        parameters: the hyperparameters of the member, which replace those of the array.
        member: the name of the member.
    """
    changed = {**request, "HyperParameters": {**(request.get("HyperParameters") or {}), **parameters}}
    checkpoints = request.get("CheckpointConfig")
    if checkpoints:
        location = f"{checkpoints['S3Uri'].rstrip('/')}/{member}"
        changed["CheckpointConfig"] = {**checkpoints, "S3Uri": location}
    return changed


def member_alternative(members: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """What an alternative of the array replaces in the request of a member.

    Args:
        members: what it replaces in that of the array.
        parameters: the hyperparameters of the member.
    """
    if "HyperParameters" not in members:
        return dict(members)
    return {**members, "HyperParameters": {**(members["HyperParameters"] or {}), **parameters}}
