"""A job of the queue as an object, with the method names of AWS Batch's ``TrainingQueuedJob``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headway_client.botocore_hooks.progress import Notify, Progress
from headway_client.errors import (
    BusyError,
    ConflictError,
    JobFailedError,
    JobStoppedError,
    NoTrainingJobError,
    NotReachableError,
    ServerFaultError,
    UsageError,
    WaitTimeoutError,
)
from headway_client.models import Job, JobDetails
from headway_client.text import to_stderr

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi

logger = logging.getLogger(__name__)

POLL_S = 5.0
"""How often a job is looked at while somebody waits for it, as AWS Batch's client does."""

MAX_OUTAGE_S = 900.0
"""For so long a wait goes on though the queue does not answer: a job may take days, and networks fail in between."""


class QueuedJob:
    """A job that was handed to the queue; its name is all there is to it, and any process may make it from that.

    Attributes:
        job_name: the name, which is unique in the queue.
    """

    def __init__(
        self,
        api: HeadwayApi,
        job_name: str,
        *,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a handle; nothing is asked of the queue yet.

        Args:
            api: the queue.
            job_name: the job's name.
            pause: sleeps for so many seconds.
            clock: seconds from any beginning.
        """
        self.job_name = job_name
        self._api = api
        self._pause = pause
        self._clock = clock

    def __repr__(self) -> str:
        return f"QueuedJob({self.job_name!r})"

    def describe(self) -> JobDetails:
        """Return the job with its attempts, history and request; `JobNotFoundError` if the queue has forgotten it."""
        return self._api.get_job(self.job_name)

    def wait(
        self, timeout: float | None = None, *, poll_s: float = POLL_S, tell: Notify | None = to_stderr
    ) -> JobDetails:
        """Wait until the job has ended, however it ended.

        Args:
            timeout: for so many seconds at most; None for as long as it takes, 0 to look once.
            poll_s: look every so many seconds.
            tell: called with a sentence when the job's state or its place in the queue changes; None for silence.

        Returns:
            The job as it was last seen: look at `Job.has_ended` if there was a timeout.
        """
        until = None if timeout is None else self._clock() + timeout
        details = self.describe()
        answered_at, in_outage = self._clock(), False
        progress = Progress(tell)
        while True:
            progress.update(details.job)
            now = self._clock()
            if details.job.has_ended or (until is not None and now >= until):
                return details
            self._pause(poll_s if until is None else min(poll_s, until - now))
            try:
                details = self.describe()
                answered_at, in_outage = self._clock(), False
            except (BusyError, NotReachableError, ServerFaultError) as error:
                if self._clock() - answered_at > MAX_OUTAGE_S:
                    raise
                if tell is not None and not in_outage:
                    tell(f"The queue does not respond; retrying: {error}")
                in_outage = True

    def result(
        self, timeout: float | None = None, *, poll_s: float = POLL_S, tell: Notify | None = to_stderr
    ) -> JobDetails:
        """Wait until the job has completed, and return it.

        Args:
            timeout: as for `wait`.
            poll_s: as for `wait`.
            tell: as for `wait`.

        Raises:
            JobFailedError: it failed; the message says why.
            JobStoppedError: it was stopped; the message says why.
            WaitTimeoutError: it had not ended in time; it goes on.
        """
        details = self.wait(timeout, poll_s=poll_s, tell=tell)
        job = details.job
        if job.state == "completed":
            return details
        if job.state == "failed":
            raise JobFailedError(f"{job.name} failed: {_failure(details)}", code=job.reason.code)
        if job.state == "stopped":
            raise JobStoppedError(f"{job.name} was stopped: {job.reason.message}", code=job.reason.code)
        raise WaitTimeoutError(f"{job.name} had not ended after {timeout:g} s, and continues. Wait longer, or stop it.")

    def terminate(self, reason: str | None = None) -> Job:
        """Stop the job, whatever its state: a waiting one leaves the line, a running one is asked to stop.

        Of a job that has ended already nothing is asked, and that is no error.

        Args:
            reason: for the log of this program; the queue itself keeps who stopped the job, and when.

        Returns:
            The job as it is then; it may still be stopping.
        """
        logger.info("Stopping %s%s", self.job_name, f": {reason}" if reason else "")
        try:
            return self._api.stop_job(self.job_name)
        except ConflictError:
            job = self.describe().job
            if job.has_ended:
                return job
            raise

    def update(self, priority: int) -> Job:
        """Give the job another priority, 0 to 9999, higher goes first; `ConflictError` if it has ended."""
        return self._api.set_priority(self.job_name, priority)

    def get_estimator(self, boto_session: boto3.Session | None = None) -> Any:
        """Return an estimator of the SageMaker SDK 2 that is attached to the job, for example to deploy its model.

        As the SDK's own ``Estimator.attach`` does, it waits for the end of a training job that runs.

        Args:
            boto_session: for SageMaker; by default boto3's default session. Of the queue's jobs the queue answers.

        Raises:
            NoTrainingJobError: no training job has been started for it yet.
            UsageError: the SDK is not installed.
        """
        self._require_training_job()
        try:
            from headway_client.sagemaker_sdk.attach_estimator import attached_estimator
        except ImportError as error:
            raise _missing("get_estimator()", "2", error) from error
        return attached_estimator(self._api, self.job_name, boto_session)

    def get_model_trainer(self, boto_session: boto3.Session | None = None) -> Any:
        """Return a ModelTrainer of the SageMaker SDK 3 that is attached to the job, for example to deploy its model.

        Args:
            boto_session: for SageMaker; by default a new one. From then on the queue answers there, too.

        Raises:
            NoTrainingJobError: no training job has been started for it yet.
            UsageError: the SDK is not installed.
        """
        details = self._require_training_job()
        try:
            from headway_client.sagemaker_sdk.attach_trainer import attached_trainer
        except ImportError as error:
            raise _missing("get_model_trainer()", "3", error) from error
        return attached_trainer(self._api, details, boto_session)

    def _require_training_job(self) -> JobDetails:
        details = self.describe()
        if not any(attempt.status is not None for attempt in details.attempts):
            raise NoTrainingJobError(
                f"No training job has been started for {self.job_name} so far; it is {details.job.state}: "
                f"{details.job.reason.message}"
            )
        return details


TrainingQueuedJob = QueuedJob
"""As AWS Batch's client calls it."""


def _failure(details: JobDetails) -> str:
    reason = details.job.reason.message
    of_sagemaker = details.attempts[-1].failure_reason if details.attempts else None
    return f"{reason} ({of_sagemaker})" if of_sagemaker and of_sagemaker not in reason else reason


def _missing(call: str, version: str, error: ImportError) -> UsageError:
    return UsageError(
        f"{call} needs the SageMaker Python SDK {version}: pip install 'headway[sdk{version}]' ({error}).",
        code="MissingSdk",
    )
