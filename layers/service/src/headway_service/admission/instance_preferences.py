"""The instance types that a request prefers: they become alternatives of the job, in their order.

SageMaker's rules on them are those of the API reference, ResourceConfig and InstancePreference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headway_service.admission.submission import Submission
from headway_service.errors import FieldError
from headway_service.sagemaker_api.alternatives import MAX_ALTERNATIVES

_LIST = "ResourceConfig.InstancePreferences"
_ANSWERS = ("SelectedInstanceType", "SelectedInstanceCount")


def as_alternatives(submission: Submission) -> Submission:
    """The submission with an alternative for each further preference, so that each of its requests names one type.

    It stays as it is without preferences, with alternatives of its own, and if they have not the right shape.
    """
    request = submission.request
    resources = request.get("ResourceConfig")
    preferences = resources.get("InstancePreferences") if isinstance(resources, Mapping) else None
    if submission.alternatives is not None or not isinstance(preferences, list):
        return submission
    if not 1 <= len(preferences) <= 1 + MAX_ALTERNATIVES or not all(isinstance(each, Mapping) for each in preferences):
        return submission
    shared = {name: value for name, value in resources.items() if name != "InstancePreferences"}
    first, *others = ({**shared, **each} for each in preferences)
    return replace(
        submission,
        request={**request, "ResourceConfig": first},
        alternatives=[{"ResourceConfig": each} for each in others] or None,
    )


def errors(request: Mapping[str, Any], resources: Mapping[str, Any]) -> Iterator[FieldError]:
    """The errors of a request in its instance preferences.

    Args:
        request: the CreateTrainingJob request.
        resources: its ResourceConfig, of the shape that the service model has for it.
    """
    for member in _ANSWERS:
        if member in resources:
            message = "is part of an answer of SageMaker, not of a request: remove it"
            yield FieldError(field=f"ResourceConfig.{member}", message=message)
    preferences = resources.get("InstancePreferences")
    if preferences is None:
        return
    for member in ("InstanceType", "InstanceGroups"):
        if member in resources:
            message = "cannot be combined with InstancePreferences: keep one of the two"
            yield FieldError(field=f"ResourceConfig.{member}", message=message)
    if request.get("EnableManagedSpotTraining"):
        message = "cannot be combined with InstancePreferences, which are for on-demand instances: keep one of the two"
        yield FieldError(field="EnableManagedSpotTraining", message=message)
    types = Counter(each["InstanceType"] for each in preferences)
    for kind in sorted(kind for kind, times in types.items() if times > 1):
        yield FieldError(field=_LIST, message=f"names {kind} twice: keep one of the two")
    yield from _count_errors(preferences, resources)
    yield from _plan_errors(preferences, resources)


def _count_errors(preferences: list[Mapping[str, Any]], resources: Mapping[str, Any]) -> Iterator[FieldError]:
    """The number of instances is given with each preference, or once beside them."""
    once = resources.get("InstanceCount")
    given = [each["InstanceCount"] for each in preferences if "InstanceCount" in each]
    if once is not None and given:
        message = "is given beside InstancePreferences and within them: keep one of the two"
        yield FieldError(field="ResourceConfig.InstanceCount", message=message)
    elif once is None and len(given) < len(preferences):
        message = "is required with each preference, or once in ResourceConfig for all of them"
        yield FieldError(field=f"{_LIST}.InstanceCount", message=message)
    for i, count in enumerate([once] if once is not None else given):
        if count < 1:
            part = "ResourceConfig" if once is not None else f"{_LIST}[{i}]"
            yield FieldError(field=f"{part}.InstanceCount", message=f"is {count}; a job needs at least 1 instance")


def _plan_errors(preferences: list[Mapping[str, Any]], resources: Mapping[str, Any]) -> Iterator[FieldError]:
    fields = [f"{_LIST}[{i}].TrainingPlanArns" for i, each in enumerate(preferences) if "TrainingPlanArns" in each]
    if "TrainingPlanArn" in resources:
        fields.append("ResourceConfig.TrainingPlanArn")
    message = (
        "is not supported by this version of the queue, which counts on-demand instances here: remove it, or give each "
        "instance type an alternative with its ResourceConfig"
    )
    yield from (FieldError(field=field, message=message) for field in fields)
