"""What a fake training run does: read from its request's `Environment`.

SANDBOX_RUN_SECONDS   how long it trains, in seconds of the real world (default 600)
SANDBOX_STOP_SECONDS  how long it takes to end after SIGTERM, at most the 120 it is given (default 120)
SANDBOX_OUTCOME       `complete` (default), or the FailureReason it ends with, which starts with what kind of
                      error it is: `AlgorithmError: exit code 1`, `ClientError: no such channel`,
                      `InternalServerError: We encountered an internal error.`; a `CapacityError...` fails
                      while the instances are being provisioned, the others when the training time is over
SANDBOX_GPU_UTILIZATION, SANDBOX_CPU_UTILIZATION
                      how busy its hosts are: `0:760,600:0` means 760 % from the start of its training on, and 0
                      once it has trained for 600 seconds of the real world. Figures run to 100 for each GPU or
                      core. For hosts that differ: `0:760;0:0` is for algo-1, and for algo-2 and all that follow
                      (default: 90 for each GPU; 90 on all cores together)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway_sandbox.sagemaker import service_facts

RUN_SECONDS, STOP_SECONDS, OUTCOME = "SANDBOX_RUN_SECONDS", "SANDBOX_STOP_SECONDS", "SANDBOX_OUTCOME"
GPU_UTILIZATION, CPU_UTILIZATION = "SANDBOX_GPU_UTILIZATION", "SANDBOX_CPU_UTILIZATION"
_PREFIX = "SANDBOX_"
_KNOWN = (RUN_SECONDS, STOP_SECONDS, OUTCOME, GPU_UTILIZATION, CPU_UTILIZATION)
_LONGEST_S = 10 * 365 * 86_400
# More than the cores of any instance type.
_MOST_PERCENT = 100_000.0

Course = tuple[tuple[float, float], ...]
"""What a figure is, in percent, from how many seconds of training on."""
_DEFAULT_RUN_S = 600.0
_REASONS = ("AlgorithmError", "ClientError", "InternalServerError", "CapacityError")


@dataclass(frozen=True, kw_only=True)
class Script:
    run_s: float
    stop_s: float
    failure: str | None
    """The FailureReason it ends with; None when it completes."""
    gpu: tuple[Course, ...] = ()
    """How busy the GPUs of each host are; the last one is for all hosts that follow. Empty: as usual."""
    cpu: tuple[Course, ...] = ()
    """The same for its cores."""

    @property
    def lacks_capacity(self) -> bool:
        return self.failure is not None and self.failure.startswith("CapacityError")

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Script:
        """As it was saved as JSON, which has no tuples."""
        courses = {name: _tuples(document.get(name, ())) for name in ("gpu", "cpu")}
        return cls(**{**document, **courses})


def read(environment: Mapping[str, str]) -> Script:
    """The script in a request's `Environment`.

    Raises:
        AwsError: a value makes no sense; said at once, as a test that misspells it would else wait for
        nothing.
    """
    unknown = sorted(name for name in environment if name.startswith(_PREFIX) and name not in _KNOWN)
    if unknown:
        raise service_facts.validation(f"Sandbox: there is no {', '.join(unknown)}, but {', '.join(_KNOWN)}.")
    outcome = environment.get(OUTCOME, "complete").strip()
    if outcome == "complete":
        failure = None
    elif outcome == "CapacityError":
        failure = service_facts.CAPACITY_ERROR
    elif outcome.startswith(_REASONS):
        failure = outcome
    else:
        raise service_facts.validation(
            f"Sandbox: {OUTCOME} is `complete` or begins with one of {', '.join(_REASONS)}, not '{outcome}'."
        )
    return Script(
        run_s=_seconds(environment, RUN_SECONDS, _DEFAULT_RUN_S),
        stop_s=min(_seconds(environment, STOP_SECONDS, service_facts.STOP_GRACE_S), service_facts.STOP_GRACE_S),
        failure=failure,
        gpu=_courses(environment, GPU_UTILIZATION),
        cpu=_courses(environment, CPU_UTILIZATION),
    )


def _courses(environment: Mapping[str, str], name: str) -> tuple[Course, ...]:
    text = environment.get(name)
    if text is None:
        return ()
    try:
        return tuple(_course(host) for host in text.split(";"))
    except ValueError:
        raise service_facts.validation(
            f"Sandbox: {name} is like `0:760,600:0`: seconds of training, beginning with 0 and going up, each with the "
            f"percentage from then on; for hosts that differ one after the other with `;`. Not '{text}'."
        ) from None


def _course(text: str) -> Course:
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
        raise service_facts.validation(f"Sandbox: {name} is a number of seconds of 0 or more, not '{text}'.")
    return seconds
