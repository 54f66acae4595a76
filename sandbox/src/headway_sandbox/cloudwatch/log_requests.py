"""CloudWatch Logs' validation of requests.

Sources: "model" is botocore's service model of CloudWatch Logs with its documentation strings, "quotas" the CloudWatch
Logs user guide, "CloudWatch Logs quotas"; "seen" marks wording that users quote from the service.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.api import request_validation
from headway_sandbox.sagemaker.token_bucket import Rate

# Quotas: calls per second and account in most regions, not adjustable; the burst is not documented.
RATES: Mapping[str, Rate] = {
    "DescribeLogStreams": Rate(per_s=25, burst=25),
    "GetLogEvents": Rate(per_s=25, burst=25),
}
# Model, PutLogEvents: the messages in UTF-8, and 26 bytes for each event.
_BATCH_BYTES_MAX, _EVENT_OVERHEAD_BYTES = 1_048_576, 26
_DAY_MS = 86_400_000


def check(operation: str, request: Mapping[str, Any]) -> None:
    """Validate a request. Rules between members are checked only for operations named here.

    Args:
        request: Its members.

    Raises:
        AwsError: CloudWatch Logs' error response.
    """
    wrong = request_validation.violations("logs", operation, request)
    if wrong is not None:
        raise _invalid(wrong)
    if operation in {"DescribeLogStreams", "GetLogEvents"} and (
        ("logGroupName" in request) == ("logGroupIdentifier" in request)
    ):  # model; the wording is ours
        raise _invalid("Either logGroupName or logGroupIdentifier has to be given, and not both.")
    if (
        operation == "DescribeLogStreams"
        and request.get("orderBy") == "LastEventTime"
        and request.get("logStreamNamePrefix")
    ):  # seen verbatim
        raise _invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    if operation == "PutLogEvents":
        _check_batch(request["logEvents"])


def throttled() -> AwsError:
    """Return the throttling error common to AWS's JSON services; botocore's standard retry mode retries it."""
    return AwsError("ThrottlingException", "Rate exceeded")


def bad_token() -> AwsError:
    """Return the error for an unknown nextToken (seen verbatim)."""
    return _invalid("The specified nextToken is invalid.")


def _check_batch(events: list[Mapping[str, Any]]) -> None:
    times = [event["timestamp"] for event in events]
    if any(later < earlier for earlier, later in itertools.pairwise(times)):  # seen verbatim
        raise _invalid("Log events in a single PutLogEvents request must be in chronological order.")
    if times[-1] - times[0] > _DAY_MS:  # seen verbatim
        raise _invalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
    size = sum(len(event["message"].encode()) + _EVENT_OVERHEAD_BYTES for event in events)
    if size > _BATCH_BYTES_MAX:  # seen: "Upload too large: 1048600 bytes exceeds limit of 1048576"
        raise _invalid(f"Upload too large: {size} bytes exceeds limit of {_BATCH_BYTES_MAX}")


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterException", message)
