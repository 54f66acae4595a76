"""Checks a CreateTrainingJob request against SageMaker's own service model, pinned with the deployment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator

from headway_service.errors import FieldError

MAX_RUN_TIME_S = 28 * 86_400
"""The longest MaxRuntimeInSeconds (API reference, StoppingCondition: "The maximum value is 28 days"), which is in the
model's text only."""

MAX_TIME_S = 366 * 86_400
"""The longest MaxWaitTimeInSeconds. AWS documents no maximum, and a time without bounds has no date."""

MAX_INTEGER = 2**31 - 1
"""The maximum of other numbers for which the model has none: the model's integers have 32 bits (Smithy specification,
simple types)."""

MAX_QUOTED_CHARS = 200
"""What a refusal quotes of the model's complaint, which repeats whole values."""

_OPERATION = "CreateTrainingJob"
_MAXIMA = {"MaxRuntimeInSeconds": MAX_RUN_TIME_S, "MaxWaitTimeInSeconds": MAX_TIME_S}

# The list of instance types grows faster than any deployment is updated, so the pools decide which exist.
_OPEN_ENUMS = {"TrainingInstanceType"}

# The character classes of the model's patterns that Python's re does not know. \w includes the underscore too, which
# is listed beside them in all of these patterns.
_CLASSES = {
    r"\p{L}": r"\w",
    r"\p{N}": r"\w",
    r"\p{Z}": " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\p{Alnum}": "A-Za-z0-9",
}

_MISSING = re.compile(r'^Missing required parameter in (?P<parent>\S+): "(?P<name>[^"]+)"$')
_UNKNOWN = re.compile(r'^Unknown parameter in (?P<parent>\S+): "(?P<name>[^"]+)", must be one of: .*$', re.DOTALL)
_SHORT = re.compile(
    r"^Invalid length for parameter (?P<name>[^,]*), value: (?P<has>\d+), valid min length: (?P<least>\d+)$"
)
_WRONG = re.compile(r"^Invalid (?:type|length|value|range) for parameter (?P<name>[^,]*), (?P<rest>.*)$", re.DOTALL)


@cache
def input_shape() -> StructureShape:
    """The input shape of CreateTrainingJob in the installed botocore."""
    loader = botocore.session.get_session().get_component("data_loader")
    model = ServiceModel(loader.load_service_model("sagemaker", "service-2"), "sagemaker")
    shape = model.operation_model(_OPERATION).input_shape
    assert isinstance(shape, StructureShape)  # noqa: S101 - the model's own promise
    return shape


_FORMS = {
    "ChannelName": "letters, digits and . _ - only",
    "FileSystemId": "a file system's id, such as fs-0123456789abcdef0",
    "KmsKeyId": "a key's id, its ARN or an alias",
    "RoleArn": "a role's ARN, such as arn:aws:iam::123456789012:role/Training",
    "S3Uri": "a place such as s3://bucket/prefix",
    "SecurityGroupId": "a security group's id, such as sg-0123456789abcdef0",
    "SubnetId": "a subnet's id, such as subnet-0123456789abcdef0",
    "TagKey": "letters, digits, spaces and . : / = + @ - _ only",
    "TagValue": "letters, digits, spaces and . : / = + @ - _ only",
    "TrainingEnvironmentKey": "letters, digits and _, the first no digit",
    "TrainingJobName": "up to 63 letters, digits and hyphens, with a letter or a digit at both ends",
}
"""What the patterns of the service model ask for, by shape; the patterns themselves are up to 200 characters long."""


def check(request: Mapping[str, Any]) -> list[FieldError]:
    """All errors of a request by SageMaker's model; empty if it is valid.

    A refusal names the first ones only, but none is left out here: which parts have the right shape follows from them.

    botocore's validator finds missing, unknown and mistyped fields and what is too short or too small; maxima,
    patterns and enumerations it leaves to the service, so they are checked here.
    """
    report = ParamValidator().validate(request, input_shape())
    found = [_field_error(line) for line in report.generate_report().splitlines()] if report.has_errors() else []
    named = {error.field for error in found}
    for error in _beyond(request, input_shape(), ""):
        # One problem a field is enough: a name too long breaks the pattern as well.
        if error.field not in named:
            named.add(error.field)
            found.append(error)
    return found


def _field_error(line: str) -> FieldError:
    """A line of botocore's report as a field and a sentence."""
    if match := _MISSING.match(line):
        return FieldError(field=_path(match["parent"], match["name"]), message="is required: add it")
    if match := _UNKNOWN.match(line):
        message = "is not a parameter of CreateTrainingJob: remove it, or check its spelling"
        return FieldError(field=_path(match["parent"], match["name"]), message=message)
    if match := _SHORT.match(line):
        message = f"is too short: its length is {match['has']}, at least {match['least']} is needed"
        return FieldError(field=match["name"], message=message)
    if match := _WRONG.match(line):
        return FieldError(field=match["name"] or "(the request)", message=f"is not valid: {_cut(match['rest'])}")
    return FieldError(field="(the request)", message=_cut(line))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_QUOTED_CHARS else text[: MAX_QUOTED_CHARS - 1] + "…"


def _path(parent: str, name: str) -> str:
    return name if parent == "input" else f"{parent}.{name}"


def _beyond(value: Any, shape: Shape, path: str) -> Iterator[FieldError]:
    """What breaks maxima, patterns and enumerations. Mistyped values are botocore's to report."""
    match shape:
        case ListShape() if isinstance(value, list | tuple):
            yield from _too_long(value, shape, path, "entries")
        case MapShape() if isinstance(value, Mapping):
            yield from _too_long(value, shape, path, "entries")
        case StringShape() if isinstance(value, str):
            yield from _too_long(value, shape, path, "characters")
            yield from _wrong_text(value, shape, path)
        case Shape(type_name="integer" | "long") if isinstance(value, bool):
            # A bool is an int in Python, so botocore's validator accepts it. SageMaker does not.
            yield FieldError(field=path, message=f"is {str(value).lower()}; use a whole number")
        case Shape(type_name="integer" | "long") if isinstance(value, int):
            most = shape.metadata.get("max", _MAXIMA.get(shape.name, MAX_INTEGER))
            if value > most:
                yield FieldError(field=path, message=f"is {value}; use at most {most}")
    for member, inner, place in _members(value, shape, path):
        yield from _beyond(member, inner, place)


def _members(value: Any, shape: Shape, path: str) -> Iterator[tuple[Any, Shape, str]]:
    """The values inside a value, each with its shape and path."""
    match shape:
        case StructureShape() if isinstance(value, Mapping):
            for name, member in shape.members.items():
                if name in value:
                    yield value[name], member, f"{path}.{name}" if path else name
        case ListShape() if isinstance(value, list | tuple):
            for i, entry in enumerate(value):
                yield entry, shape.member, f"{path}[{i}]"
        case MapShape() if isinstance(value, Mapping):
            for key, entry in value.items():
                yield key, shape.key, f"{path} (key {key!s:.40})"
                yield entry, shape.value, f"{path}.{key!s:.40}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # The patterns are Java's, whose \d and \w are ASCII only unless a class says otherwise.
    flags = re.NOFLAG if r"\p{L}" in pattern else re.ASCII
    for name, characters in _CLASSES.items():
        pattern = pattern.replace(name, characters)
    return re.compile(pattern, flags)


def _too_long(value: Any, shape: Shape, path: str, unit: str) -> Iterator[FieldError]:
    most = shape.metadata.get("max")
    if most is not None and len(value) > most:
        yield FieldError(field=path, message=f"has {len(value)} {unit}; shorten it to at most {most}")


def _wrong_text(value: str, shape: StringShape, path: str) -> Iterator[FieldError]:
    enum = shape.enum
    if enum and shape.name not in _OPEN_ENUMS and value not in enum:
        yield FieldError(field=path, message=f"is {value!r:.60}; use one of {', '.join(enum)}")
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        wanted = _FORMS.get(shape.name, f"what SageMaker's API reference says of {shape.name}")
        yield FieldError(field=path, message=f"is {value!r:.80}; use {wanted}")
