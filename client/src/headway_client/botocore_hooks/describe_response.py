"""A job of the queue in the shape of SageMaker's DescribeTrainingJob, for clients that know nothing else.

What the SageMaker SDKs need of such a document was measured on SDK 2.208 and 2.257: StatusMessage on each
transition, LastModifiedTime, ResourceConfig, and OutputDataConfig.KmsKeyId.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

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
_DEFAULT_STOPPING_CONDITION = {"MaxRuntimeInSeconds": 86_400}
"""What SageMaker takes if a request says nothing (source: API reference, StoppingCondition: 1 day)."""


def arn(request: Mapping[str, Any], region: str, name: str) -> str:
    """Return the ARN of the training job `name`.

    The account and the partition are those of the request's role: SageMaker takes a role of its own account only
    (source: API reference, CreateTrainingJob, RoleArn with iam:PassRole).
    """
    parts = str(request.get("RoleArn", "")).split(":")
    partition, account = (parts[1], parts[4]) if len(parts) > 5 else ("aws", "")
    return f"arn:{partition}:sagemaker:{region}:{account}:training-job/{name}"


def status(job: Job) -> str:
    """Return a job's TrainingJobStatus. Between attempts it is InProgress: a client that waits goes on waiting."""
    return _statuses(job)[0]


def shown_attempt(details: JobDetails) -> Attempt | None:
    """Return the attempt that SageMaker's own DescribeTrainingJob is to be asked for, if there is one.

    It is the live one or, for a job that has ended, the last one; but only if SageMaker has been seen to know it.
    """
    known = [attempt for attempt in details.attempts if attempt.status is not None]
    if details.job.has_ended:
        return max(known, key=lambda attempt: attempt.number, default=None)
    return next((attempt for attempt in known if attempt.name == details.job.live_attempt), None)


def describe(details: JobDetails, *, region: str, members: Collection[str]) -> dict[str, Any]:
    """Return a DescribeTrainingJob document for a job of which no training job is to be shown.

    Args:
        details: the job.
        region: the region that the ARN names.
        members: the names that the client's service model knows in such a document.
    """
    job, request = details.job, details.request
    found, secondary = _statuses(job)
    changed = _changed_time(details)
    document: dict[str, Any] = {name: value for name, value in request.items() if name in members}
    document |= {
        "TrainingJobName": job.name,
        "TrainingJobArn": arn(request, region, job.name),
        "TrainingJobStatus": found,
        "SecondaryStatus": secondary,
        "ModelArtifacts": {"S3ModelArtifacts": ""},
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


def rename_to_job(document: dict[str, Any], details: JobDetails) -> None:
    """Change SageMaker's own document on an attempt into one on its job.

    A client that waits must not take a preempted attempt for the job's end, nor the other way round.
    """
    job = details.job
    document["TrainingJobName"] = job.name
    found = document.get("TrainingJobStatus")
    wanted, secondary = _statuses(job)
    # A completed attempt completes its job, even if the queue has not heard of it yet.
    goes_on = wanted == "InProgress" and found not in {"InProgress", "Completed"}
    if goes_on or (job.has_ended and found != wanted):
        document["TrainingJobStatus"] = wanted
        document["SecondaryStatus"] = secondary
        document.pop("FailureReason", None)
        if wanted == "Failed":
            document["FailureReason"] = job.reason.message
        transition = {"Status": secondary, "StartTime": _changed_time(details), "StatusMessage": status_message(job)}
        document["SecondaryStatusTransitions"] = [
            *document.get("SecondaryStatusTransitions", []),
            transition,
        ]


def status_message(job: Job) -> str:
    """Return a sentence on where the job stands, as the SDKs print it while they wait."""
    place = f" (place {job.place} in the queue)" if job.place is not None else ""
    preempted = " preempted, waits for its next turn:" if job.state == "preempted" else ""
    return f"Headway{place}:{preempted} {job.reason.message}"


def _withheld(details: JobDetails) -> str:
    """SageMaker's document has no other place to say that something was left out."""
    return f" ({' and '.join(details.withheld)} withheld from you)" if details.withheld else ""


def merge_transitions(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the transitions that a client is to see next, in place of those that it has seen before.

    SageMaker's list begins anew with each attempt. SDK 2 prints what is at the end of the list beyond the number of
    those it printed before, so a list that became shorter would have it print nothing, and a preemption would go untold
    (its ``utils.secondary_training_status_message``). Hence the list only grows.
    """
    news = {_identity(transition): dict(transition) for transition in now}
    # One that is last now is what the status is, even if it was seen before others.
    last = [_identity(transition) for transition in now[-1:]]
    kept = [news.pop(_identity(old), dict(old)) for old in before if _identity(old) not in last]
    return [*kept, *news.values()]


def _identity(transition: Mapping[str, Any]) -> tuple[object, object]:
    return transition.get("Status"), transition.get("StartTime")


def _statuses(job: Job) -> tuple[str, str]:
    return _STATUSES.get(job.state, ("InProgress", "Pending"))


def _changed_time(details: JobDetails) -> datetime:
    times = [entry.time for entry in details.history] or [details.job.entry_time]
    return max(datetime.fromisoformat(time) for time in times)
