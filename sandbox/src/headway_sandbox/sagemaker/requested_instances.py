"""The instances that a CreateTrainingJob request asks for: one choice, or several in order of preference.

Source: model, ResourceConfig and InstancePreference, and the SageMaker guide, "Instance preference lists for training
jobs".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headway_sandbox.sagemaker import service_facts


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Instances that a training job can run on."""

    hosts: tuple[str, ...]
    """Instance type of each host. The hosts are named `algo-1`, `algo-2`, … in this order. None: a serverless job."""
    plan: str = ""
    """ARN of the training plan that they are of; empty: on demand, or spot."""

    @cached_property
    def instances(self) -> dict[str, int]:
        """Its instances per type."""
        return dict(Counter(self.hosts))


def choices(request: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Return the choices of a CreateTrainingJob request, the most preferred first."""
    config = request.get("ResourceConfig") or {}
    if config.get("InstancePreferences"):
        shared = {"InstanceCount": config.get("InstanceCount", 1)}
        return tuple(
            Choice(hosts=_hosts([{**shared, **each}]), plan=(each.get("TrainingPlanArns") or [""])[0])
            for each in config["InstancePreferences"]
        )
    parts = config.get("InstanceGroups") or ([config] if config.get("InstanceType") else [])
    return (Choice(hosts=_hosts(parts), plan=config.get("TrainingPlanArn") or ""),)


def check(request: Mapping[str, Any]) -> None:
    """Validate the rules between members of ResourceConfig that the model cannot express.

    Raises:
        AwsError: ValidationException.
    """
    config = request.get("ResourceConfig")
    if config is None:
        if request.get("ServerlessJobConfig") is None:  # model: optional only for a serverless job
            raise service_facts.validation(
                "1 validation error detected: Value null at 'resourceConfig' failed to satisfy constraint: "
                "Member must not be null"
            )
        return
    one = bool(config.get("InstanceType")) or bool(config.get("InstanceCount"))
    if config.get("InstanceGroups") and (one or config.get("InstancePreferences")):  # model, InstanceGroups
        raise service_facts.validation(
            "InstanceGroups cannot be used together with InstanceType, InstanceCount or InstancePreferences."
        )
    read_only = [name for name in ("SelectedInstanceType", "SelectedInstanceCount") if config.get(name) is not None]
    if read_only:  # model: "isn't accepted in CreateTrainingJob requests"
        raise service_facts.validation(f"{' and '.join(read_only)} cannot be set: SageMaker selects the instances.")
    if config.get("InstancePreferences"):
        _check_preferences(request, config)
    if not all(choice.hosts for choice in choices(request)):
        raise service_facts.validation("ResourceConfig must have an instance type and at least one instance.")


def _check_preferences(request: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    preferences = config["InstancePreferences"]
    others = [name for name in ("InstanceType", "InstancePlacementConfig") if config.get(name)]
    if request.get("EnableManagedSpotTraining"):
        others.append("EnableManagedSpotTraining")
    if others:
        raise service_facts.validation(f"InstancePreferences cannot be used together with {' and '.join(others)}.")
    kinds = [each["InstanceType"] for each in preferences]
    if len(set(kinds)) != len(kinds):
        raise service_facts.validation("An instance type can appear only once in InstancePreferences.")
    counted = sum(each.get("InstanceCount") is not None for each in preferences)
    if counted != (0 if config.get("InstanceCount") is not None else len(preferences)):
        raise service_facts.validation(
            "InstanceCount must be set in every one of InstancePreferences, or in ResourceConfig and in none of them."
        )
    plans = [each.get("TrainingPlanArns") for each in preferences]
    if config.get("TrainingPlanArn") and any(plans):
        raise service_facts.validation(
            "TrainingPlanArns of InstancePreferences cannot be used together with TrainingPlanArn of ResourceConfig."
        )


def _hosts(parts: list[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(part["InstanceType"] for part in parts for _ in range(int(part.get("InstanceCount", 1))))
