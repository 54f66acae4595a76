"""What SageMaker answers to launches that it refuses for a reason which the fake SageMaker does not know.

Sources: the first sentence of an exceeded quota is that of instances (`service_facts.quota_exceeded`), with the names
that Service Quotas shows; denials are worded as in the IAM user guide, "Troubleshoot access denied error messages"; the
violation of a constraint as botocore's service model has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_sandbox.errors import AwsError

LONGEST_RUN_S = 432_000
"""The default of the quota "Longest run time for a training job", s."""

MODEL_RUN_S = 2_419_200
"""No request may have a longer MaxRuntimeInSeconds (API reference, StoppingCondition), s."""

_ROLE = "arn:aws:sts::123456789012:assumed-role/headway-schedule/headway-schedule"
_ON_ANY = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/*"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An error in answer to launches.

    Attributes:
        jobs: the jobs whose launches it answers; empty: those of all jobs.
        longer_than_s: it answers only launches with a longer MaxRuntimeInSeconds.
        times: how many launches it answers; None: all.
    """

    code: str
    message: str
    status: int = 400
    jobs: frozenset[str] = frozenset()
    longer_than_s: int = 0
    times: int | None = None

    def fits(self, job: str, request: Mapping[str, Any]) -> bool:
        """Whether it answers a launch.

        Args:
            job: the job that is launched.
            request: the CreateTrainingJob request.
        """
        runs_s = request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400)
        return (not self.jobs or job in self.jobs) and runs_s > self.longer_than_s

    @property
    def error(self) -> AwsError:
        """The error."""
        return AwsError(self.code, self.message, status=self.status)


def _quota(limit: str, size: int, used: int, wanted: int, unit: str, *jobs: str, longer_than_s: int = 0) -> Answer:
    return Answer(
        code="ResourceLimitExceeded",
        message=f"The account-level service limit '{limit}' is {size} {unit}, with current utilization of {used} "
        f"{unit} and a request delta of {wanted} {unit}. Please use AWS Service Quotas to request an increase for this "
        "quota.",
        jobs=frozenset(jobs),
        longer_than_s=longer_than_s,
    )


def volume_over_quota(job: str) -> Answer:
    """A job's volumes are larger than a quota."""
    return _quota("Size of EBS volume for an instance", 1024, 0, 2048, "Gigabytes", job)


def runs_too_long(longest_s: int = LONGEST_RUN_S) -> Answer:
    """Jobs may not run for so long in this account."""
    return _quota("Longest run time for a training job", longest_s, 0, 864_000, "Seconds", longer_than_s=longest_s)


def debugger_over_quota(job: str) -> Answer:
    """A job's debugger rule needs a processing job, of which the account has as many as it may."""
    return _quota("Number of instances across all processing jobs", 4, 4, 1, "Instances", job)


def denied_by_policy(job: str) -> Answer:
    """A service control policy denies what is special about a job."""
    return Answer(
        code="AccessDeniedException",
        message=f"User: {_ROLE} is not authorized to perform: sagemaker:CreateTrainingJob on resource: {_ON_ANY} with "
        "an explicit deny in a service control policy",
        jobs=frozenset({job}),
    )


def denied_grant(job: str) -> Answer:
    """The scheduler may not let SageMaker use the key of a job's volumes."""
    return Answer(
        code="AccessDeniedException",
        message=f"User: {_ROLE} is not authorized to perform: kms:CreateGrant on resource: "
        "arn:aws:kms:eu-west-1:123456789012:key/1234abcd because no resource-based policy allows the kms:CreateGrant "
        "action",
        jobs=frozenset({job}),
    )


def too_long_for_sagemaker() -> Answer:
    """A request has a MaxRuntimeInSeconds that SageMaker's model does not allow."""
    return Answer(
        code="ValidationException",
        message="1 validation error detected: Value at 'stoppingCondition.maxRuntimeInSeconds' failed to satisfy "
        f"constraint: Member must have value less than or equal to {MODEL_RUN_S}",
        longer_than_s=MODEL_RUN_S,
    )


def unanswered(*jobs: str, times: int | None = None) -> Answer:
    """SageMaker fails without saying why.

    Args:
        jobs: the jobs whose launches fail; none: those of all jobs.
        times: how many launches fail; None: all.
    """
    return Answer(
        code="InternalFailure",
        message="The request processing has failed because of an unknown error, exception or failure.",
        status=500,
        jobs=frozenset(jobs),
        times=times,
    )
