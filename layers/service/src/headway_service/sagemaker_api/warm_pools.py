"""Which training jobs SageMaker launches in the warm pool of another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from headway_service.sagemaker_api.training_request import is_serverless

KEY_CHARS = 16
"""Characters of a digest of what has to be the same."""

_RESOURCES = ("InstanceType", "InstanceCount", "VolumeSizeInGB", "VolumeKmsKeyId")
_PLANNED = ("InstanceGroups", "InstancePreferences", "TrainingPlanArn")
"""Not with instance groups (guide); with plans and preferences nothing is documented, so no job with them matches."""


def warm_key(request: Mapping[str, Any]) -> str:
    """A digest of what has to be the same for a job to start in the warm pool of another one; empty if it never does.

    Source: SageMaker guide, "Train Using SageMaker AI Managed Warm Pools", matching criteria.

    Args:
        request: a CreateTrainingJob request.
    """
    resources = request.get("ResourceConfig")
    if not isinstance(resources, Mapping) or request.get("EnableManagedSpotTraining") or is_serverless(request):
        return ""
    if not resources.get("InstanceType") or any(resources.get(name) for name in _PLANNED):
        return ""
    network = request.get("VpcConfig") or {}
    same = [
        request.get("RoleArn"),
        *(resources.get(name) for name in _RESOURCES),
        *(sorted(network.get(name) or ()) for name in ("SecurityGroupIds", "Subnets")),
        *(bool(request.get(name)) for name in ("EnableInterContainerTrafficEncryption", "EnableNetworkIsolation")),
    ]
    return hashlib.sha256(json.dumps(same).encode()).hexdigest()[:KEY_CHARS]
