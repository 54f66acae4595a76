"""Which training jobs run a script, and which command it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.run_script import TRAIN
from headway_sandbox.training.settings import TrainingSettings

_PROGRAM = "sagemaker_program"
_TOOLKIT = "train"
"""The program of the sagemaker-training toolkit, which images with script mode start."""


def command_of(request: Mapping[str, Any]) -> list[str]:
    """Return the command of a request's container; empty if it is that of the image.

    SDK 3 sets ContainerEntrypoint, and script mode of SDK 2 the hyperparameter sagemaker_program.

    Args:
        request: The CreateTrainingJob request.
    """
    algorithm = request.get("AlgorithmSpecification") or {}
    entry_point = list(algorithm.get("ContainerEntrypoint") or [])
    if not entry_point and _PROGRAM in (request.get("HyperParameters") or {}):
        entry_point = [_TOOLKIT]
    return [*entry_point, *(algorithm.get("ContainerArguments") or [])] if entry_point else []


def why_timer(request: Mapping[str, Any], settings: TrainingSettings | None) -> str:
    """Return why a job is a timer and runs no script; empty if it runs one.

    Args:
        request: The CreateTrainingJob request.
        settings: Those of `--train`; None without it.

    Raises:
        AwsError: The request asks for its script to run, which cannot be.
    """
    wanted = str((request.get("Environment") or {}).get(TRAIN, "")).lower()
    if wanted not in {"", "true", "false"}:
        raise service_facts.validation(f"Sandbox: {TRAIN} is `true` or `false`, not '{wanted}'.")
    reason = "" if wanted == "true" else _unwanted(wanted)
    reason = reason or _impossible(request, settings)
    if reason and wanted == "true":
        raise service_facts.validation(f"Sandbox: this job cannot run its script: {reason}.")
    return reason


def _unwanted(wanted: str) -> str:
    return f"{TRAIN} is false" if wanted == "false" else ""


def _impossible(request: Mapping[str, Any], settings: TrainingSettings | None) -> str:
    if settings is None:
        return "the sandbox was started without --train"
    if not command_of(request):
        return "its request has neither ContainerEntrypoint nor the hyperparameter sagemaker_program"
    image = str(request["AlgorithmSpecification"].get("TrainingImage", ""))
    if settings.interpreter(image) is None:
        return f"no --image pattern fits its image {image}"
    return ""
