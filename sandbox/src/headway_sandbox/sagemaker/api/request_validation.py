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
from headway_sandbox.sagemaker import service_facts

_Shape = botocore.model.Shape
# AWS's messages contain only some of many errors. The bound limits the response to a hostile request.
_MAX_PROBLEMS = 10
_SHOWN = 256
# The classes of Java's patterns that Python does not have, as what stands within brackets.
_CLASSES: Mapping[str, str] = {
    r"\p{L}": r"\w",
    r"\p{N}": r"\w",
    r"\p{Z}": " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\p{Alnum}": "A-Za-z0-9",
}
_LARGEST: Mapping[str, int] = {"integer": 2**31 - 1, "long": 2**63 - 1}  # Smithy specification, simple types
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
    if isinstance(value, int) and value > _LARGEST.get(shape.type_name, value):
        raise AwsError("SerializationException", f"The number at '{path}' is too large for {shape.type_name}.")
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
        if pattern is not None and not _matches(pattern, value):
            yield f"satisfy regular expression pattern: {pattern}"


def _matches(pattern: str, value: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.fullmatch(value) is not None


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern for Python; None if it has classes that are not known here, and so is not checked."""
    # In Java \d and \w are ASCII only, and the patterns for other characters name the classes that they mean.
    flags = re.NOFLAG if r"\p{" in pattern else re.ASCII
    for java, python in _CLASSES.items():
        pattern = pattern.replace(java, python)
    return None if "\\p" in pattern else re.compile(pattern, flags)


def _join(path: str, name: str) -> str:
    name = name[:1].lower() + name[1:]
    return f"{path}.{name}" if path else name


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
