"""The sweep of a SageMaker HyperparameterTuner, for strategies that do not learn from the results of earlier jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.errors import UsageError

_UNSUPPORTED = {
    "warm_start_config": "a warm start uses the results of another tuning job",
    "strategy_config": "it is for strategies that learn from results",
    "completion_criteria_config": "it ends the tuning by its results",
    "max_runtime_in_seconds": "an array has no time limit; its members have theirs",
}
"""Arguments of a tuner that an array cannot follow, and why."""


def sweep_of(tuner: Any) -> dict[str, Any]:
    """Return the document of the sweep that has the same members as the tuner would make.

    Args:
        tuner: a HyperparameterTuner of SDK 2 or 3, for one estimator or ModelTrainer.

    Raises:
        UsageError: the tuner chooses jobs by the results of others, or has a range that a sweep cannot have.
    """
    if getattr(tuner, "estimator", None) is None and getattr(tuner, "model_trainer", None) is None:
        raise UsageError("The tuner is for several estimators; submit an array for each of them.")
    for name, why in _UNSUPPORTED.items():
        if getattr(tuner, name, None):
            raise UsageError(f"The tuner has {name}, which an array cannot follow: {why}. Remove it.")
    if getattr(tuner, "autotune", False):
        raise UsageError("The tuner has autotune, which chooses the ranges itself; give it hyperparameter_ranges.")
    if getattr(tuner, "early_stopping_type", "Off") != "Off":
        raise UsageError("The tuner has early_stopping_type, which an array cannot follow; set it to Off.")
    found = {kind: [_with_api_names(each) for each in listed] for kind, listed in tuner.hyperparameter_ranges().items()}
    match tuner.strategy:
        case "Grid":
            return {"grid": _grid(found)}
        case "Random":
            seed = tuner.random_seed or 0
            return {"random": _distributions(found), "count": tuner.max_jobs, "seed": seed}
        case strategy:
            raise UsageError(
                f"The strategy {strategy} chooses each job by the results of others, which an array cannot do; use "
                "Random or Grid, or start the tuner itself: its jobs then run outside the queue."
            )


def _with_api_names(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a range with the API's names of its members: those of SDK 3 are in snake case (sagemaker-train 1.27.0)."""
    return {"".join(part[:1].upper() + part[1:] for part in name.split("_")): value for name, value in found.items()}


def _grid(found: Mapping[str, Any]) -> dict[str, Any]:
    for kind in ("IntegerParameterRanges", "ContinuousParameterRanges"):
        for each in found.get(kind) or ():
            raise UsageError(f"{each['Name']} has to be a CategoricalParameter, as the strategy is Grid.")
    return {each["Name"]: list(each["Values"]) for each in found.get("CategoricalParameterRanges") or ()}


def _distributions(found: Mapping[str, Any]) -> dict[str, Any]:
    distributions: dict[str, Any] = {}
    for each in found.get("CategoricalParameterRanges") or ():
        distributions[each["Name"]] = {"choice": list(each["Values"])}
    for each in found.get("IntegerParameterRanges") or ():
        _require_scaling(each, "Auto", "Linear")
        distributions[each["Name"]] = {"integer": [int(each["MinValue"]), int(each["MaxValue"])]}
    for each in found.get("ContinuousParameterRanges") or ():
        _require_scaling(each, "Auto", "Linear", "Logarithmic")
        kind = "logUniform" if each.get("ScalingType") == "Logarithmic" else "uniform"
        distributions[each["Name"]] = {kind: [float(each["MinValue"]), float(each["MaxValue"])]}
    return distributions


def _require_scaling(found: Mapping[str, Any], *known: str) -> None:
    scaling = found.get("ScalingType", "Auto")
    if scaling not in known:
        raise UsageError(f"{found['Name']} has the scaling {scaling}; an array supports {', '.join(known)} for it.")
