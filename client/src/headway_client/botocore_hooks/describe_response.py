"""Responses of DescribeTrainingJob for jobs of the queue.

The members that the SageMaker SDKs require were measured on SDK 2.208 and 2.257: StatusMessage on each transition,
LastModifiedTime, ResourceConfig, and OutputDataConfig.KmsKeyId.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from headway_client.botocore_hooks.arns import arn_of
from headway_client.models import Attempt, Job, JobDetails

# States to TrainingJobStatus and SecondaryStatus (values of the service model, botocore's sagemaker/2017-07-24).
_STATUSES = {
    "pending": ("InProgress", "Pending"),
    "preempted": ("InProgress", "Pending"),
    "running": ("InProgress", "Starting"),
    "stopping": ("Stopping", "Stopping"),
    "completed": ("Completed", "Completed"),
    "failed": ("Failed", "Failed"),
    "stopped": ("Stopped", "Stopped"),
}
_GONE = "Deleting"
"""The status that the queue records of an attempt whose training job SageMaker no longer has."""
_DEFAULT_STOPPING_CONDITION = {"MaxRuntimeInSeconds": 86_400}
"""SageMaker's default (source: API reference, StoppingCondition: 1 day)."""


def status(job: Job) -> str:
    """Return a job's TrainingJobStatus. Between attempts it is InProgress, so that waiters continue."""
    return _statuses(job)[0]


def shown_attempt(details: JobDetails) -> Attempt | None:
    """Return the attempt whose training job represents the job, or None if there is none.

    It is the live attempt or, for an ended job, the last one that the queue has observed at SageMaker, if SageMaker
    still had it then.
    """
    known = [attempt for attempt in details.attempts if attempt.status is not None]
    if details.job.has_ended:
        last = max(known, key=lambda attempt: attempt.number, default=None)
        return None if last is None or last.status == _GONE else last
    return next((attempt for attempt in known if attempt.name == details.job.live_attempt), None)


def describe(details: JobDetails, *, region: str, members: Collection[str]) -> dict[str, Any]:
    """Return a DescribeTrainingJob document for a job that no training job represents.

    Args:
        details: the job.
        region: the region in the ARN.
        members: the document's members in the client's service model.
    """
    job, request = details.job, details.request
    found, secondary = _statuses(job)
    changed = _changed_time(details)
    document: dict[str, Any] = {name: value for name, value in request.items() if name in members}
    document |= {
        "TrainingJobName": job.name,
        "TrainingJobArn": arn_of(request, region, job.name),
        "TrainingJobStatus": found,
        "SecondaryStatus": secondary,
        "ModelArtifacts": {"S3ModelArtifacts": _reused_model(details)},
        "OutputDataConfig": {"KmsKeyId": "", **request.get("OutputDataConfig", {})},
        "ResourceConfig": request.get("ResourceConfig", {}),
        "StoppingCondition": request.get("StoppingCondition", _DEFAULT_STOPPING_CONDITION),
        "CreationTime": datetime.fromisoformat(job.entry_time),
        "LastModifiedTime": changed,
        "SecondaryStatusTransitions": [
            {"Status": secondary, "StartTime": changed, "StatusMessage": status_message(job) + _withheld(details)}
        ],
    }
    if job.state == "failed":
        document["FailureReason"] = job.reason.message
    if job.ended_time is not None:
        document["TrainingEndTime"] = datetime.fromisoformat(job.ended_time)
        document["SecondaryStatusTransitions"][0]["EndTime"] = document["TrainingEndTime"]
    return document


def _reused_model(details: JobDetails) -> str:
    """Return the model of the equal job whose outputs a job has, where SageMaker puts it; empty for other jobs.

    The equal job has the same OutputDataConfig. The place of an uncompressed model is not documented.
    """
    config = details.request.get("OutputDataConfig", {})
    if details.reused_attempt is None or config.get("CompressionType") == "NONE":
        return ""
    return f"{str(config.get('S3OutputPath', '')).rstrip('/')}/{details.reused_attempt}/output/model.tar.gz"


def rename_to_job(document: dict[str, Any], details: JobDetails) -> None:
    """Change SageMaker's document of an attempt into one of its job.

    The status is corrected so that waiters neither take the end of a preempted attempt for the job's end, nor miss the
    job's end.

    Args:
        document: SageMaker's document, which is changed in place.
        details: the job.
    """
    job = details.job
    document["TrainingJobName"] = job.name
    found = document.get("TrainingJobStatus")
    wanted, secondary = _statuses(job)
    # A completed attempt completes its job, even if the queue has not observed it yet. What follows any other end is
    # the queue's decision: a stop may be a preemption.
    continues = not job.has_ended and found not in {wanted, "InProgress", "Completed"}
    if continues or (job.has_ended and (found != wanted or _is_of_earlier_attempt(details))):
        document["TrainingJobStatus"] = wanted
        document["SecondaryStatus"] = secondary
        document.pop("FailureReason", None)
        if continues:
            document.pop("TrainingEndTime", None)
        if wanted == "Failed":
            document["FailureReason"] = job.reason.message
        message = status_message(job)
        if continues and job.state == "running":
            # The queue has yet to process this end: its reason is still that of the start.
            message = f"Headway: training job {details.live_attempt} is {found}; the queue has not processed this yet"
        transition = {"Status": secondary, "StartTime": _changed_time(details), "StatusMessage": message}
        document["SecondaryStatusTransitions"] = [
            *document.get("SecondaryStatusTransitions", []),
            transition,
        ]


def _is_of_earlier_attempt(details: JobDetails) -> bool:
    """Return whether another attempt than the last represents the job: SageMaker may have refused to launch that."""
    shown = shown_attempt(details)
    return shown is not None and shown.number < max(attempt.number for attempt in details.attempts)


def status_message(job: Job) -> str:
    """Return the StatusMessage of a job, which the SDKs print while they wait."""
    place = f" (place {job.place} in the queue)" if job.place is not None else ""
    preempted = " preempted, waits for its next turn:" if job.state == "preempted" else ""
    return f"Headway{place}:{preempted} {job.reason.message}"


def _withheld(details: JobDetails) -> str:
    """Return a note on withheld members, for which SageMaker's document has no member of its own."""
    return f" ({' and '.join(details.withheld)} withheld from you)" if details.withheld else ""


def merge_transitions(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the transitions of a job over all attempts.

    SageMaker's list starts empty with each attempt. SDK 2 prints the transitions beyond the number that it has printed
    before (``utils.secondary_training_status_message``): with a shorter list it would print nothing, and not report the
    preemption. Hence the list never becomes shorter.

    Args:
        before: the transitions of the previous response.
        now: SageMaker's current transitions.
    """
    current = {_identity(transition): dict(transition) for transition in now}
    # SageMaker's last transition is the current status and stays last, even if it was known before others.
    last = [_identity(transition) for transition in now[-1:]]
    kept = [current.pop(_identity(old), dict(old)) for old in before if _identity(old) not in last]
    return [*kept, *current.values()]


def _identity(transition: Mapping[str, Any]) -> tuple[object, object]:
    return transition.get("Status"), transition.get("StartTime")


def _statuses(job: Job) -> tuple[str, str]:
    return _STATUSES.get(job.state, ("InProgress", "Pending"))


def _changed_time(details: JobDetails) -> datetime:
    times = [entry.time for entry in details.history] or [details.job.entry_time]
    return max(datetime.fromisoformat(time) for time in times)
