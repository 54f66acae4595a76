"""What is rehearsed: a CreateTrainingJob request, and the local files that its objects in S3 come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.rehearsal.errors import CannotRehearse
from headway_sandbox.sagemaker.api import request_validation
from headway_sandbox.training.errors import RequestFault
from headway_sandbox.training.platform.metric_definitions import MetricDefinitions
from headway_sandbox.training.platform.s3_objects import Location

STEP_REGEX = r"(?i)step\W{0,3}([0-9]+)"
"""Finds the step in lines such as `step 12`, `step=12` and `Step [12/200]`."""

_NUMBER = r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"
_STEP, _OWN_STEP = "step", "headway:step"
_CODE = "code"
_BUCKET = "headway-rehearsal"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is rehearsed."""

    request: Mapping[str, Any]
    """The CreateTrainingJob request."""
    files: Sequence[tuple[Location, Path]] = field(default=())
    """Objects of S3, and the local files that they are copies of."""
    step_name: str = _OWN_STEP
    """The metric that counts steps."""
    metric_name: str = ""
    """The metric that is compared; empty: none."""


def of_script(script: Path, arguments: Sequence[str], *, source_dir: Path | None, data: Mapping[str, Path]) -> Subject:
    """Return a script as the training job of one instance.

    Args:
        source_dir: A folder that is copied with it; None: only the script.
        data: Files or folders by channel.

    Raises:
        CannotRehearse: A file is missing, or the script is not in the folder.
    """
    folder = source_dir or script.parent
    if not script.is_file():
        raise CannotRehearse(f"{script} is not a file. Give the path of a Python script or of a request.")
    if not script.resolve().is_relative_to(folder.resolve()):
        raise CannotRehearse(f"{script} is not in --source-dir {folder}. Give the folder that contains it.")
    program = script.resolve().relative_to(folder.resolve())
    code = Location(bucket=_BUCKET, key=f"channels/{_CODE}")
    copied = list(_files(folder, code)) if source_dir else [(code / program.as_posix(), script)]
    channels = {_CODE: code}
    for name, path in data.items():
        channels[name] = Location(bucket=_BUCKET, key=f"channels/{name}")
        copied += _files(path, channels[name])
    request = {
        "TrainingJobName": "rehearsal",
        "RoleArn": "arn:aws:iam::123456789012:role/rehearsal",
        "AlgorithmSpecification": {
            "TrainingImage": "rehearsal",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", f"/opt/ml/input/data/{_CODE}/{program.as_posix()}"],
            **({"ContainerArguments": list(arguments)} if arguments else {}),
        },
        "InputDataConfig": [
            {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": str(location)}}}
            for name, location in channels.items()
        ],
        "OutputDataConfig": {"S3OutputPath": f"s3://{_BUCKET}/output"},
        "CheckpointConfig": {"S3Uri": f"s3://{_BUCKET}/checkpoints"},
        "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
    }
    return Subject(request=_valid(request), files=copied)


def of_request(request: Mapping[str, Any], *, data: Mapping[str, Path]) -> Subject:
    """Return a request with its data.

    Args:
        request: The CreateTrainingJob request.
        data: Files or folders by channel, or by the URI of the objects that are their copies.

    Raises:
        CannotRehearse: SageMaker would refuse the request, or data names no channel.
    """
    sources = {
        channel["ChannelName"]: channel["DataSource"].get("S3DataSource", {}).get("S3Uri", "")
        for channel in _valid(request).get("InputDataConfig") or []
    }
    copied: list[tuple[Location, Path]] = []
    for name, path in data.items():
        uri = sources.get(name, name)
        try:
            copied += _files(path, Location.parse(uri))
        except RequestFault as error:
            raise CannotRehearse(
                f"--data {name}=…: {name} is neither a channel of the request nor of the form s3://BUCKET/KEY."
            ) from error
    given = [str(location) for location, _path in copied]
    for name, uri in sources.items():
        if not any(each.startswith(uri) for each in given):
            raise CannotRehearse(f"Channel {name} has no data on this machine. Give it: --data {name}=FILE-OR-FOLDER.")
    return Subject(request=request, files=copied)


def with_metrics(subject: Subject, *, step_regex: str | None, metric: str | None, metric_regex: str | None) -> Subject:
    """Return the subject with the metrics that are judged: the request's own, or ones that regular expressions find.

    Args:
        step_regex: Finds the step; None: the request's metric `step`, or `STEP_REGEX`.
        metric: Name of the metric that is compared; None: none is.
        metric_regex: Finds it; None: the request's own metric, or a number after its name.

    Raises:
        CannotRehearse: A regular expression is invalid.
    """
    algorithm = subject.request["AlgorithmSpecification"]
    definitions = list(algorithm.get("MetricDefinitions") or [])
    names = {definition["Name"] for definition in definitions}
    step_name = _STEP if step_regex is None and _STEP in names else _OWN_STEP
    if step_name == _OWN_STEP:
        definitions.append({"Name": _OWN_STEP, "Regex": step_regex or STEP_REGEX})
    if metric is not None and (metric_regex is not None or metric not in names):
        definitions = [definition for definition in definitions if definition["Name"] != metric]
        definitions.append({"Name": metric, "Regex": metric_regex or rf"{re.escape(metric)}\W{{0,3}}?{_NUMBER}"})
    changed = {
        **subject.request,
        "AlgorithmSpecification": {**algorithm, "MetricDefinitions": definitions},
    }
    invalid = MetricDefinitions(changed).invalid
    if invalid:
        raise CannotRehearse(" ".join(invalid))
    return Subject(request=changed, files=subject.files, step_name=step_name, metric_name=metric or "")


def _valid(request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        request_validation.check("CreateTrainingJob", request)
    except AwsError as error:
        raise CannotRehearse(f"SageMaker would refuse the request: {error.message}") from error
    return request


def _files(path: Path, target: Location) -> Iterator[tuple[Location, Path]]:
    """Yield the objects that are copies of a file, or of all files of a folder.

    Raises:
        CannotRehearse: There is none.
    """
    if path.is_file():
        yield target / path.name, path
    elif path.is_dir():
        for each in sorted(path.rglob("*")):
            if each.is_file():
                yield target / each.relative_to(path).as_posix(), each
    else:
        raise CannotRehearse(f"{path} is neither a file nor a folder.")
