"""Validation of requests against botocore's model of a service, with AWS's messages.

An SDK validates only types and required members. The service validates lengths, ranges and patterns, so a request that
passes the SDK can still be refused (seen: "1 validation error detected: Value '...' at 'trainingJobName' failed to
satisfy constraint: Member must satisfy regular expression pattern: ...").
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.loaders
import botocore.model

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker import requested_instances, service_facts

_Shape = botocore.model.Shape
# AWS's messages contain only some of many errors. The bound limits the response to a hostile request.
_MAX_PROBLEMS = 10
_SHOWN = 256
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (int, float, str),
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
}


@functools.cache
def service_model(service: str = "sagemaker") -> botocore.model.ServiceModel:
    """Return a service's model. Loading SageMaker's JSON takes a quarter of a second, once."""
    document = botocore.loaders.Loader().load_service_model(service, "service-2")
    return botocore.model.ServiceModel(document, service)


def check(operation: str, request: Mapping[str, Any]) -> None:
    """Validate a request to SageMaker against the model.

    Args:
        operation: Its operation.
        request: Its members.

    Raises:
        AwsError: ValidationException with the violated constraints, or SerializationException for a wrong JSON type.
    """
    wrong = violations("sagemaker", operation, request)
    if wrong is not None:
        raise service_facts.validation(wrong)


def violations(service: str, operation: str, request: Mapping[str, Any]) -> str | None:
    """Return a service's message about a request that violates its model; None if the request is valid.

    Args:
        service: Name of the service in botocore.
        operation: The request's operation.
        request: Its members.

    Raises:
        AwsError: SerializationException for a wrong JSON type.
    """
    shape = service_model(service).operation_model(operation).input_shape
    if shape is None:
        return None
    problems = list(itertools.islice(_problems(shape, request, ""), _MAX_PROBLEMS))
    if not problems:
        return None
    noun = "validation error" if len(problems) == 1 else "validation errors"
    return f"{len(problems)} {noun} detected: {'; '.join(problems)}"


def _problems(shape: _Shape, value: Any, path: str) -> Iterator[str]:
    expected = _TYPES.get(shape.type_name)
    wrong_bool = isinstance(value, bool) and shape.type_name != "boolean"
    if expected is not None and (not isinstance(value, expected) or wrong_bool):
        raise AwsError("SerializationException", f"Expected {shape.type_name} at '{path or 'body'}'.")
    yield from _own_problems(shape, value, path)
    if isinstance(shape, botocore.model.StructureShape):
        yield from _structure_problems(shape, value, path)
    elif isinstance(shape, botocore.model.ListShape):
        for number, member in enumerate(value, start=1):
            yield from _problems(shape.member, member, f"{path}.{number}.member")
    elif isinstance(shape, botocore.model.MapShape):
        for key, member in value.items():
            yield from _problems(shape.key, key, f"{path}.key")
            yield from _problems(shape.value, member, f"{path}.{key}.member")


def _structure_problems(shape: botocore.model.StructureShape, value: Any, path: str) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{_join(path, name)}' failed to satisfy constraint: Member must not be null"
    for name, member in value.items():
        # Unknown members are ignored, as the service ignores members of other API versions.
        if name in shape.members and member is not None:
            yield from _problems(shape.members[name], member, _join(path, name))


def _own_problems(shape: _Shape, value: Any, path: str) -> Iterator[str]:
    rules = shape.metadata
    for must in _broken_rules(shape, rules, value):
        shown = str(value)[:_SHOWN] if isinstance(value, str | int | float) else "..."
        yield f"Value '{shown}' at '{path}' failed to satisfy constraint: Member must {must}"


def _broken_rules(shape: _Shape, rules: Mapping[str, Any], value: Any) -> Iterator[str]:
    is_number = shape.type_name in {"integer", "long", "float", "double"}
    size = value if is_number else len(value) if isinstance(value, str | list | dict) else None
    word = "value" if is_number else "length"
    if size is not None and "max" in rules and size > rules["max"]:
        yield f"have {word} less than or equal to {rules['max']}"
        return  # do not match a pattern against a value that is too long
    if size is not None and "min" in rules and size < rules["min"]:
        yield f"have {word} greater than or equal to {rules['min']}"
    if isinstance(value, str):
        if "enum" in rules and value not in rules["enum"]:
            yield f"satisfy enum value set: [{', '.join(rules['enum'])}]"
        pattern = rules.get("pattern")
        # Python has no \p{...} classes of Java: such patterns are not checked.
        if pattern is not None and "\\p" not in pattern and not re.fullmatch(pattern, value):
            yield f"satisfy regular expression pattern: {pattern}"


def _join(path: str, name: str) -> str:
    name = name[:1].lower() + name[1:]
    return f"{path}.{name}" if path else name


def check_create(request: Mapping[str, Any]) -> None:
    """Validate the rules between members of CreateTrainingJob that the model cannot express.

    Raises:
        AwsError: ValidationException.
    """
    condition = request.get("StoppingCondition") or {}
    runtime_s = condition.get("MaxRuntimeInSeconds", service_facts.DEFAULT_MAX_RUNTIME_S)
    wait_s = condition.get("MaxWaitTimeInSeconds")
    if request.get("EnableManagedSpotTraining"):
        # Model: required with spot, and at least MaxRuntimeInSeconds.
        if wait_s is None or wait_s < runtime_s:
            raise service_facts.validation(
                "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to MaxRuntimeInSeconds"
            )
    elif wait_s is not None:  # seen verbatim
        raise service_facts.validation(
            "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true"
        )
    requested_instances.check(request)
    check_tags(request.get("Tags") or [])


def check_update(request: Mapping[str, Any]) -> None:
    """Validate that an UpdateTrainingJob request changes nothing but a warm pool, which is all that the sandbox has.

    Raises:
        AwsError: ValidationException.
    """
    others = sorted(set(request) - {"TrainingJobName", "ResourceConfig"})
    if others or not request.get("ResourceConfig"):
        raise service_facts.validation(
            f"Sandbox: UpdateTrainingJob changes ResourceConfig only, not {', '.join(others) or 'nothing'}."
        )


def check_tags(tags: list[Mapping[str, str]]) -> None:
    """Validate that tag keys are unique and do not begin with `aws:` (model, Tag and AddTags).

    Raises:
        AwsError: ValidationException.
    """
    keys = [tag["Key"] for tag in tags]
    if len(set(keys)) != len(keys):
        raise service_facts.validation("Duplicate tag keys found in the request. Tag keys must be unique.")
    if any(key.lower().startswith("aws:") for key in keys):
        raise service_facts.validation("Tag keys that begin with 'aws:' are reserved for system use.")
