"""The kind of a training job's failure, by SageMaker's failure reason.

Every text that is known stands in one table, with where it is from. A failure is worth another try if it was nobody's
fault; one of the user's code or request would only happen again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FailureKind(StrEnum):
    """Why a training job failed."""

    #: SageMaker's own fault.
    SERVICE = "service"
    #: There were no instances of the type.
    CAPACITY = "capacity"
    #: The training code.
    CODE = "code"
    #: The request, or what it points to: a bucket, an image, a role.
    REQUEST = "request"
    #: It ran into a limit of its own.
    TIME = "time"
    #: Nothing that is known. It is treated as the user's, as a retry might burn instances for nothing.
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sign:
    """How a kind of failure is known.

    Attributes:
        kind: the kind.
        reason: what FailureReason begins with.
        source: where the text is from.
    """

    kind: FailureKind
    reason: str
    source: str


SIGNS = (
    Sign(
        kind=FailureKind.CAPACITY,
        reason="CapacityError",
        source='"CapacityError: Unable to provision requested ML compute capacity" (troubleshooting of training jobs)',
    ),
    Sign(
        kind=FailureKind.CAPACITY,
        reason="InsufficientCapacityError",
        source="InsufficientCapacityError after two days without capacity (guide, training plans for training jobs)",
    ),
    Sign(
        kind=FailureKind.SERVICE,
        reason="InternalServerError",
        source='"InternalServerError: We encountered an internal error." (API reference, RetryStrategy)',
    ),
    Sign(
        kind=FailureKind.CODE,
        reason="AlgorithmError",
        source='"AlgorithmError: ExecuteUserScriptError: ..." (DescribeTrainingJob, FailureReason; training toolkit)',
    ),
    Sign(
        kind=FailureKind.REQUEST,
        reason="ClientError",
        source='"ClientError: Data download failed: ..." (troubleshooting of training jobs)',
    ),
)
"""The kinds of failure that the beginning of FailureReason determines."""

LIMITS = {"MaxRuntimeExceeded": "MaxRuntimeInSeconds", "MaxWaitTimeExceeded": "MaxWaitTimeInSeconds"}
"""Secondary statuses of training jobs that SageMaker ended by itself, and the limit they ran into (service model)."""


def failure_kind(secondary_status: str, failure_reason: str | None) -> FailureKind:
    """The kind of a failure.

    Args:
        secondary_status: SecondaryStatus at the end.
        failure_reason: FailureReason, if there is one.
    """
    if secondary_status in LIMITS:
        return FailureKind.TIME
    text = (failure_reason or "").lstrip()
    return next((sign.kind for sign in SIGNS if text.startswith(sign.reason)), FailureKind.UNKNOWN)
