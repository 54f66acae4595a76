"""SageMaker's error messages, status messages, limits and defaults.

Sources: "model" is botocore's service model of SageMaker (version 2017-07-24) with its documentation strings; "seen"
marks wording that users quote from the service in public issue threads; "guide" is the SageMaker developer guide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.token_bucket import Rate

IN_PROGRESS, COMPLETED, FAILED, STOPPING, STOPPED = "InProgress", "Completed", "Failed", "Stopping", "Stopped"
ENDED = frozenset({COMPLETED, FAILED, STOPPED})  # model: a job can be deleted in these states only

# StoppingCondition.MaxRuntimeInSeconds when none is given (model: "The default value is 1 day").
DEFAULT_MAX_RUNTIME_S = 86_400
# StoppingCondition.MaxRuntimeInSeconds (model: "The maximum value is 28 days").
LONGEST_RUN_S = 28 * 86_400
# StopTrainingJob: SIGTERM, then 120 seconds, then the end (model).
STOP_GRACE_S = 120.0
# Reported for ListTrainingJobs: about 2 calls per second and account, not adjustable; the burst is not documented.
RATES: Mapping[str, Rate] = {"ListTrainingJobs": Rate(per_s=2, burst=10)}
LONGEST_RUN = "Longest run time for a training job"
LARGEST_JOB = "Maximum number of instances per training job"
ALL_TRAINING = "Number of instances across all training jobs"
ALL_SPOT_TRAINING = "Number of instances across all spot training jobs"
ALL_PROCESSING = "Number of instances across all processing jobs"
QUOTA_UNITS: Mapping[str, str] = {
    LONGEST_RUN: "Seconds",
    LARGEST_JOB: "Instances",
    ALL_TRAINING: "Instances",
    ALL_SPOT_TRAINING: "Instances",
    ALL_PROCESSING: "Instances",
}
"""The account's quotas that are not of one instance type, and what they count. Source: AWS General Reference, "Amazon
SageMaker endpoints and quotas". A new account has 432,000 s, 20 and 4 instances (the same, and the guide's page of
training limits)."""
LIST_DEFAULT_RESULTS = 10  # ListTrainingJobs.MaxResults (model: default 10, at most 100)
TAGS_MAX = 50  # model: TagList

# SecondaryStatusTransitions[].StatusMessage (guide and model, DescribeTrainingJob).
MESSAGES: Mapping[str, str] = {
    "Starting": "Starting the training job",
    "Pending": "Preparing the instances for training",
    "Downloading": "Downloading the training image",
    "Training": "Training image download completed. Training in progress.",
    "Uploading": "Uploading generated training model",
    "Interrupted": "Spot instances were interrupted",
    "Restarting": "Restarting the training job",
    "Stopping": "Stopping the training job",
    "Completed": "Training job completed",
    "Stopped": "Training job stopped",
    "MaxRuntimeExceeded": "Training job runtime exceeded MaxRuntimeInSeconds provided",
    "MaxWaitTimeExceeded": "Training job exceeded MaxWaitTimeInSeconds provided",
}

ACCELERATED = ("ml.p", "ml.g", "ml.trn")
"""Types that MaxPendingTimeInSeconds has an effect on (API reference, StoppingCondition)."""
CAPACITY_RETRY_S = 60.0
"""How often the sandbox looks for instances for a pending job, s. AWS does not document it."""
PLAN_ENDED = "Sandbox: the instances of the training plan go 30 minutes before the end of its reserved capacity."
PENDING_EXPIRED = "Sandbox: there were no instances within MaxPendingTimeInSeconds."
# Seen; the full second sentence is "Please retry using a different ML instance type or after some time."
CAPACITY_ERROR = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)


def validation(message: str) -> AwsError:
    """Return a ValidationException."""
    return AwsError("ValidationException", message)


def not_found() -> AwsError:
    """Return the error for an unknown job: ValidationException (seen), although the model declares ResourceNotFound."""
    return validation("Requested resource not found.")


def name_in_use(arn: str) -> AwsError:
    """Return the error for a name in use (seen verbatim), also after the job has ended (model, DeleteTrainingJob)."""
    return AwsError(
        "ResourceInUse",
        "Training job names must be unique within an AWS account and region, "
        f"and a training job with this name already exists ({arn})",
    )


def repeated_create(arn: str, code: str) -> AwsError:
    """Return the error for a create with a name in use.

    Args:
        arn: ARN of the existing job.
        code: Replaces ResourceInUse, as another check may come first; empty: ResourceInUse.
    """
    if not code:
        return name_in_use(arn)
    return AwsError(code, f"The sandbox's switch repeated_create sets this answer for {arn}.")


def not_stoppable(status: str) -> AwsError:
    """Return the error for a stop of an ended job (seen), or of a Stopping one (assumed, the harder case)."""
    return validation(f"The request was rejected because the training job is in status {status}.")


def not_deletable(name: str, status: str) -> AwsError:
    """Return the error for a delete of a job that has not ended (model: ResourceInUse; the wording is ours).

    Args:
        name: the name of the training job.
    """
    return AwsError("ResourceInUse", f"Training job {name} is in status {status} and cannot be deleted.")


def unknown_operation(service: str, operation: str, known: Iterable[str]) -> AwsError:
    """Return the error for an unsupported operation.

    Args:
        service: Name of the service.
        known: The supported operations.
    """
    return AwsError(
        "UnknownOperationException",
        f"The sandbox's {service} has no {operation}. It has {', '.join(sorted(known))}.",
    )


def quota_exceeded(*, limit: str, size: int, in_use: int, wanted: int, unit: str = "Instances") -> AwsError:
    """Return the error for an exceeded quota.

    Seen for training jobs, spot training jobs and "Number of instances across all processing jobs" (issues
    data-science-on-aws/data-science-on-aws#200, gabehollombe-aws/jupyter-notebooks#1 and
    aws/amazon-sagemaker-examples#1543, with a utilization above the limit). The first sentence is always the same.
    Until about 2021 the second was "Please contact AWS support to request an increase for this limit." Other units are
    seen for pipelines and trial components ("is 50 Trial Components, ..."); for seconds the unit is assumed.

    Args:
        limit: Name of the quota.
        size: The quota.
        in_use: What is used of it.
        wanted: What the request would use in addition.
        unit: What the quota counts.
    """
    return AwsError(
        "ResourceLimitExceeded",
        f"The account-level service limit '{limit}' is {size} {unit}, with current utilization of "
        f"{in_use} {unit} and a request delta of {wanted} {unit}. Please use AWS Service Quotas to "
        "request an increase for this quota. If AWS Service Quotas is not available, contact AWS support to "
        "request an increase for this quota.",
    )


def type_not_available(kind: str) -> AwsError:
    """Return the error for a type that the region does not have (seen: issue aws/amazon-sagemaker-examples#1001).

    A type that the service does not know at all is a ValidationException.
    """
    return AwsError(
        "ResourceLimitExceeded", f"The requested resource training-job/{kind} is not available in this region"
    )


def throttled() -> AwsError:
    """Return the throttling error common to AWS's JSON services; botocore's standard retry mode retries it."""
    return AwsError("ThrottlingException", "Rate exceeded")


def answer_lost() -> AwsError:
    """Return the error for a call that took effect but whose response is lost: an HTTP 500."""
    return AwsError("InternalFailure", "The request processing has failed because of an unknown error.", status=500)


def role_not_assumable(role_arn: str) -> AwsError:
    """Return the error for a role that does not exist or does not trust SageMaker (seen)."""
    return validation(
        f"Could not assume role {role_arn}. Please ensure that the role exists and allows principal "
        "'sagemaker.amazonaws.com' to assume the role."
    )
