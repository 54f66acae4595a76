"""SageMaker, as the service needs it: training jobs and their status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

LIVE = frozenset({"InProgress", "Stopping"})
"""Statuses of training jobs that count against the quotas."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJobStatus:
    """SageMaker's status of a training job at one time, from an event or a response."""

    attempt: str
    #: TrainingJobStatus: InProgress, Completed, Failed, Stopping, Stopped or Deleting.
    status: str
    secondary_status: str
    #: LastModifiedTime, ms.
    modified_ms: int
    #: CreationTime, ms: distinguishes it from a later training job with its name. None if this does not have it.
    created_ms: int | None = None
    arn: str = ""
    failure_reason: str | None = None
    #: How often spot instances were taken from it so far.
    interruptions: int = 0
    #: While it trains: since when, ms.
    training_since_ms: int | None = None
    #: Once it has ended: for how long it trained, ms.
    trained_ms: int | None = None
    #: BillableTimeInSeconds, s: what each of its instances is billed for; None if this does not have it.
    billable_s: int | None = None
    #: Whether it has had instances.
    provisioned: bool = False
    #: Once it has ended: the MaxPendingTimeInSeconds, s, that passed without instances; None if that was not so.
    pending_expired_s: int | None = None
    #: Once it has ended: Available, InUse, Reused or Terminated; None if it has, or shows, no warm pool.
    warm_pool: str | None = None
    #: The training job that uses, or has used, the warm pool; empty if SageMaker names none.
    reused_by: str = ""
    #: FinalMetricDataList: values by name, as text, as the table keeps no fractions. None if this does not have it, as
    #: an event may not (AWS does not document it).
    metrics: Mapping[str, str] | None = None

    @property
    def ended(self) -> bool:
        """Whether this is a final status. SageMaker's final statuses are never left (but by deletion)."""
        return self.status in {"Completed", "Failed", "Stopped", "Deleting"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """The complete response of DescribeTrainingJob."""

    name: str
    arn: str
    #: TrainingJobStatus.
    status: str
    #: CreationTime, ms. A name may come again after DeleteTrainingJob; with this it is one training job for good.
    created_ms: int
    #: The whole answer.
    document: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """Whether it counts against the quotas: it has not ended."""
        return self.status in LIVE


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJobSummary:
    """A training job in ListTrainingJobs. It may be as old as SageMaker's index."""

    name: str
    #: TrainingJobStatus.
    status: str
    #: None if the list does not have it: the service model does not require it.
    secondary_status: str | None
    #: LastModifiedTime, ms: when its status last changed (service model, TrainingJobSummary).
    modified_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LivePage:
    """The live ones among a page of all training jobs, and where the next page begins (None at the end)."""

    jobs: tuple[TrainingJobSummary, ...]
    token: str | None


class TrainingJobs(Protocol):
    """SageMaker's training jobs."""

    def create(self, request: Mapping[str, Any]) -> None:
        """CreateTrainingJob.

        Raises:
            NameTaken: a training job of that name exists, perhaps made by an earlier call of ours.
            LaunchPostponed: not now, for a quota, a permission or the queue's credentials.
            LaunchRefused: never.
            Throttled: turned away.
            OutcomeUnknown: it may or may not have been created.
        """

    def stop(self, name: str) -> None:
        """StopTrainingJob. Stopping a job that is stopping is no error.

        Raises:
            TrainingJobEnded: it has ended, or is stopping already.
            TrainingJobNotFound: SageMaker reports that there is none with that name.
            LacksPermission: the queue may not stop this one.
            OutcomeUnknown: the stop may or may not have been requested.
        """

    def release_warm_pool(self, name: str) -> None:
        """UpdateTrainingJob with a keep-alive period of 0.

        A refusal proves nothing: the warm pool may be in use, terminated, or not shown yet. Its status tells.

        Raises:
            NothingToStop: it was refused.
            LacksPermission: the queue may not update this one.
            OutcomeUnknown: the release may or may not have been requested.
        """

    def describe(self, name: str) -> TrainingJobStatus | None:
        """DescribeTrainingJob; None if there is no such job.

        Raises:
            OutcomeUnknown: no answer.
        """

    def mark_of(self, arn: str) -> str | None:
        """The value of the tag ``headway:attempt`` on the training job of that ARN; None without it.

        Raises:
            OutcomeUnknown: no answer.
        """


class AllTrainingJobs(TrainingJobs, Protocol):
    """SageMaker's training jobs, with what has to be known of those that are not the queue's."""

    def described(self, name: str) -> Description | None:
        """The complete response of DescribeTrainingJob; None if there is no such job.

        Raises:
            OutcomeUnknown: no answer.
        """

    def tags_of(self, arn: str) -> Mapping[str, str]:
        """ListTags of the training job of that ARN.

        Raises:
            OutcomeUnknown: no answer.
        """

    def live(self, created_after_ms: int, token: str | None) -> LivePage:
        """A page of ListTrainingJobs, newest first, less those that have ended.

        Args:
            created_after_ms: only training jobs created after this time, ms.
            token: the token of the page; None for the first.

        Raises:
            ListingExpired: the token is not taken any more.
            OutcomeUnknown: no answer.
        """
