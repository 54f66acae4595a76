"""SageMaker's training jobs through boto3, with its answers as typed errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ParamValidationError

from headway.jobpolicy.training_job import tags_in
from headway.refusals import Cause
from headway_service.aws.error_codes import FAILED_CALLS, Verdict, classify, code_of, describe, message_of
from headway_service.errors import (
    LacksPermission,
    LaunchPostponed,
    LaunchRefused,
    ListingExpired,
    NameTaken,
    NothingToStop,
    OutcomeUnknown,
    Throttled,
    TrainingJobEnded,
    TrainingJobNotFound,
)
from headway_service.ports.training_jobs import LIVE, Description, LivePage, TrainingJobStatus
from headway_service.response_check import check_answers, member
from headway_service.sagemaker_api.masking import masked
from headway_service.sagemaker_api.quota_text import parse_quota
from headway_service.sagemaker_api.status import parse_status, parse_summary
from headway_service.sagemaker_api.tags import ATTEMPT_TAG

if TYPE_CHECKING:
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeTrainingJobResponseTypeDef, ListTrainingJobsRequestTypeDef

# Declared by CreateTrainingJob (service model).
_NAME_TAKEN = "ResourceInUse"
_QUOTA = "ResourceLimitExceeded"

_NOT_FOUND = "ResourceNotFound"
"""Declared by DescribeTrainingJob and StopTrainingJob (service model); SageMaker answers ValidationException."""

# Texts of SageMaker's ValidationException, as users quote them in public issues and SDKs match them. Any other text
# has another meaning and matches neither.
_SAYS_NOT_FOUND = re.compile(r"requested resource not found|could not find job to update with name", re.IGNORECASE)
_SAYS_ENDED = re.compile(r"training job is in status\W*(completed|failed|stopped|stopping|deleting)\b", re.IGNORECASE)


class SageMakerTrainingJobs:
    """:class:`headway_service.ports.training_jobs.AllTrainingJobs` on SageMaker.

    Args:
        client: for all calls.
        creator: makes the client for CreateTrainingJob when it is first needed, if that is another one. A client that
            retries it hides what became of the first try.
    """

    def __init__(self, client: SageMakerClient, creator: Callable[[], SageMakerClient] | None = None) -> None:
        self._client = check_answers(client)
        self._creator = cache(lambda: check_answers(creator()) if creator else client)
        self._creating = Lock()

    def create(self, request: Mapping[str, Any]) -> None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        try:
            with self._creating:
                # Clients may be used by several threads; to make them from boto3's session is not for threads.
                client = self._creator()
            member(client.create_training_job(**request), "TrainingJobArn")
        except FAILED_CALLS as error:
            raise self._launch_error(error, request) from error
        except ParamValidationError:
            # It was admitted by a version that knew more. The text quotes values.
            told = "this version of the queue does not know all of its parameters"
            raise LaunchRefused("ParamValidation", told) from None

    def _launch_error(self, error: Exception, request: Mapping[str, Any]) -> Exception:
        code, message = code_of(error), masked(message_of(error), request)
        match self._judge(error):
            case Verdict.REFUSED if code == _NAME_TAKEN:
                return NameTaken(code, message)
            case Verdict.REFUSED if code != _QUOTA:
                return LaunchRefused(code, message)
            case Verdict.DENIED if "iam:PassRole" in message:
                return LaunchRefused(code, message)
            # A quota, or a permission or credentials that are missing: an operator's to change.
            case Verdict.REFUSED:
                quota = parse_quota(message_of(error))
                by_request = quota is not None and quota.exceeded_alone
                return LaunchPostponed(code, message, cause=Cause.QUOTA, by_request=by_request)
            case Verdict.DENIED:
                return LaunchPostponed(code, message, cause=Cause.DENIED, by_request=True)
            case Verdict.NOT_AUTHENTICATED:
                return LaunchPostponed(code, message, cause=Cause.CREDENTIALS)
            case Verdict.THROTTLED:
                return Throttled(code)
            case Verdict.UNCLEAR:
                # Without the message: it may quote the request.
                return OutcomeUnknown(code)

    def stop(self, name: str) -> None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        try:
            self._client.stop_training_job(TrainingJobName=name)
        except FAILED_CALLS as error:
            verdict = self._judge(error)
            if self._says_not_found(error):
                raise TrainingJobNotFound(describe(error)) from error
            if verdict is Verdict.REFUSED and _SAYS_ENDED.search(message_of(error)):
                raise TrainingJobEnded(describe(error)) from error
            if verdict is Verdict.DENIED:
                raise LacksPermission(describe(error)) from error
            raise self._unclear(error) from error

    def release_warm_pool(self, name: str) -> None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        try:
            self._client.update_training_job(TrainingJobName=name, ResourceConfig={"KeepAlivePeriodInSeconds": 0})
        except FAILED_CALLS as error:
            verdict = self._judge(error)
            if verdict is Verdict.REFUSED:
                # Neither the code nor the text of a race with a start is documented.
                raise NothingToStop(describe(error)) from error
            if verdict is Verdict.DENIED:
                raise LacksPermission(describe(error)) from error
            raise self._unclear(error) from error

    def describe(self, name: str) -> TrainingJobStatus | None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        answer = self._describe(name)
        return None if answer is None else parse_status(answer)

    def mark_of(self, arn: str) -> str | None:
        """See :class:`headway_service.ports.training_jobs.TrainingJobs`."""
        return self.tags_of(arn).get(ATTEMPT_TAG)

    def described(self, name: str) -> Description | None:
        """See :class:`headway_service.ports.training_jobs.AllTrainingJobs`."""
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
        """See :class:`headway_service.ports.training_jobs.AllTrainingJobs`."""
        try:
            pages = self._client.get_paginator("list_tags").paginate(ResourceArn=arn)
            # A complete document omits empty members, so a missing member means no tags.
            return tags_in([tag for page in pages for tag in page.get("Tags", [])])
        except FAILED_CALLS as error:
            raise self._unclear(error) from error

    def live(self, created_after_ms: int, token: str | None) -> LivePage:
        """See :class:`headway_service.ports.training_jobs.AllTrainingJobs`.

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
            found = [parse_summary(each) for each in member(page, "TrainingJobSummaries")]
        except FAILED_CALLS as error:
            if token and self._judge(error) is Verdict.REFUSED:
                raise ListingExpired(describe(error)) from error
            raise self._unclear(error) from error
        return LivePage(jobs=tuple(each for each in found if each.status in LIVE), token=page.get("NextToken"))

    def _describe(self, name: str) -> DescribeTrainingJobResponseTypeDef | None:
        try:
            answer = self._client.describe_training_job(TrainingJobName=name)
            for needed in ("TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "CreationTime"):
                member(answer, needed)
        except FAILED_CALLS as error:
            if self._says_not_found(error):
                return None
            raise self._unclear(error) from error
        return answer

    def _says_not_found(self, error: Exception) -> bool:
        """Whether SageMaker reports that no training job has that name."""
        if self._judge(error) is not Verdict.REFUSED:
            return False
        return code_of(error) == _NOT_FOUND or _SAYS_NOT_FOUND.search(message_of(error)) is not None

    def _unclear(self, error: Exception) -> OutcomeUnknown:
        throttled = self._judge(error) is Verdict.THROTTLED
        return (Throttled if throttled else OutcomeUnknown)(describe(error))

    def _judge(self, error: Exception) -> Verdict:
        return classify(error, self._client.meta.service_model)
