"""Requests as they are launched, where that is not as they were submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def on_demand(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request for spot instances as one for instances on demand.

    SageMaker refuses MaxWaitTimeInSeconds there ("It is only supported when EnableManagedSpotTraining is set to true").
    """
    changed = {name: value for name, value in request.items() if name != "EnableManagedSpotTraining"}
    if "StoppingCondition" in request:
        condition = request["StoppingCondition"].items()
        changed["StoppingCondition"] = {name: value for name, value in condition if name != "MaxWaitTimeInSeconds"}
    return changed


def without_warm_pool(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request without a warm pool, which would hold its instances after the job's end."""
    if "ResourceConfig" not in request:
        return dict(request)
    resources = request["ResourceConfig"].items()
    kept = {name: value for name, value in resources if name != "KeepAlivePeriodInSeconds"}
    return {**request, "ResourceConfig": kept}
