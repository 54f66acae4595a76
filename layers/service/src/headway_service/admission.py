"""Whether a request may enter the queue, and what it asks of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.capacity import describe
from headway_service import shapes
from headway_service.configuration import Configuration
from headway_service.errors import FieldError, ImpossibleDemand, InvalidRequest, RequestTooLarge

MAX_REQUEST_BYTES = 400_000
"""The largest request, as canonical JSON: what fits into one DynamoDB item (400 KiB) beside its keys."""

PRIORITY_TAGS = ("priority", "headway:priority")
"""Tags that carry the priority; the first is the article's, the second says whose it is."""

JOB_TAG = "headway:job"
"""Tag that the queue puts on every training job it launches: the job's name."""

ATTEMPT_TAG = "headway:attempt"
"""Tag that the queue puts on every training job it launches: the attempt's random mark."""

MAX_TAGS = 48
"""SageMaker takes 50 tags on a training job; two are the queue's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Admitted:
    """A request that may enter the queue."""

    name: str
    #: The request as canonical JSON, as it is kept and launched.
    request: str
    #: Digest of ``request``.
    digest: str
    demand: Mapping[str, int]
    priority: int
    checkpoints: bool


def admit(request: Any, configuration: Configuration) -> Admitted:
    """Check a CreateTrainingJob request.

    Args:
        request: the request as decoded from JSON.
        configuration: the pools and the rules in force.

    Raises:
        InvalidRequest: it is not a request that SageMaker would take, or the queue cannot run it; names each field.
        RequestTooLarge: it is larger than :data:`MAX_REQUEST_BYTES`.
        ImpossibleDemand: no pool could ever give what it demands.
    """
    if not isinstance(request, dict):
        raise InvalidRequest("the body must be a JSON object: the parameters of CreateTrainingJob")
    canonical = json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    size_bytes = len(canonical.encode())
    if size_bytes > MAX_REQUEST_BYTES:
        raise RequestTooLarge(
            f"the request has {size_bytes} bytes, the queue takes {MAX_REQUEST_BYTES}: "
            "move large hyperparameters or environment values to S3 and pass their location"
        )
    errors = shapes.check(request)
    # The queue's own rules look only at parts that have the right shape.
    if _sound("Tags", errors):
        errors += _tag_errors(request, configuration)
    if _sound("ResourceConfig", errors):
        errors += _resource_errors(request)
    if _sound("EnableManagedSpotTraining", errors) and _sound("StoppingCondition", errors):
        errors += _spot_errors(request)
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise InvalidRequest(f"{first.field} {first.message}{more}", errors)
    resources = request["ResourceConfig"]
    demand = {resources["InstanceType"]: resources["InstanceCount"]}
    _require_possible(demand, configuration)
    return Admitted(
        name=request["TrainingJobName"],
        request=canonical,
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        demand=demand,
        priority=_priority(request, configuration),
        checkpoints="CheckpointConfig" in request,
    )


def _sound(part: str, errors: Sequence[FieldError]) -> bool:
    return not any(error.field.startswith(part) for error in errors)


def _tag_errors(request: Mapping[str, Any], configuration: Configuration) -> Iterator[FieldError]:
    tags = request.get("Tags", [])
    if len(tags) > MAX_TAGS:
        message = f"has {len(tags)} entries; the queue adds 2 to SageMaker's 50, so use at most {MAX_TAGS}"
        yield FieldError(field="Tags", message=message)
    keys = [tag["Key"] for tag in tags]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield FieldError(field="Tags", message=f"holds the key {key!r} twice; SageMaker takes a key once")
    for i, key in enumerate(keys):
        if key in {JOB_TAG, ATTEMPT_TAG}:
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}, which the queue sets itself: remove it")
        if key.lower().startswith("aws:"):
            yield FieldError(field=f"Tags[{i}].Key", message=f"is {key!r}; keys that begin with 'aws:' are AWS's own")
    found = [(i, tag["Value"]) for i, tag in enumerate(tags) if tag["Key"] in PRIORITY_TAGS]
    most = configuration.priority.maximum
    for i, value in found:
        if not (value.isascii() and value.isdecimal() and int(value) <= most):
            message = f"is {value!r:.40}; a priority is a whole number from 0 to {most}, higher goes first"
            yield FieldError(field=f"Tags[{i}].Value", message=message)
    if len({value for _, value in found}) > 1:
        yield FieldError(
            field="Tags", message="gives two different priorities: keep one of 'priority', 'headway:priority'"
        )


def _resource_errors(request: Mapping[str, Any]) -> Iterator[FieldError]:
    resources = request.get("ResourceConfig")
    if resources is None:
        yield FieldError(
            field="ResourceConfig",
            message="is required: the queue cannot count serverless training; name a type and count",
        )
        return
    for unsupported in ("InstanceGroups", "InstancePreferences"):
        if unsupported in resources:
            yield FieldError(
                field=f"ResourceConfig.{unsupported}",
                message="is not supported by this version of the queue: use InstanceType and InstanceCount",
            )
            return
    if "InstanceType" not in resources:
        yield FieldError(field="ResourceConfig.InstanceType", message="is required: the pool that the job runs in")
    if resources.get("InstanceCount", 0) < 1:
        yield FieldError(
            field="ResourceConfig.InstanceCount",
            message=f"is {resources.get('InstanceCount', 'missing')}; a job needs at least 1 instance",
        )
    if resources.get("KeepAlivePeriodInSeconds", 0) > 0:
        yield FieldError(
            field="ResourceConfig.KeepAlivePeriodInSeconds",
            message="asks for a warm pool, which would hold instances that the queue counts as free: remove it",
        )


def _spot_errors(request: Mapping[str, Any]) -> Iterator[FieldError]:
    """SageMaker's own rules for managed spot training, which its model does not hold (API reference)."""
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


def _require_possible(demand: Mapping[str, int], configuration: Configuration) -> None:
    for pool, count in demand.items():
        known = configuration.pools.get(pool)
        if known is None:
            field, problem = "ResourceConfig.InstanceType", f"there is no pool {pool}"
        elif count > known.size:
            field, problem = "ResourceConfig.InstanceCount", f"the pool {pool} has {known.size} instances, not {count}"
        else:
            continue
        sizes = describe({name: each.size for name, each in configuration.pools.items() if each.size})
        possible = f"a job may have up to {sizes.replace(' and ', ' or ')}" if sizes else "all pools are empty now"
        raise ImpossibleDemand(f"{problem}; {possible}", [FieldError(field=field, message=f"{problem}; {possible}")])


def _priority(request: Mapping[str, Any], configuration: Configuration) -> int:
    given = [tag["Value"] for tag in request.get("Tags", []) if tag["Key"] in PRIORITY_TAGS]
    return int(given[0]) if given else configuration.priority.default
