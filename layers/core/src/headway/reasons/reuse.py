"""What a job that may be answered by the outputs of an equal one does with them."""

from __future__ import annotations

from dataclasses import replace

from headway.dependencies import Ending
from headway.reasons.codes import Reason, ReasonCode
from headway.reasons.dependencies import ENDED


def reused(job: str) -> Reason:
    """The job has ended without an attempt: another one has computed the same.

    Args:
        job: the job whose outputs it has.
    """
    message = f"completed without instances, with the outputs of `{job}`, which has computed the same"
    return Reason(code=ReasonCode.REUSED, message=message, jobs=(job,))


def entered_without_twin(entered: Reason) -> Reason:
    """The job is accepted, and computes as no equal one has completed or is about to.

    Args:
        entered: why it is in the queue.
    """
    none = "computes, as no job that was submitted with reuse has the outputs of the same request, sources and inputs"
    return replace(entered, message=f"{entered.message}; {none}")


def entered_behind_twin(twin: str) -> Reason:
    """The job is accepted, and an equal one has not ended.

    Args:
        twin: the equal job.
    """
    return Reason(code=ReasonCode.ENTERED, message=f"accepted; {_waits(twin)}", jobs=(twin,))


def waits_for_twin(twin: str) -> Reason:
    """The job is in no queue, as an equal one has not ended.

    Args:
        twin: the equal job.
    """
    return Reason(code=ReasonCode.WAITS_FOR_JOBS, message=_waits(twin), jobs=(twin,))


def goes_on_behind_twin(job: str, ending: Ending, twin: str) -> Reason:
    """A job that this one waited for has ended, and an equal one has not.

    Args:
        job: the job that has ended.
        ending: how.
        twin: the equal job.
    """
    message = f"`{job}` {ENDED[ending]}; {_waits(twin)}"
    return Reason(code=ReasonCode.DEPENDENCY_ENDED, message=message, jobs=(job, twin))


def twin_ended(job: str, ending: Ending, array: str) -> Reason:
    """An equal job that a member of an array waited for has ended without outputs for it.

    Args:
        job: the equal job.
        ending: how it has ended.
    """
    message = f"`{job}` {ENDED[ending]}; enters the queue when `{array}` takes it in"
    return Reason(code=ReasonCode.DEPENDENCY_ENDED, message=message, jobs=(job, array))


def not_reused(why: str) -> Reason:
    """The job enters the queue although it may be answered by another one.

    Args:
        why: a clause that says why it computes by itself.
    """
    return Reason(code=ReasonCode.NOT_REUSED, message=f"computes by itself, as {why}; entered the queue")


def not_reused_after(job: str, ending: Ending, why: str) -> Reason:
    """A job that this one waited for has ended, and this one enters the queue although it may be answered by another.

    Args:
        job: the job that has ended.
        ending: how.
        why: a clause that says why this one computes by itself.
    """
    message = f"`{job}` {ENDED[ending]}; computes by itself, as {why}; entered the queue"
    return Reason(code=ReasonCode.NOT_REUSED, message=message, jobs=(job,))


def _waits(twin: str) -> str:
    return (
        f"waits for `{twin}`, which computes the same, and completes with its outputs; if `{twin}` does not complete, "
        "enters the queue"
    )
