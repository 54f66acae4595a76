"""What a job that depends on other jobs waits for, and what their ends mean for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.dependencies import Condition, Ending
from headway.model import Demand
from headway.reasons.codes import Reason, ReasonCode
from headway.vectors import describe

Awaited = Sequence[tuple[str, Condition]]
"""Jobs that have not ended, each with the condition of the job that depends on it; at least one, if nothing else is
said."""

_UNTIL = {Condition.OK: "has completed", Condition.ANY: "has ended", Condition.FAILED: "has failed"}
ENDED = {
    Ending.COMPLETED: "has completed",
    Ending.FAILED: "has failed",
    Ending.TIMED_OUT: "has reached its time limit",
    Ending.STOPPED: "was stopped",
}
"""The end of a job in words, after its name."""

_REQUIRED = {Condition.OK: "complete", Condition.ANY: "end", Condition.FAILED: "fail"}


def entered_after(demand: Demand, awaited: Awaited) -> Reason:
    """The job is accepted, and enters the queue when its dependencies are met.

    Args:
        demand: instances per pool.
        awaited: the jobs that it waits for.
    """
    message = f"accepted; enters the queue for {describe(demand)} when {ends_of(awaited)}"
    return Reason(code=ReasonCode.ENTERED, message=message, jobs=awaited_names(awaited))


def waits_for_jobs(awaited: Awaited) -> Reason:
    """The job is in no queue, as others have not ended.

    Args:
        awaited: the jobs that it waits for.
    """
    message = f"waits until {ends_of(awaited)}; then it enters the queue"
    return Reason(code=ReasonCode.WAITS_FOR_JOBS, message=message, jobs=awaited_names(awaited))


def with_cause(reason: Reason, awaited: str, cause: Reason) -> Reason:
    """Why a job waits for another one, with what that one waits for.

    Args:
        reason: why the job waits: it names the other one.
        awaited: the other one.
        cause: why that waits.
    """
    message = f"{reason.message}; `{awaited}` waits now, too: {cause.message}"
    return replace(reason, message=message)


def dependency_ended(job: str, ending: Ending, awaited: Awaited, until: str = "") -> Reason:
    """A job has ended as this one requires.

    Args:
        job: the job that has ended.
        ending: how.
        awaited: the jobs that this one still waits for; may be empty.
        until: the time at which it enters the queue, in words, if that has not come either.
    """
    waits = f"waits until {ends_of(awaited) if awaited else until}"
    then = waits if awaited or until else "entered the queue"
    return Reason(code=ReasonCode.DEPENDENCY_ENDED, message=f"`{job}` {ENDED[ending]}; {then}", jobs=(job,))


def dependency_unmet(job: str, condition: Condition, ending: Ending) -> Reason:
    """A job has ended otherwise than this one requires, so this one ends too.

    Args:
        job: the job that has ended.
        condition: what this one requires.
        ending: how the other one has ended.
    """
    message = f"stopped, as {unmet(job, condition, ending)}"
    return Reason(code=ReasonCode.DEPENDENCY_UNMET, message=message, jobs=(job,))


def outputs_unusable(job: str, problem: str) -> Reason:
    """The outputs of a job do not fit into the request of this one, so this one ends.

    Args:
        job: the job that has completed.
        problem: a clause on what is wrong.
    """
    message = f"stopped, as the outputs of `{job}` cannot be filled in: {problem}"
    return Reason(code=ReasonCode.DEPENDENCY_UNMET, message=message, jobs=(job,))


def unmet(job: str, condition: Condition, ending: Ending) -> str:
    """A condition that can no longer be met, as a clause.

    Args:
        job: the job that has ended.
        condition: what the job that depends on it requires.
        ending: how it has ended.
    """
    return f"`{job}` {ENDED[ending]}, and had to {_REQUIRED[condition]} first (condition {condition})"


def ends_of(awaited: Awaited) -> str:
    """What the jobs that a job waits for have to do first, as a clause."""
    *most, last = [f"`{job}` {_UNTIL[condition]}" for job, condition in awaited]
    return f"{', '.join(most)} and {last}" if most else last


def awaited_names(awaited: Awaited) -> tuple[str, ...]:
    """The names of the jobs that a job waits for."""
    return tuple(job for job, _ in awaited)
