"""Responses of ListTrainingJobs for the queue's jobs: filters, order and pages.

The filters have the meaning of the API reference, ListTrainingJobs. The queue's listing has no time of the last change,
so LastModifiedTime is the time of the job's end, first start or submission.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.utils import parse_to_aware_datetime

from headway.attempt_digest import digest_in, digest_of
from headway_client import json_text
from headway_client.botocore_hooks import describe_response
from headway_client.botocore_hooks.arns import arn_of
from headway_client.models import Job

DEFAULT_RESULTS = 10
"""The default of MaxResults (service model, botocore's sagemaker/2017-07-24)."""

_MARK = "headway:"
_NOT_OURS = ("WarmPoolStatusEquals", "TrainingPlanArnEquals")
"""Filters on properties that only SageMaker knows."""


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """A page of jobs.

    Attributes:
        summaries: the jobs as TrainingJobSummaries.
        next_token: the token of the next page, of the queue or the first of SageMaker; None if this page is not full.
    """

    summaries: list[dict[str, Any]]
    next_token: str | None


def is_own_token(token: object) -> bool:
    """Return whether a NextToken is one of the queue's."""
    return isinstance(token, str) and token.startswith(_MARK)


def page(jobs: Iterable[Job], parameters: Mapping[str, Any], *, region: str) -> JobPage:
    """Return the requested page of jobs, which may be empty.

    Args:
        jobs: all jobs of the queue.
        parameters: the parameters of the ListTrainingJobs request; a NextToken has to be one of the queue's.
        region: the region in the ARNs.
    """
    key = _created if parameters.get("SortBy", "CreationTime") == "CreationTime" else _by(parameters["SortBy"])
    descending = parameters.get("SortOrder") == "Descending"
    matching = sorted((job for job in jobs if _matches(job, parameters)), key=key, reverse=descending)
    last = _read_token(parameters.get("NextToken"))
    if last is not None:
        # By key, not by position: jobs that come and go between two pages do not shift the others.
        matching = [job for job in matching if (key(job) < last if descending else key(job) > last)]
    size = int(parameters.get("MaxResults", DEFAULT_RESULTS))
    shown = matching[:size]
    return JobPage(
        summaries=[summary(job, region=region) for job in shown],
        next_token=_token(key(shown[-1])) if shown and len(shown) == size else None,
    )


def summary(job: Job, *, region: str) -> dict[str, Any]:
    """Return a job as a TrainingJobSummary, with the same status as its description.

    Args:
        region: the region in the ARN.
    """
    document: dict[str, Any] = {
        "TrainingJobName": job.name,
        "TrainingJobArn": arn_of({"RoleArn": job.owner or ""}, region, job.name),
        "CreationTime": datetime.fromisoformat(job.entry_time),
        "LastModifiedTime": _modified_time(job),
        "TrainingJobStatus": describe_response.status(job),
    }
    if job.ended_time is not None:
        document["TrainingEndTime"] = datetime.fromisoformat(job.ended_time)
    return document


class Represented:
    """The training jobs that jobs of the queue represent: all attempts of each, also of one that has ended."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._names = {job.name for job in jobs}
        self._digests = {digest_of(name) for name in self._names}

    def __contains__(self, training_job: str) -> bool:
        return training_job in self._names or digest_in(training_job) in self._digests


def _matches(job: Job, parameters: Mapping[str, Any]) -> bool:
    if any(parameters.get(name) is not None for name in _NOT_OURS):
        return False
    created, modified = datetime.fromisoformat(job.entry_time), _modified_time(job)
    return (
        parameters.get("StatusEquals", describe_response.status(job)) == describe_response.status(job)
        and str(parameters.get("NameContains", "")).lower() in job.name.lower()
        and _within(created, parameters, "CreationTime")
        and _within(modified, parameters, "LastModifiedTime")
    )


def _within(moment: datetime, parameters: Mapping[str, Any], what: str) -> bool:
    after, before = parameters.get(f"{what}After"), parameters.get(f"{what}Before")
    return (after is None or moment > _moment(after)) and (before is None or moment < _moment(before))


def _moment(given: Any) -> datetime:
    """Return a time from any value that botocore accepts as one: also numbers and strings."""
    moment: datetime = parse_to_aware_datetime(given)
    return moment.astimezone(UTC)


def _modified_time(job: Job) -> datetime:
    return datetime.fromisoformat(job.ended_time or job.started_time or job.entry_time)


SortKey = tuple[str, str]


def _created(job: Job) -> SortKey:
    return job.entry_time, job.name


def _by(what: str) -> Any:
    if what == "Name":
        return lambda job: (job.name, job.name)
    return lambda job: (describe_response.status(job), job.name)


def _token(key: SortKey) -> str:
    return _MARK + base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _read_token(token: object) -> SortKey | None:
    if not isinstance(token, str) or not is_own_token(token):
        return None
    try:
        value, name = json_text.decode(base64.urlsafe_b64decode(token.removeprefix(_MARK)))
    except (binascii.Error, ValueError, TypeError):
        return None
    return str(value), str(name)
