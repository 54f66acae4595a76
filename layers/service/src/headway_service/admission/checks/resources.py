"""The instances that a request asks for: a type and a number, groups, preferences, or none for a serverless job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway_service.admission.checks import instance_preferences
from headway_service.admission.checks.draft import Draft
from headway_service.errors import FieldError
from headway_service.sagemaker_api.training_request import is_serverless


def errors(draft: Draft) -> Iterator[FieldError]:
    """What is wrong with ResourceConfig, or with its absence."""
    resources = draft.raw.get("ResourceConfig")
    if is_serverless(draft.raw):
        if resources is not None:
            # SageMaker does not document what it does with both, and the queue has to know what to count.
            message = "cannot be combined with ServerlessJobConfig: keep one of the two"
            yield FieldError(field="ResourceConfig", message=message)
        return
    if resources is None:
        yield FieldError(field="ResourceConfig", message="is required: name an instance type and a count")
        return
    yield from instance_preferences.errors(draft.raw, resources)
    if draft.request.has_preferences:
        return
    if "InstanceGroups" in resources:
        yield from _group_errors(resources)
        return
    if "InstanceType" not in resources:
        yield FieldError(field="ResourceConfig.InstanceType", message="is required: the pool that the job runs in")
    if resources.get("InstanceCount", 0) < 1:
        yield FieldError(
            field="ResourceConfig.InstanceCount",
            message=f"is {resources.get('InstanceCount', 'missing')}; a job needs at least 1 instance",
        )


def _group_errors(resources: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a heterogeneous cluster."""
    for other in ("InstanceType", "InstanceCount"):
        if other in resources:
            message = "cannot be combined with InstanceGroups: keep one of the two"
            yield FieldError(field=f"ResourceConfig.{other}", message=message)
    if resources.get("KeepAlivePeriodInSeconds", 0) > 0:
        yield FieldError(
            field="ResourceConfig.KeepAlivePeriodInSeconds",
            message="asks for a warm pool, which instance groups cannot have: remove it",
        )
    if not resources["InstanceGroups"]:
        yield FieldError(field="ResourceConfig.InstanceGroups", message="is empty: name at least one group")
    for i, group in enumerate(resources["InstanceGroups"]):
        if group["InstanceCount"] < 1:
            yield FieldError(
                field=f"ResourceConfig.InstanceGroups[{i}].InstanceCount",
                message=f"is {group['InstanceCount']}; a group needs at least 1 instance",
            )
