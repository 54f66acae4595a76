"""Valid inputs, from which others are made."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import StrEnum
from typing import Any

from headway.api_documents.codec import ApiDocument, json_names
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request

SWEEPS: list[Any] = [
    {"grid": {"lr": [0.1, 0.01], "seed": [1, 2, 3], "name": ["a", "b"]}},
    {"random": {"lr": {"logUniform": [1e-5, 0.1]}, "layers": {"integer": [1, 9]}, "act": {"choice": ["relu", "gelu"]},
                "drop": {"uniform": [0, 0.5]}}, "count": 5, "seed": 17},
    {"list": [{"lr": 0.1, "seed": 1}, {"lr": 0.2, "seed": 2}]},
]  # fmt: skip

EARLY_STOPPING: list[Any] = [
    {"metric": "loss", "goal": "minimize", "stepMetric": "epoch", "minMembers": 2, "minSteps": 3},
    {"metric": "accuracy", "goal": "maximize", "minTrainingSeconds": 60},
]

METRICS: list[Any] = [
    {"Name": "loss", "Regex": "loss: ([0-9.]+)"},
    {"Name": "epoch", "Regex": "epoch ([0-9]+)"},
    {"Name": "accuracy", "Regex": r"accuracy=(?P<value>[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?)"},
]

CONFIGURATION: dict[str, Any] = {
    "pools": {
        P5: {
            "size": 50,
            "schedule": [{"days": ["mon", "tue"], "from": "08:00", "to": "18:00", "size": 20}],
            "timeZone": "Europe/Berlin",
            "atShrink": "run",
        },
        G5: {"size": 50},
        f"{P5}.spot": {"size": 50},
    },
    "priority": {"default": 1, "maximum": 9, "order": "fifo", "waitBound": 100},
    "teams": {"research": {"guaranteed": {P5: 1}, "limit": {P5: 40}, "weight": 2.0, "maxPriority": 5}},
    "limits": {"waitingPerTeam": 1000, "waitingPerOwner": 500},
    "preemption": {"minRunTimeSeconds": 60, "maxPerJob": 3, "checkpointsEverySeconds": 600},
    "backfill": {"enabled": True, "window": 100},
    "ageing": {"intervalSeconds": 3600, "cap": 5},
    "retries": {"code": {"maxPerJob": 1, "backoffSeconds": 0}},
    "spot": {"maxInterruptions": 3},
    "watches": {"idle": {"periodSeconds": 60, "periods": 5, "warmUpSeconds": 0, "action": "stop"}},
    "rules": {
        "small": {
            "when": {"tags": {"project": ["a*", "[bc]?"]}},
            "require": {"instanceTypes": ["ml.*"], "roles": ["*"], "outputPaths": ["s3://jobs/*"]},
            "onStart": "report",
        }
    },
    "usageTags": ["project"],
    "prices": {P5: [{"from": "2026-01-01", "onDemandPerHour": 55.0, "spotPerHour": 20.0}]},
}


def request(name: str = "a", **changes: Any) -> dict[str, Any]:
    """A CreateTrainingJob request with most of what a user may write.

    Args:
        name: TrainingJobName.
        changes: other members.
    """
    document = training_request(name, [(P5, 1)], run_s=60, tags={"priority": "5", "project": "a"})
    document["AlgorithmSpecification"]["MetricDefinitions"] = METRICS
    return {
        **document,
        "HyperParameters": {
            "sagemaker_submit_directory": '"s3://jobs/sources/a.tar.gz"',
            "sagemaker_program": '"train.py"',
            "lr": "0.1",
        },
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/train"}},
            }
        ],
        "CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints"},
        "RetryStrategy": {"MaximumRetryAttempts": 2},
        **changes,
    }


def of_class(kind: type[ApiDocument]) -> dict[str, Any]:
    """A document of a class of the API, with a value for each member."""
    hints = typing.get_type_hints(kind)
    fields: Any = dataclasses.fields(kind)  # type: ignore[arg-type]
    return {json_names(kind)[each.name]: _of(hints[each.name]) for each in fields}


def _of(hint: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return _of(next(each for each in arguments if each is not type(None)))
    if origin is tuple:
        return [_of(arguments[0])]
    if origin is not None:
        return {"a": _of(arguments[1])}
    if isinstance(hint, type) and issubclass(hint, ApiDocument):
        return of_class(hint)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return str(next(iter(hint)))
    return {str: "2026-11-25T10:00:00Z", int: 1, float: 1.5, bool: True}.get(hint)
