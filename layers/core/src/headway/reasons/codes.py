"""What kind of reason it is, and a reason as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.sanitize import strip_control_characters

MAX_MESSAGE_CHARS = 1000
"""Longer messages are cut to this length; SageMaker's own texts may be longer."""


class ReasonCode(StrEnum):
    """The kinds of reason."""

    # Holds: why a job waits.
    ENTERED = "Entered"
    WAITS_FOR_CAPACITY = "WaitsForCapacity"
    WAITS_FOR_FREED = "WaitsForFreedInstances"
    WAITS_FOR_CHECKPOINT = "WaitsForCheckpoint"
    WAITS_FOR_BETTER = "WaitsForBetterAlternative"
    WAITS_FOR_LIMIT = "WaitsForTeamLimit"
    WOULD_DELAY = "WouldDelay"
    WAITS_BEHIND = "WaitsBehind"
    BACKS_OFF = "BacksOff"
    UNLAUNCHABLE = "Unlaunchable"
    PAUSED = "Paused"
    WAITS_FOR_JOBS = "WaitsForJobs"
    WAITS_FOR_TIME = "WaitsForTime"
    WAITS_FOR_ARRAY = "WaitsForArray"
    MEMBERS_LEFT = "MembersLeft"
    WAITS_FOR_SIZE = "WaitsForPoolSize"
    EXCEEDS_POOL = "ExceedsPool"
    EXCEEDS_LIMIT = "ExceedsTeamLimit"
    BUDGET_SPENT = "BudgetSpent"
    UNKNOWN_POOL = "UnknownPool"
    STARTS_NOW = "StartsNow"
    # What the queue did.
    STARTED = "Started"
    # In histories of earlier versions: SageMaker had selected one of the types that a job preferred.
    SELECTED = "Selected"
    ADOPTED = "Adopted"
    PREEMPTED = "Preempted"
    RECLAIMED = "Reclaimed"
    RETURNED_TO_LINE = "ReturnedToLine"
    WARM_POOL_RELEASED = "WarmPoolReleased"
    RESERVATION_RELEASED = "ReservationReleased"
    PRIORITY_CHANGED = "PriorityChanged"
    CHANGED = "Changed"
    HELD = "Held"
    RELEASED = "Released"
    DEPENDENCY_ENDED = "DependencyEnded"
    TIME_CAME = "TimeCame"
    TAKEN_IN = "TakenIn"
    SET_ASIDE = "SetAside"
    NOT_REUSED = "NotReused"
    STOP_REQUESTED = "StopRequested"
    # What the policy noticed of a running job, and perhaps stops it for.
    BREAKS_RULES = "BreaksRules"
    UNDERUSED = "Underused"
    WORSE_THAN_MEDIAN = "WorseThanMedian"
    INTERRUPTED = "InterruptedTooOften"
    NO_INSTANCES = "NoInstances"
    POOL_SHRANK = "PoolShrank"
    # How a job or an attempt ended.
    COMPLETED = "Completed"
    REUSED = "Reused"
    FAILED = "Failed"
    RETRIED = "Retried"
    STOPPED = "Stopped"
    STOPPED_BY_POLICY = "StoppedByPolicy"
    STOPPED_EARLY = "StoppedEarly"
    STOPPED_OUTSIDE = "StoppedOutsideTheQueue"
    DEPENDENCY_UNMET = "DependencyUnmet"
    EXPIRED = "Expired"
    REQUEUED = "Requeued"
    ON_DEMAND = "OnDemand"
    LAUNCH_POSTPONED = "LaunchPostponed"
    LAUNCH_REFUSED = "LaunchRefused"
    NAME_TAKEN = "NameTaken"
    VANISHED = "Vanished"
    # Of a training job that did not come through the queue.
    OUTSIDE = "OutsideTheQueue"
    OUTSIDE_BREAKS_RULES = "OutsideAndBreaksRules"
    OUTSIDE_STOPPED = "OutsideAndStopped"
    OUTSIDE_NOT_STOPPED = "OutsideAndNotStopped"
    OUTSIDE_GONE = "OutsideAndGone"
    # Of no job.
    WEEKLY_DIGEST = "WeeklyDigest"
    OPERATOR_ACTION = "OperatorAction"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """A typed reason.

    Attributes:
        code: what kind it is.
        message: one sentence that a person can act on, on one line: what it quotes has no control characters left.
        jobs: the other jobs it is about, in the order the sentence names them.
    """

    code: ReasonCode
    message: str
    jobs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        message = strip_control_characters(self.message)
        if len(message) > MAX_MESSAGE_CHARS:
            message = message[: MAX_MESSAGE_CHARS - 1] + "…"
        object.__setattr__(self, "message", message)
