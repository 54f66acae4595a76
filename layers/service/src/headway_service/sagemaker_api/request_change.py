"""Changes of a stored CreateTrainingJob request: its run time, its number of instances, and its tags."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.jobpolicy.training_job import DEFAULT_RUN_TIME_S
from headway_service.errors import FieldError, InvalidRequest
from headway_service.sagemaker_api.tags import OWN_PREFIX, PRIORITY_TAGS

_NAMED_TAGS = 5
"""So many tags are named in the history; the number of others is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestChange:
    """What changes about a request; None for what stays.

    Attributes:
        max_runtime_s: the new ``MaxRuntimeInSeconds``. For spot, ``MaxWaitTimeInSeconds`` changes by as much, so that
            the time to wait for instances stays.
        instances: the new ``InstanceCount``.
        tags: tags to add, or to give another value.
        removed_tags: keys of tags to remove, if the request has them.
    """

    max_runtime_s: int | None = None
    instances: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    removed_tags: Collection[str] = ()

    def apply(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with the change.

        Args:
            request: the request as it is stored.

        Raises:
            InvalidRequest: its number of instances is to change, and it is serverless, or has groups; or a tag is to
                change by which the queue schedules the job or finds its training jobs.
        """
        changed = dict(request)
        if self.max_runtime_s is not None:
            changed["StoppingCondition"] = _with_runtime(request.get("StoppingCondition", {}), self.max_runtime_s)
        if self.instances is not None:
            changed["ResourceConfig"] = _with_count(request.get("ResourceConfig"), self.instances)
        if self.tags or self.removed_tags:
            changed["Tags"] = _with_tags(request.get("Tags", []), self.tags, self.removed_tags)
        return changed

    def describe(self, before: Mapping[str, Any]) -> str:
        """The change in words, such as ``instances from 4 to 2``.

        Args:
            before: the request as it was.
        """
        parts = []
        runtime_s = run_time_s(before)
        if self.max_runtime_s is not None and self.max_runtime_s != runtime_s:
            parts.append(f"run time limit from {runtime_s} s to {self.max_runtime_s} s")
        count = before.get("ResourceConfig", {}).get("InstanceCount")
        if self.instances is not None and self.instances != count:
            parts.append(f"instances from {count} to {self.instances}")
        if keys := sorted({*self.tags, *self.removed_tags}):
            named = ", ".join(f"`{key}`" for key in keys[:_NAMED_TAGS])
            more = f" and {len(keys) - _NAMED_TAGS} more" if len(keys) > _NAMED_TAGS else ""
            parts.append(f"tags {named}{more}")
        return " and ".join(parts)


def run_time_s(request: Mapping[str, Any]) -> int:
    """The ``MaxRuntimeInSeconds`` of a request, which SageMaker sets if it has none."""
    return int(request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", DEFAULT_RUN_TIME_S))


def _with_runtime(condition: Mapping[str, Any], runtime_s: int) -> dict[str, Any]:
    changed = {**condition, "MaxRuntimeInSeconds": runtime_s}
    if "MaxWaitTimeInSeconds" in condition:
        more_s = runtime_s - condition.get("MaxRuntimeInSeconds", DEFAULT_RUN_TIME_S)
        # Earlier versions accepted a wait below the default run time, without a run time in the request.
        changed["MaxWaitTimeInSeconds"] = max(runtime_s, condition["MaxWaitTimeInSeconds"] + more_s)
    return changed


def _with_count(resources: Mapping[str, Any] | None, count: int) -> dict[str, Any]:
    if resources is None or "InstanceGroups" in resources:
        why = "is serverless" if resources is None else "has instance groups"
        message = f"cannot change, as the job {why}: stop it, and submit the changed request"
        raise InvalidRequest(f"the number of instances {message}", [FieldError(field="instances", message=message)])
    return {**resources, "InstanceCount": count}


def _with_tags(
    tags: Collection[Mapping[str, str]], added: Mapping[str, str], removed: Collection[str]
) -> list[dict[str, str]]:
    errors = [
        FieldError(field="removeTags" if key in removed else "tags", message=f"{key} cannot change: {instead}")
        for key in sorted({*added, *removed})
        if (instead := _instead_of(key))
    ]
    if errors:
        raise InvalidRequest("; ".join(error.message for error in errors), errors)
    kept = {tag["Key"]: tag["Value"] for tag in tags if tag["Key"] not in removed}
    return [{"Key": key, "Value": value} for key, value in {**kept, **added}.items()]


def _instead_of(key: str) -> str:
    """What to do instead of changing a tag; empty if it can be changed."""
    if key in PRIORITY_TAGS:
        return "set the priority of the job"
    if key.startswith(OWN_PREFIX):
        return "stop the job, and submit the changed request under a new name"
    return ""
