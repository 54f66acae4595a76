"""Requests as they are launched, where that is not as they were submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.jobpolicy.accelerators import is_accelerated
from headway_service.sagemaker_api.training_request import TrainingRequest

MIN_PENDING_TIME_S = 1800
"""The smallest MaxPendingTimeInSeconds (API reference, StoppingCondition)."""


def on_demand(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request for spot instances as one for instances on demand.

    SageMaker refuses MaxWaitTimeInSeconds there ("It is only supported when EnableManagedSpotTraining is set to true").
    """
    changed = {name: value for name, value in request.items() if name != "EnableManagedSpotTraining"}
    if "StoppingCondition" in request:
        condition = request["StoppingCondition"].items()
        changed["StoppingCondition"] = {name: value for name, value in condition if name != "MaxWaitTimeInSeconds"}
    return changed


def with_pending_limit(request: Mapping[str, Any], pending_limit_s: int | None) -> dict[str, Any]:
    """A request for on-demand instances with a limit on the wait for them, where SageMaker has one.

    With it, SageMaker keeps a training job without instances pending and tries again, instead of ending it. It has
    an effect on accelerated instances only, and is at least 1,800 s (API reference, StoppingCondition).

    Args:
        pending_limit_s: the limit, s; None for none.
    """
    types = {group.instance_type for group in TrainingRequest.parse(request).groups}
    if pending_limit_s is None or pending_limit_s < MIN_PENDING_TIME_S or not all(map(is_accelerated, types)):
        return dict(request)
    condition = {**request.get("StoppingCondition", {}), "MaxPendingTimeInSeconds": pending_limit_s}
    return {**request, "StoppingCondition": condition}


def without_warm_pool(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request without a warm pool, which would hold its instances after the job's end."""
    if "ResourceConfig" not in request:
        return dict(request)
    resources = request["ResourceConfig"].items()
    kept = {name: value for name, value in resources if name != "KeepAlivePeriodInSeconds"}
    return {**request, "ResourceConfig": kept}
