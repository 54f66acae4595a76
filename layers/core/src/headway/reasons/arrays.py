"""What the members of an array wait for, and what an array waits for and comes to."""

from __future__ import annotations

from collections.abc import Mapping

from headway.early_stopping import Verdict
from headway.model import Demand
from headway.reasons.codes import Reason, ReasonCode
from headway.vectors import describe

MAX_NAMED_ARRAYS = 3
"""Arrays with members to come that a sentence names."""


def array_entered(count: int, demand: Demand) -> Reason:
    """An array is accepted.

    Args:
        count: how many members it has.
        demand: the instances of each member per pool.
    """
    message = f"accepted with {_members(count)} for {describe(demand)} each, which enter the queue in turn"
    return Reason(code=ReasonCode.ENTERED, message=message)


def array_started(count: int) -> Reason:
    """The first members of an array have entered the queue.

    Args:
        count: how many members it has.
    """
    return Reason(code=ReasonCode.STARTED, message=f"the first of {_members(count)} entered the queue")


def members_left() -> Reason:
    """An array has members that have not ended; how many there are of which kind is beside it."""
    return Reason(code=ReasonCode.MEMBERS_LEFT, message="waits until its members have ended")


def array_completed(count: int, *, stopped_early: int = 0) -> Reason:
    """All members of an array have completed, or were stopped early.

    Args:
        count: how many members it has.
        stopped_early: how many of them were stopped early.
    """
    if not stopped_early:
        return Reason(code=ReasonCode.COMPLETED, message=f"all {_members(count)} have completed")
    message = f"{count - stopped_early} of {_members(count)} completed, {stopped_early} stopped early"
    return Reason(code=ReasonCode.COMPLETED, message=message)


def array_failed(*, failed: int, completed: int, never_started: int) -> Reason:
    """Members of an array have failed, and no other one is left.

    Args:
        failed: how many.
        completed: how many have completed.
        never_started: how many were not started any more, as so many had failed.
    """
    rest = f", and {never_started} were not started" if never_started else ""
    message = f"{_members(failed)} failed or reached the time limit, {completed} completed{rest}"
    return Reason(code=ReasonCode.FAILED, message=message)


def array_stopped(*, stopped: int, completed: int) -> Reason:
    """Members of an array were stopped, and no other one is left.

    Args:
        stopped: how many.
        completed: how many have completed.
    """
    message = f"{_members(stopped)} {'was' if stopped == 1 else 'were'} stopped, {completed} completed"
    return Reason(code=ReasonCode.STOPPED, message=message)


def waits_for_array(array: str) -> Reason:
    """A member of an array is in no queue, as others of it are before."""
    message = f"enters the queue when `{array}` takes it in: in turn, when fewer members are in the queue or run"
    return Reason(code=ReasonCode.WAITS_FOR_ARRAY, message=message, jobs=(array,))


def members_to_come(ahead: Mapping[str, int], *, is_whole: bool = True) -> str:
    """Members that are ahead of a job and in no queue yet, as a part of a sentence; empty if there are none.

    Args:
        ahead: how many, by array.
        is_whole: whether these are all arrays.
    """
    if not is_whole:
        return "perhaps members of arrays, of which there are more than are counted"
    count = sum(ahead.values())
    if not count:
        return ""
    arrays = ", ".join(f"`{name}`" for name in list(ahead)[:MAX_NAMED_ARRAYS])
    if len(ahead) > MAX_NAMED_ARRAYS:
        arrays += f" and {len(ahead) - MAX_NAMED_ARRAYS} more"
    return f"{_members(count)} of {arrays} that {'is' if count == 1 else 'are'} not in the queue yet"


def made_early(array: str) -> Reason:
    """A member of an array becomes a job before its turn, as somebody wants to change it."""
    return Reason(
        code=ReasonCode.ENTERED, message=f"accepted; enters the queue when `{array}` takes it in", jobs=(array,)
    )


def never_made(array: str) -> Reason:
    """A member of an array never entered the queue, as the array has ended."""
    message = f"never entered the queue, as `{array}` ended before its turn"
    return Reason(code=ReasonCode.STOPPED, message=message, jobs=(array,))


def set_aside(array: str) -> Reason:
    """A member of an array leaves the queue, as the array is held."""
    message = f"left the queue, as `{array}` is held; enters it again when that is released"
    return Reason(code=ReasonCode.SET_ASIDE, message=message, jobs=(array,))


def member_entered(array: str) -> Reason:
    """A member of an array that was set aside enters the queue."""
    return Reason(code=ReasonCode.TAKEN_IN, message=f"entered the queue, taken in by `{array}`", jobs=(array,))


def array_stop_requested(by: str, why: str = "") -> Reason:
    """A caller has requested the stop of an array.

    Args:
        by: the caller, as in ``user/ada``.
        why: the caller's reason; may be empty.
    """
    because = f": {why}" if why else ""
    message = f"stop requested by {by}{because}; its members that have not ended are stopped"
    return Reason(code=ReasonCode.STOP_REQUESTED, message=message)


def priority_follows(before: int, after: int, array: str) -> Reason:
    """A member of an array gets the new priority of the array.

    Args:
        before: the old priority.
        after: the new priority.
    """
    message = f"priority changed from {before} to {after} with `{array}`"
    return Reason(code=ReasonCode.PRIORITY_CHANGED, message=message, jobs=(array,))


def stopped_with_array(array: str, why: str) -> Reason:
    """A member of an array is stopped, as the array is.

    Args:
        why: the reason of the array.
    """
    return Reason(code=ReasonCode.STOPPED, message=f"stopped with `{array}`: {why}", jobs=(array,))


def worse_than_median(metric: str, verdict: Verdict, *, step_metric: str = "", ends: bool = False) -> Reason:
    """A member of an array is, or was, stopped early.

    Args:
        metric: the metric that was compared.
        verdict: why.
        step_metric: the metric that counts the steps; empty if it was compared by training time.
        ends: whether the member has ended.
    """
    at = f"{step_metric} {verdict.step:g}" if step_metric else f"{verdict.step:g} s of training"
    found = (
        f"its best {metric} is {verdict.best:g}, and the median of {verdict.compared} other members "
        f"at {at} is {verdict.median:g}"
    )
    code = ReasonCode.STOPPED_EARLY if ends else ReasonCode.WORSE_THAN_MEDIAN
    return Reason(code=code, message=f"{'stopped' if ends else 'is being stopped'} early: {found}")


def too_many_failures(failed: int, most: int) -> str:
    """Why an array starts no further member, as a clause.

    Args:
        failed: how many members have failed.
        most: how many may.
    """
    return f"{_members(failed)} failed, and {most} may (maxFailures)"


def _members(count: int) -> str:
    return f"{count} member{'' if count == 1 else 's'}"
