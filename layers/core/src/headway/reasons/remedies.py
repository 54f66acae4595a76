"""What to do about a change of a job, and whether it is sent as a message by default: one table, by reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.reasons.codes import ReasonCode


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """The remedy for the changes with one reason.

    Attributes:
        text: what to do, in one or two sentences; empty where there is nothing to do.
        notify: whether it is sent as a message by default; true for changes that the owner did not request.
    """

    text: str = ""
    notify: bool = False


REMEDIES: Mapping[ReasonCode, Remedy] = {
    ReasonCode.ENTERED: Remedy(),
    ReasonCode.STARTED: Remedy(),
    ReasonCode.SELECTED: Remedy(),
    ReasonCode.TAKEN_IN: Remedy(),
    ReasonCode.SET_ASIDE: Remedy(),
    ReasonCode.ADOPTED: Remedy(),
    ReasonCode.PREEMPTED: Remedy(
        notify=True,
        text=(
            "Nothing: the job keeps its place and starts again automatically, with a CheckpointConfig from its last "
            "checkpoint, otherwise from the beginning. A higher priority (`headway priority`) protects it."
        ),
    ),
    ReasonCode.RECLAIMED: Remedy(
        notify=True,
        text=(
            "Nothing: the job keeps its place and starts again automatically, from its last checkpoint if it has a "
            "CheckpointConfig. It ran on instances that are guaranteed to another team."
        ),
    ),
    ReasonCode.RETURNED_TO_LINE: Remedy(),
    ReasonCode.WARM_POOL_RELEASED: Remedy(),
    ReasonCode.PRIORITY_CHANGED: Remedy(),
    ReasonCode.CHANGED: Remedy(),
    ReasonCode.HELD: Remedy(),
    ReasonCode.RELEASED: Remedy(),
    ReasonCode.DEPENDENCY_ENDED: Remedy(),
    ReasonCode.TIME_CAME: Remedy(),
    ReasonCode.NOT_REUSED: Remedy(),
    ReasonCode.STOP_REQUESTED: Remedy(),
    ReasonCode.BREAKS_RULES: Remedy(
        notify=True,
        text=(
            "Change the request as the reason describes before you submit such a job again; `headway policy test` "
            "checks a request."
        ),
    ),
    ReasonCode.UNDERUSED: Remedy(
        notify=True,
        text=(
            "Check the job's utilization and log in CloudWatch (/aws/sagemaker/TrainingJobs). Stop a job that hangs "
            "(`headway stop`); a job that waits for its data may need fewer or smaller instances."
        ),
    ),
    ReasonCode.WORSE_THAN_MEDIAN: Remedy(
        text="Nothing: the array asks for early stopping. What the member has written is in its output path.",
    ),
    ReasonCode.INTERRUPTED: Remedy(
        notify=True,
        text=(
            "Nothing: the job continues automatically, from its last checkpoint if it has a CheckpointConfig. Without "
            "one, each interruption restarts it from the beginning: add one before you submit it again."
        ),
    ),
    ReasonCode.POOL_SHRANK: Remedy(
        notify=True,
        text=(
            "Nothing: the job keeps its place and starts again automatically, from its last checkpoint if it has a "
            "CheckpointConfig. Without one, give it a limit (MaxRuntimeInSeconds) that ends before the pool shrinks."
        ),
    ),
    ReasonCode.NO_INSTANCES: Remedy(
        notify=True,
        text=(
            "Nothing: the job keeps its place and is retried. If it repeats, have an operator compare the pool's size "
            "with what SageMaker provides, or use another instance type."
        ),
    ),
    ReasonCode.COMPLETED: Remedy(),
    ReasonCode.REUSED: Remedy(),
    ReasonCode.FAILED: Remedy(
        notify=True,
        text=(
            "Check the training job's log in CloudWatch (/aws/sagemaker/TrainingJobs), fix the cause, and submit the "
            "job under a new name."
        ),
    ),
    ReasonCode.RETRIED: Remedy(
        notify=True,
        text=(
            "Nothing: the job is retried automatically, from its last checkpoint if it has a CheckpointConfig. If it "
            "will fail again, stop it (`headway stop`)."
        ),
    ),
    ReasonCode.STOPPED: Remedy(
        text=(
            "Nothing if the stop was intended. Otherwise submit the job under a new name; one that reached its own "
            "time limit needs a higher limit."
        ),
    ),
    ReasonCode.STOPPED_BY_POLICY: Remedy(
        notify=True,
        text=(
            "Fix what the reason describes, and submit the job under a new name. Its files are in its output and "
            "checkpoint paths."
        ),
    ),
    ReasonCode.STOPPED_EARLY: Remedy(
        text=(
            "Nothing: the array asks for early stopping. To train the member to its end, submit a job with its values "
            "under a new name."
        ),
    ),
    ReasonCode.REQUEUED: Remedy(
        notify=True,
        text=(
            "Nothing if the cause is temporary: the job waits and starts again, from its last checkpoint if it has a "
            "CheckpointConfig. Otherwise stop it (`headway stop`) and fix the cause."
        ),
    ),
    ReasonCode.ON_DEMAND: Remedy(
        notify=True,
        text=(
            "Nothing: the job continues on on-demand instances, from its last checkpoint if it has a "
            "CheckpointConfig. On-demand instances cost more than spot instances; to avoid that, stop it (`headway "
            "stop`)."
        ),
    ),
    ReasonCode.STOPPED_OUTSIDE: Remedy(
        notify=True,
        text=(
            "The training job was stopped outside the queue; CloudTrail shows by whom (StopTrainingJob). If this was "
            "a mistake, submit the job under a new name. To stop a job, use `headway stop`."
        ),
    ),
    ReasonCode.DEPENDENCY_UNMET: Remedy(
        notify=True,
        text=(
            "Find out why the other job ended as it did (`headway show`). Submit it under a new name, and this job "
            "after it."
        ),
    ),
    ReasonCode.EXPIRED: Remedy(
        notify=True,
        text=(
            "Submit it under a new name with a later time, a higher priority or a request for less; `headway submit "
            "--dry-run` tells when it would start."
        ),
    ),
    ReasonCode.LAUNCH_POSTPONED: Remedy(
        text=(
            "Nothing if it happens once: the job is tried again automatically. If it repeats, `headway why` has AWS's "
            "answer, and who can change that; meanwhile no other job waits for it."
        ),
    ),
    ReasonCode.LAUNCH_REFUSED: Remedy(
        notify=True,
        text=("Correct the request as the reason describes, and submit it under a new name."),
    ),
    ReasonCode.NAME_TAKEN: Remedy(
        text=("Nothing: the next attempt uses another training job name."),
    ),
    ReasonCode.VANISHED: Remedy(
        notify=True,
        text=(
            "The training job was deleted; CloudTrail shows by whom (DeleteTrainingJob). Check its output path for "
            "its files, and submit the job under a new name if it is still needed."
        ),
    ),
    ReasonCode.OUTSIDE: Remedy(
        notify=True,
        text=("Submit training jobs to the queue (`headway submit`), which starts them by rank."),
    ),
    ReasonCode.OUTSIDE_BREAKS_RULES: Remedy(
        notify=True,
        text=(
            "Change the request as the reason describes, and submit such jobs to the queue (`headway submit`), which "
            "starts them by rank."
        ),
    ),
    ReasonCode.OUTSIDE_STOPPED: Remedy(
        notify=True,
        text=(
            "Submit it to the queue (`headway submit`) under a new name, changed as the reason describes. Its files "
            "are in its output and checkpoint paths."
        ),
    ),
    ReasonCode.OUTSIDE_NOT_STOPPED: Remedy(
        notify=True,
        text=("Stop it yourself (`aws sagemaker stop-training-job`), and fix what prevented the stop."),
    ),
    ReasonCode.OUTSIDE_GONE: Remedy(),
    ReasonCode.WEEKLY_DIGEST: Remedy(),
    ReasonCode.OPERATOR_ACTION: Remedy(),
}
"""What to do about each change of a job or of a rogue training job."""

NOTIFIED_BY_DEFAULT = tuple(sorted(code for code, remedy in REMEDIES.items() if remedy.notify))
"""The reasons that are sent as messages unless the policy sets others."""


def remedy_for(code: ReasonCode) -> str | None:
    """What to do about a change for this reason; None if there is nothing to do."""
    remedy = REMEDIES.get(code)
    return remedy.text or None if remedy else None
