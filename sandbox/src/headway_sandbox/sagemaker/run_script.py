"""The behavior of a fake training run, read from its request's `Environment` and `HyperParameters`.

SANDBOX_RUN_SECONDS   training time in real seconds (default 600)
SANDBOX_STOP_SECONDS  time from SIGTERM to the end, in real seconds, at most 120 (default 120)
SANDBOX_OUTCOME       `complete` (default), or the FailureReason, which begins with the kind of error:
                      `AlgorithmError: exit code 1`, `ClientError: no such channel`,
                      `InternalServerError: We encountered an internal error.`; a `CapacityError...` fails
                      during provisioning, the others at the end of the training time
SANDBOX_GPU_UTILIZATION, SANDBOX_CPU_UTILIZATION
                      utilization of its hosts: `0:760,600:0` is 760 % from the start of training, and 0 % after
                      600 real seconds of training. The maximum is 100 per GPU or core. Different hosts are
                      separated by `;`: `0:760;0:0` is for algo-1, and for algo-2 and all that follow
                      (default: 90 per GPU; 90 for all cores together)
SANDBOX_METRICS       the last values of its metrics, if it completes: `loss=0.3,accuracy=0.9`. In place of a
                      number, the name of a hyperparameter stands for its value: `loss=lr`
SANDBOX_TRAIN         `true` or `false`: whether the job's own script runs (`headway_sandbox.training.selection`)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway_sandbox.sagemaker import service_facts

RUN_SECONDS, STOP_SECONDS, OUTCOME = "SANDBOX_RUN_SECONDS", "SANDBOX_STOP_SECONDS", "SANDBOX_OUTCOME"
GPU_UTILIZATION, CPU_UTILIZATION = "SANDBOX_GPU_UTILIZATION", "SANDBOX_CPU_UTILIZATION"
METRICS, TRAIN = "SANDBOX_METRICS", "SANDBOX_TRAIN"
_PREFIX = "SANDBOX_"
_KNOWN = (RUN_SECONDS, STOP_SECONDS, OUTCOME, GPU_UTILIZATION, CPU_UTILIZATION, METRICS, TRAIN)
_LONGEST_S = 10 * 365 * 86_400
# Above the maximum of any instance type.
_MOST_PERCENT = 100_000.0

LoadProfile = tuple[tuple[float, float], ...]
"""Utilization over time: pairs of a start, in seconds of training, and percent."""
_DEFAULT_RUN_S = 600.0
_REASONS = ("AlgorithmError", "ClientError", "InternalServerError", "CapacityError")


@dataclass(frozen=True, kw_only=True)
class Script:
    """Behavior of one training run."""

    run_s: float
    stop_s: float
    failure: str | None
    """Its FailureReason; None if it completes."""
    gpu: tuple[LoadProfile, ...] = ()
    """GPU utilization per host; the last one is for all further hosts. Empty: the default."""
    cpu: tuple[LoadProfile, ...] = ()
    """The same for the cores."""
    metrics: tuple[tuple[str, float], ...] = ()
    """The last values of its metrics, with their names."""

    @property
    def lacks_capacity(self) -> bool:
        """Whether it fails with a capacity error."""
        return self.failure is not None and self.failure.startswith("CapacityError")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Script:
        """Load a script from JSON, which has no tuples."""
        tuples = {name: _tuples(document.get(name, ())) for name in ("gpu", "cpu", "metrics")}
        return cls(**{**document, **tuples})


def read(environment: Mapping[str, str], hyperparameters: Mapping[str, str]) -> Script:
    """Read the script from a request.

    Raises:
        AwsError: A variable is unknown or a value is invalid. A test with a misspelled one fails at once.
    """
    unknown = sorted(name for name in environment if name.startswith(_PREFIX) and name not in _KNOWN)
    if unknown:
        raise service_facts.validation(f"Sandbox: unknown {', '.join(unknown)}. Known: {', '.join(_KNOWN)}.")
    outcome = environment.get(OUTCOME, "complete").strip()
    if outcome == "complete":
        failure = None
    elif outcome == "CapacityError":
        failure = service_facts.CAPACITY_ERROR
    elif outcome.startswith(_REASONS):
        failure = outcome
    else:
        raise service_facts.validation(
            f"Sandbox: {OUTCOME} must be `complete` or begin with one of {', '.join(_REASONS)}, not '{outcome}'."
        )
    return Script(
        run_s=_seconds(environment, RUN_SECONDS, _DEFAULT_RUN_S),
        stop_s=min(_seconds(environment, STOP_SECONDS, service_facts.STOP_GRACE_S), service_facts.STOP_GRACE_S),
        failure=failure,
        gpu=_profiles(environment, GPU_UTILIZATION),
        cpu=_profiles(environment, CPU_UTILIZATION),
        metrics=_metrics(environment.get(METRICS), hyperparameters),
    )


def _metrics(text: str | None, hyperparameters: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    return () if text is None else tuple(_metric(part, hyperparameters) for part in text.split(","))


def _metric(text: str, hyperparameters: Mapping[str, str]) -> tuple[str, float]:
    name, _, value = (part.strip() for part in text.rpartition("="))
    try:
        number = float(hyperparameters.get(value, value))
    except ValueError:
        number = math.nan
    if not name or not math.isfinite(number):
        raise service_facts.validation(
            f"Sandbox: {METRICS} must be like `loss=0.3,accuracy=0.9`: numbers, or names of hyperparameters that are "
            f"numbers. Got '{text}'."
        )
    return name, number


def _profiles(environment: Mapping[str, str], name: str) -> tuple[LoadProfile, ...]:
    text = environment.get(name)
    if text is None:
        return ()
    try:
        return tuple(_profile(host) for host in text.split(";"))
    except ValueError:
        raise service_facts.validation(
            f"Sandbox: {name} must be like `0:760,600:0`: seconds of training, ascending from 0, each with the "
            f"percentage from then on; different hosts are separated by `;`. Got '{text}'."
        ) from None


def _profile(text: str) -> LoadProfile:
    steps = []
    for step in text.split(","):
        since, _, percent = step.partition(":")
        steps.append((float(since), float(percent)))
    moments = [since for since, _percent in steps]
    if moments[0] != 0 or any(before >= after for before, after in itertools.pairwise(moments)):
        raise ValueError(text)
    if not (moments[-1] <= _LONGEST_S and all(0 <= percent <= _MOST_PERCENT for _since, percent in steps)):
        raise ValueError(text)
    return tuple(steps)


def _tuples(value: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_tuples(each) if isinstance(each, list | tuple) else each for each in value)


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_S:
        raise service_facts.validation(f"Sandbox: {name} must be a number of seconds of 0 or more, not '{text}'.")
    return seconds
