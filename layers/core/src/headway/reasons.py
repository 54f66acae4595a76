"""Why something happened or did not: a code for machines and a sentence for people (promise 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.capacity import describe
from headway.model import Allocation, Demand, WaitingJob

MAX_MESSAGE_CHARS = 1000
"""A reason's sentence is cut to this; SageMaker's own texts may be longer."""

_MAX_NAMED_JOBS = 3


class ReasonCode(StrEnum):
    """The kinds of reason."""

    # Holds: why a job waits.
    ENTERED = "Entered"
    WAITS_FOR_CAPACITY = "WaitsForCapacity"
    WAITS_FOR_FREED = "WaitsForFreedInstances"
    WAITS_BEHIND = "WaitsBehind"
    BACKS_OFF = "BacksOff"
    EXCEEDS_POOL = "ExceedsPool"
    UNKNOWN_POOL = "UnknownPool"
    STARTS_NOW = "StartsNow"
    # What the queue did.
    STARTED = "Started"
    PREEMPTED = "Preempted"
    RETURNED_TO_LINE = "ReturnedToLine"
    RESERVATION_RELEASED = "ReservationReleased"
    PRIORITY_CHANGED = "PriorityChanged"
    STOP_REQUESTED = "StopRequested"
    # How a job or an attempt ended.
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"
    STOPPED_OUTSIDE = "StoppedOutsideTheQueue"
    LAUNCH_POSTPONED = "LaunchPostponed"
    LAUNCH_REFUSED = "LaunchRefused"
    NAME_TAKEN = "NameTaken"
    VANISHED = "Vanished"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """A typed reason.

    Attributes:
        code: what kind it is.
        message: one sentence that a person can act on.
        jobs: the other jobs it is about, in the order the sentence names them.
    """

    code: ReasonCode
    message: str
    jobs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.message) > MAX_MESSAGE_CHARS:
            object.__setattr__(self, "message", self.message[: MAX_MESSAGE_CHARS - 1] + "…")


def started(demand: Demand) -> Reason:
    """The job has been started."""
    return Reason(code=ReasonCode.STARTED, message=f"started on {describe(demand)}")


def starts_now(demand: Demand) -> Reason:
    """The job fits; the next tick starts it."""
    return Reason(code=ReasonCode.STARTS_NOW, message=f"fits, and starts on {describe(demand)} in a moment")


def preempted(victim: Allocation, preemptor: WaitingJob) -> Reason:
    """The job's attempt is stopped so that another job fits."""
    return Reason(
        code=ReasonCode.PREEMPTED,
        message=(
            f"preempted so that `{preemptor.name}` (priority {preemptor.priority}) can start on "
            f"{describe(preemptor.demand)}; this job (priority {victim.priority}) keeps its place in line"
        ),
        jobs=(preemptor.name,),
    )


def waits_for_capacity(job: WaitingJob, lacking: Demand, holders: tuple[Allocation, ...]) -> Reason:
    """The head of a line does not fit, and preempting would not make it fit."""
    needs = " and ".join(f"{count} of {job.demand[pool]} {pool}" for pool, count in sorted(lacking.items()))
    message = f"waits for {needs}"
    if holders:
        message += f", held by {_names(holders, with_priority=True)}"
        if any(holder.priority < job.priority for holder in holders):
            message += "; stopping those of lower priority would not free enough"
    else:
        message += ", which the jobs ahead of it get"
    return Reason(code=ReasonCode.WAITS_FOR_CAPACITY, message=message, jobs=_named(holders))


def waits_for_freed(job: WaitingJob, stopping: tuple[Allocation, ...]) -> Reason:
    """The instances that the job lacks are being freed."""
    verb = "has" if len(stopping) == 1 else "have"
    return Reason(
        code=ReasonCode.WAITS_FOR_FREED,
        message=f"starts on {describe(job.demand)} as soon as {_names(stopping)} {verb} stopped",
        jobs=_named(stopping),
    )


def waits_behind(head: WaitingJob, ahead: int, pools: tuple[str, ...]) -> Reason:
    """A job of higher rank waits for the same pool."""
    others = f"; {ahead} jobs are ahead" if ahead > 1 else ""
    return Reason(
        code=ReasonCode.WAITS_BEHIND,
        message=f"waits behind `{head.name}` (priority {head.priority}) for {' and '.join(pools)}{others}",
        jobs=(head.name,),
    )


def waits_in_line(ahead: int, *, at_least: bool = False) -> Reason:
    """The job stands so far back that only the number of jobs ahead of it is told."""
    return Reason(
        code=ReasonCode.WAITS_BEHIND, message=f"waits behind {'at least ' if at_least else ''}{ahead} jobs in line"
    )


def backs_off(seconds: int) -> Reason:
    """SageMaker refused the last launch for now."""
    return Reason(
        code=ReasonCode.BACKS_OFF,
        message=f"SageMaker postponed the last launch; next try in {seconds} s, the place in line is kept",
    )


def exceeds_pool(job: WaitingJob, sizes: Demand) -> Reason:
    """The job demands more than a pool holds, since the pool was made smaller."""
    return Reason(
        code=ReasonCode.EXCEEDS_POOL,
        message=(
            f"demands {describe(job.demand)} but the pools hold {describe(sizes)}; "
            "enlarge the pool (`headway config set`) or stop the job and submit a smaller one"
        ),
    )


def unknown_pool(pool: str, known: tuple[str, ...]) -> Reason:
    """The job demands a pool that has been taken out of the configuration."""
    return Reason(
        code=ReasonCode.UNKNOWN_POOL,
        message=(
            f"there is no pool {pool} any more; known pools: {', '.join(known) or 'none'}. "
            "Add the pool (`headway config set`) or stop the job"
        ),
    )


def reservation_released(demand: Demand) -> Reason:
    """What was reserved for a job is given back."""
    return Reason(
        code=ReasonCode.RESERVATION_RELEASED,
        message=f"gives back the {describe(demand)} reserved for it: it no longer waits or no longer fits",
    )


def reservation_taken_over(demand: Demand, by: WaitingJob) -> Reason:
    """What is reserved for a job goes to a job of higher rank."""
    return Reason(
        code=ReasonCode.RESERVATION_RELEASED,
        message=f"gives up the {describe(demand)} reserved for it to `{by.name}` (priority {by.priority}), ahead of it",
        jobs=(by.name,),
    )


def _named(allocations: tuple[Allocation, ...]) -> tuple[str, ...]:
    return tuple(allocation.job for allocation in allocations[:_MAX_NAMED_JOBS])


def _names(allocations: tuple[Allocation, ...], *, with_priority: bool = False) -> str:
    names = [
        f"`{allocation.job}` (priority {allocation.priority})" if with_priority else f"`{allocation.job}`"
        for allocation in allocations[:_MAX_NAMED_JOBS]
    ]
    rest = len(allocations) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")
