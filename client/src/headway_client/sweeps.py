"""An array of jobs that differ in their hyperparameters: the body of a submission with a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.early_stopping import EarlyStopping, InvalidEarlyStopping
from headway.sweeps import InvalidSweep, Sweep
from headway_client.alternatives import DETAILS
from headway_client.errors import FieldMessage, UsageError


def with_sweep(
    body: Mapping[str, Any],
    sweep: Mapping[str, Any] | Sweep | None,
    *,
    at_once: int | None = None,
    max_failures: int | None = None,
    early_stopping: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what to submit for an array with a member for each combination of hyperparameters that a sweep has.

    Args:
        body: boto3's parameters of CreateTrainingJob, or the result of
            `headway_client.alternatives.with_alternatives` or of `headway_client.dependencies.with_dependencies`.
        sweep: the document of the sweep, such as ``{"grid": {"lr": [0.1, 0.01]}}``; None for a job that is no array.
        at_once: how many members may be in the queue or run at once; None for any number.
        max_failures: how many members may fail before no further one starts; None if failures change nothing.
        early_stopping: when members are stopped early, such as ``{"metric": "loss", "goal": "minimize"}``; None for
            never. `headway.early_stopping.EarlyStopping.parse` has its members.

    Raises:
        UsageError: the sweep or the early stopping is not valid, a number is out of range, or there is no sweep.
    """
    if sweep is None:
        if at_once is not None or max_failures is not None:
            raise UsageError("How many members run at once, and how many may fail, is for arrays; give a sweep.")
        if early_stopping is not None:
            raise UsageError("Early stopping is for arrays; give a sweep.")
        return dict(body)
    numbers = {"atOnce": _checked(at_once, "at_once", 1), "maxFailures": _checked(max_failures, "max_failures", 0)}
    item = dict(body) if DETAILS in body else {DETAILS: dict(body)}
    given: dict[str, Any] = {name: number for name, number in numbers.items() if number is not None}
    if early_stopping is not None:
        given["earlyStopping"] = _settings(early_stopping).document()
    return {**item, "sweep": _parsed(sweep).document(), **given}


def _parsed(sweep: Mapping[str, Any] | Sweep) -> Sweep:
    try:
        return sweep if isinstance(sweep, Sweep) else Sweep.parse(sweep)
    except InvalidSweep as error:
        fields = [FieldMessage(field=f"sweep.{each.path}".rstrip("."), message=each.message) for each in error.problems]
        raise UsageError("The sweep is not valid.", fields=fields) from error


def _settings(document: Mapping[str, Any]) -> EarlyStopping:
    try:
        return EarlyStopping.parse(document)
    except InvalidEarlyStopping as error:
        fields = [
            FieldMessage(field=f"earlyStopping.{each.path}".rstrip("."), message=each.message)
            for each in error.problems
        ]
        raise UsageError("The early stopping is not valid.", fields=fields) from error


def _checked(number: int | None, name: str, lowest: int) -> int | None:
    if number is not None and (type(number) is not int or number < lowest):
        raise UsageError(f"{name} is {number!r}; it has to be a whole number from {lowest}.")
    return number
