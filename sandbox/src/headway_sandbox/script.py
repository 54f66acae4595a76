"""What a fake training run does: read from its request's `Environment`.

SANDBOX_RUN_SECONDS   how long it trains, in seconds of the real world (default 600)
SANDBOX_STOP_SECONDS  how long it takes to end after SIGTERM, at most the 120 it is given (default 120)
SANDBOX_OUTCOME       `complete` (default), or the FailureReason it ends with, which starts with what kind of
                      error it is: `AlgorithmError: exit code 1`, `ClientError: no such channel`,
                      `InternalServerError: We encountered an internal error.`; a `CapacityError...` fails
                      while the instances are being provisioned, the others when the training time is over
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway_sandbox import facts

RUN_SECONDS, STOP_SECONDS, OUTCOME = "SANDBOX_RUN_SECONDS", "SANDBOX_STOP_SECONDS", "SANDBOX_OUTCOME"
_DEFAULT_RUN_S = 600.0
_REASONS = ("AlgorithmError", "ClientError", "InternalServerError", "CapacityError")


@dataclass(frozen=True, kw_only=True)
class Script:
    run_s: float
    stop_s: float
    failure: str | None
    """The FailureReason it ends with; None when it completes."""

    @property
    def lacks_capacity(self) -> bool:
        return self.failure is not None and self.failure.startswith("CapacityError")


def read(environment: Mapping[str, str]) -> Script:
    """The script in a request's `Environment`.

    Raises:
        AwsError: a value makes no sense; said at once, as a test that misspells it would else wait for
        nothing.
    """
    outcome = environment.get(OUTCOME, "complete").strip()
    if outcome == "complete":
        failure = None
    elif outcome == "CapacityError":
        failure = facts.CAPACITY_ERROR
    elif outcome.startswith(_REASONS):
        failure = outcome
    else:
        raise facts.validation(
            f"Sandbox: {OUTCOME} is `complete` or begins with one of {', '.join(_REASONS)}, not '{outcome}'."
        )
    return Script(
        run_s=_seconds(environment, RUN_SECONDS, _DEFAULT_RUN_S),
        stop_s=min(_seconds(environment, STOP_SECONDS, facts.STOP_GRACE_S), facts.STOP_GRACE_S),
        failure=failure,
    )


def _seconds(environment: Mapping[str, str], name: str, default: float) -> float:
    text = environment.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 10 * 365 * 86_400:
        raise facts.validation(f"Sandbox: {name} is a number of seconds of 0 or more, not '{text}'.")
    return seconds
