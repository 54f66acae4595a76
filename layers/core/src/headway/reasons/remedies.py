"""What to do about a change of a job, and whether people are told of it by message: one table, by reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.reasons.codes import ReasonCode


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """What goes with a reason for which a job changes.

    Attributes:
        text: what to do, in one or two sentences; empty where there is nothing to do.
        told: whether people get a message of it unless the policy says otherwise: of what nobody asked for.
    """

    text: str = ""
    told: bool = False


WAIT_REASONS = frozenset(
    {
        ReasonCode.WAITS_FOR_CAPACITY,
        ReasonCode.WAITS_FOR_FREED,
        ReasonCode.WAITS_FOR_LIMIT,
        ReasonCode.WOULD_DELAY,
        ReasonCode.WAITS_BEHIND,
        ReasonCode.BACKS_OFF,
        ReasonCode.PAUSED,
        ReasonCode.EXCEEDS_POOL,
        ReasonCode.EXCEEDS_LIMIT,
        ReasonCode.UNKNOWN_POOL,
        ReasonCode.STARTS_NOW,
        ReasonCode.RESERVATION_RELEASED,
    }
)
"""Reasons that change no job: they are worked out when somebody asks."""

REMEDIES: Mapping[ReasonCode, Remedy] = {
    ReasonCode.ENTERED: Remedy(),
    ReasonCode.STARTED: Remedy(),
    ReasonCode.ADOPTED: Remedy(),
    ReasonCode.PREEMPTED: Remedy(
        told=True,
        text=(
            "Nothing: the job keeps its place and starts again by itself. With a CheckpointConfig it goes on from its "
            "last checkpoint, without one from the beginning. A higher priority (`headway priority`) protects it."
        ),
    ),
    ReasonCode.RECLAIMED: Remedy(
        told=True,
        text=(
            "Nothing: the job keeps its place and starts again by itself, from its last checkpoint if it has a "
            "CheckpointConfig. It ran on instances that are guaranteed to another team."
        ),
    ),
    ReasonCode.RETURNED_TO_LINE: Remedy(),
    ReasonCode.PRIORITY_CHANGED: Remedy(),
    ReasonCode.HELD: Remedy(),
    ReasonCode.RELEASED: Remedy(),
    ReasonCode.STOP_REQUESTED: Remedy(),
    ReasonCode.BREAKS_RULES: Remedy(
        told=True,
        text=(
            "Change the request where the reason says so before you submit such a job again; `headway policy test` "
            "tries it out."
        ),
    ),
    ReasonCode.UNDERUSED: Remedy(
        told=True,
        text=(
            "Look at the job's utilisation and log in CloudWatch (/aws/sagemaker/TrainingJobs). A job that hangs is "
            "best stopped (`headway stop`); one that waits for its data may do with fewer or smaller instances."
        ),
    ),
    ReasonCode.INTERRUPTED: Remedy(
        told=True,
        text=(
            "Nothing: the job goes on by itself, from its last checkpoint if it has a CheckpointConfig. Without one, "
            "each interruption starts it from the beginning: add one before you submit it again."
        ),
    ),
    ReasonCode.COMPLETED: Remedy(),
    ReasonCode.FAILED: Remedy(
        told=True,
        text=(
            "Look at the training job's log in CloudWatch (/aws/sagemaker/TrainingJobs), mend the cause, and submit "
            "the job under a new name."
        ),
    ),
    ReasonCode.RETRIED: Remedy(
        told=True,
        text=(
            "Nothing: the job is tried again by itself, from its last checkpoint if it has a CheckpointConfig. If you "
            "know that it will fail again, stop it (`headway stop`)."
        ),
    ),
    ReasonCode.STOPPED: Remedy(
        text=(
            "If you did not ask for it: a job that ran into its own time limit needs a higher one, and has to be "
            "submitted under a new name."
        ),
    ),
    ReasonCode.STOPPED_BY_POLICY: Remedy(
        told=True,
        text=(
            "Mend what the reason names, and submit the job under a new name. What it wrote is in its output and "
            "checkpoint paths."
        ),
    ),
    ReasonCode.REQUEUED: Remedy(
        told=True,
        text=(
            "Nothing, if what the reason names passes by itself: the job waits and starts again, from its last "
            "checkpoint if it has a CheckpointConfig. Else stop it (`headway stop`) and mend the cause."
        ),
    ),
    ReasonCode.ON_DEMAND: Remedy(
        told=True,
        text=(
            "Nothing: the job goes on on demand, from its last checkpoint if it has a CheckpointConfig. On-demand "
            "instances cost more than spot ones; if that is not wanted, stop it (`headway stop`)."
        ),
    ),
    ReasonCode.STOPPED_OUTSIDE: Remedy(
        told=True,
        text=(
            "Somebody stopped the training job past the queue; CloudTrail says who (StopTrainingJob). If it was not "
            "meant, submit the job under a new name. To stop a job, use `headway stop`."
        ),
    ),
    ReasonCode.LAUNCH_POSTPONED: Remedy(
        text=(
            "Nothing, if it happens once: the job is tried again by itself. If it goes on, ask an operator to compare "
            "the account's quota for training instances with the pool's size, and the role with TrainingRoleArns."
        ),
    ),
    ReasonCode.LAUNCH_REFUSED: Remedy(
        told=True, text="Correct the request where the reason says so, and submit it under a new name."
    ),
    ReasonCode.NAME_TAKEN: Remedy(text="Nothing: the next try gives its training job another name."),
    ReasonCode.VANISHED: Remedy(
        told=True,
        text=(
            "Somebody deleted the training job; CloudTrail says who (DeleteTrainingJob). Look in its output path for "
            "what it left, and submit the job under a new name if it is needed."
        ),
    ),
    ReasonCode.OUTSIDE: Remedy(
        told=True, text="Submit training jobs to the queue (`headway submit`), which starts each in its turn."
    ),
    ReasonCode.OUTSIDE_BREAKS_RULES: Remedy(
        told=True,
        text=(
            "Change the request where the reason says so, and submit such jobs to the queue (`headway submit`), which "
            "starts each in its turn."
        ),
    ),
    ReasonCode.OUTSIDE_STOPPED: Remedy(
        told=True,
        text=(
            "Submit it to the queue (`headway submit`) under a new name, changed where the reason says so. What it "
            "wrote is in its output and checkpoint paths."
        ),
    ),
    ReasonCode.OUTSIDE_NOT_STOPPED: Remedy(
        told=True,
        text="Stop it yourself (`aws sagemaker stop-training-job`), and see to what the reason says was in the way.",
    ),
    ReasonCode.OUTSIDE_GONE: Remedy(),
}
"""By the reason of each change that a job in the queue, or one beside it, can go through."""

NOTIFIED_BY_DEFAULT = tuple(sorted(code for code, remedy in REMEDIES.items() if remedy.told))
"""The reasons of which people are told by message unless the policy says otherwise."""


def remedy_for(code: ReasonCode) -> str | None:
    """What to do about a change for this reason; None if there is nothing to do."""
    remedy = REMEDIES.get(code)
    return remedy.text or None if remedy else None
