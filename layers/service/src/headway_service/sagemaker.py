"""SageMaker's training jobs through boto3, with its answers as typed errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, HTTPClientError, ParamValidationError
from botocore.exceptions import ConnectionError as BotoConnectionError

from headway.rules import tags_in
from headway_service.admission import ATTEMPT_TAG
from headway_service.errors import (
    LacksPermission,
    LaunchPostponed,
    LaunchRefused,
    ListingExpired,
    NameTaken,
    Throttled,
    TrainingJobEnded,
    Unclear,
)
from headway_service.masking import masked
from headway_service.ports import LIVE, Description, LivePage, Sighting
from headway_service.sightings import listed_of, sighting_of

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeTrainingJobResponseTypeDef, ListTrainingJobsRequestTypeDef

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
    """:class:`headway_service.ports.AllTrainingJobs` on SageMaker.

    Args:
        client: for all calls.
        creator: makes the client for CreateTrainingJob when it is first needed, if that is another one. A client that
            retries it hides what became of the first try.
    """

    def __init__(self, client: SageMakerClient, creator: Callable[[], SageMakerClient] | None = None) -> None:
        self._client = client
        self._creator = cache(creator or (lambda: client))

    def create(self, request: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        try:
            self._creator().create_training_job(**request)
        except ClientError as error:
            code, message = _code(error), masked(error.response["Error"]["Message"], request)
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
        except ParamValidationError:
            # It was admitted by a version that knew more. The text quotes values.
            told = "this version of the queue does not know all of its parameters"
            raise LaunchRefused("ParamValidation", told) from None
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
            if _code(error) in _DENIED:
                raise LacksPermission(_text(error)) from error
            raise Unclear(_text(error)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error

    def describe(self, name: str) -> Sighting | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        answer = self._describe(name)
        return None if answer is None else sighting_of(answer)

    def mark_of(self, arn: str) -> str | None:
        """See :class:`headway_service.ports.TrainingJobs`."""
        return self.tags_of(arn).get(ATTEMPT_TAG)

    def described(self, name: str) -> Description | None:
        """See :class:`headway_service.ports.AllTrainingJobs`."""
        answer = self._describe(name)
        if answer is None:
            return None
        return Description(
            name=name,
            arn=answer["TrainingJobArn"],
            status=answer["TrainingJobStatus"],
            created_ms=int(answer["CreationTime"].timestamp() * 1000),
            document=answer,
        )

    def tags_of(self, arn: str) -> Mapping[str, str]:
        """See :class:`headway_service.ports.AllTrainingJobs`."""
        try:
            pages = self._client.get_paginator("list_tags").paginate(ResourceArn=arn)
            return tags_in([tag for page in pages for tag in page["Tags"]])
        except (ClientError, BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error

    def live(self, created_after_ms: int, token: str | None) -> LivePage:
        """See :class:`headway_service.ports.AllTrainingJobs`.

        StatusEquals thins out a page after it was cut (service model, MaxResults), and takes one status. Without it
        there are just as many pages, and each is gone through once.
        """
        request: ListTrainingJobsRequestTypeDef = {
            "CreationTimeAfter": datetime.fromtimestamp(created_after_ms / 1000, UTC),
            "SortBy": "CreationTime",
            "SortOrder": "Descending",
            "MaxResults": 100,
        }
        if token:
            request["NextToken"] = token
        try:
            page = self._client.list_training_jobs(**request)
        except ClientError as error:
            if token and _code(error) == "ValidationException":
                raise ListingExpired(_text(error)) from error
            raise Unclear(_text(error)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error
        found = page["TrainingJobSummaries"]
        jobs = tuple(listed_of(each) for each in found if each["TrainingJobStatus"] in LIVE)
        return LivePage(jobs=jobs, token=page.get("NextToken"))

    def _describe(self, name: str) -> DescribeTrainingJobResponseTypeDef | None:
        try:
            return self._client.describe_training_job(TrainingJobName=name)
        except ClientError as error:
            # The model declares ResourceNotFound; the service says ValidationException "Requested resource not found."
            if _code(error) in {"ValidationException", "ResourceNotFound"}:
                return None
            raise Unclear(_text(error)) from error
        except (BotoConnectionError, HTTPClientError) as error:
            raise Unclear(str(error)) from error


def _code(error: ClientError) -> str:
    return error.response["Error"]["Code"]


def _text(error: ClientError) -> str:
    return f"{_code(error)}: {error.response['Error']['Message']}"
