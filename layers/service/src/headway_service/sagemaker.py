"""SageMaker's training jobs through boto3, with its answers as typed errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from headway_service.admission import ATTEMPT_TAG
from headway_service.errors import LaunchPostponed, LaunchRefused, NameTaken, Throttled, TrainingJobEnded, Unclear
from headway_service.ports import Sighting

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient

# Declared by CreateTrainingJob (service model), or common to all operations (API reference, Common Errors).
_NAME_TAKEN = {"ResourceInUse"}
_POSTPONED = {"ResourceLimitExceeded", "OptInRequired"}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
_THROTTLED = {"ThrottlingException", "Throttling", "TooManyRequestsException"}
_UNCLEAR = {
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "RequestExpired",
    "ExpiredTokenException",
}


class SageMakerTrainingJobs:
    """:class:`headway_service.ports.TrainingJobs` on SageMaker."""

    def __init__(self, client: SageMakerClient) -> None:
        self._client = client

    def create(self, request: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        try:
            self._client.create_training_job(**request)
        except ClientError as error:
            code, message = _code(error), error.response["Error"]["Message"]
            if code in _NAME_TAKEN:
                raise NameTaken(code, message) from error
            if code in _POSTPONED:
                raise LaunchPostponed(code, message) from error
            if code in _DENIED and "iam:PassRole" not in message:
                # The queue itself lacks a permission. That is for an operator to mend and no fault of the job.
                raise LaunchPostponed(code, message) from error
            if code in _THROTTLED:
                raise Throttled(code) from error
            if code in _UNCLEAR:
                raise Unclear(code) from error
            raise LaunchRefused(code, message) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error

    def stop(self, name: str) -> None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        try:
            self._client.stop_training_job(TrainingJobName=name)
        except ClientError as error:
            # An ended job and an unknown one are both refused, as ValidationException or ResourceNotFound.
            if _code(error) in {"ValidationException", "ResourceNotFound"}:
                raise TrainingJobEnded(_text(error)) from error
            raise Unclear(_text(error)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error

    def describe(self, name: str) -> Sighting | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        try:
            answer = self._client.describe_training_job(TrainingJobName=name)
        except ClientError as error:
            # The model declares ResourceNotFound; the service says ValidationException "Requested resource not found."
            if _code(error) in {"ValidationException", "ResourceNotFound"}:
                return None
            raise Unclear(_text(error)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error
        modified = answer.get("LastModifiedTime", answer["CreationTime"])
        return Sighting(
            attempt=name,
            status=answer["TrainingJobStatus"],
            secondary_status=answer.get("SecondaryStatus", ""),
            modified_ms=int(modified.timestamp() * 1000),
            arn=answer["TrainingJobArn"],
            failure_reason=answer.get("FailureReason"),
        )

    def mark_of(self, arn: str) -> str | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        try:
            pages = self._client.get_paginator("list_tags").paginate(ResourceArn=arn)
            tags = [tag for page in pages for tag in page["Tags"]]
        except (ClientError, BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error
        return next((tag["Value"] for tag in tags if tag["Key"] == ATTEMPT_TAG), None)


def _code(error: ClientError) -> str:
    return error.response["Error"]["Code"]


def _text(error: ClientError) -> str:
    return f"{_code(error)}: {error.response['Error']['Message']}"
