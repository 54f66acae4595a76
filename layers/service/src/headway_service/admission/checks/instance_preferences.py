"""SageMaker's rules on the instance types that a request prefers (API reference, ResourceConfig, InstancePreference).

They become alternatives of the job (:func:`headway_service.admission.submission.as_alternatives`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headway_service.errors import FieldError

_LIST = "ResourceConfig.InstancePreferences"
_ANSWERS = ("SelectedInstanceType", "SelectedInstanceCount")


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
    given = {i: each["InstanceCount"] for i, each in enumerate(preferences) if "InstanceCount" in each}
    if once is not None and given:
        message = "is given beside InstancePreferences and within them: keep one of the two"
        yield FieldError(field="ResourceConfig.InstanceCount", message=message)
    elif once is None and len(given) < len(preferences):
        message = "is required with each preference, or once in ResourceConfig for all of them"
        yield FieldError(field=f"{_LIST}.InstanceCount", message=message)
    parts = {f"{_LIST}[{i}]": count for i, count in given.items()} if once is None else {"ResourceConfig": once}
    for part, count in parts.items():
        if count < 1:
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
