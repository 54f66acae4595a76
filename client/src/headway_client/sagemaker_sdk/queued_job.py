"""A handle to a job of the queue, with the method names of AWS Batch's ``TrainingQueuedJob``."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headway.sanitize import strip_control_characters
from headway_client.botocore_hooks.progress import Notify, Progress
from headway_client.errors import (
    ClientError,
    ConflictError,
    JobFailedError,
    JobStoppedError,
    NoTrainingJobError,
    UsageError,
    WaitTimeoutError,
)
from headway_client.http.outage import NO_RESPONSE, Outage
from headway_client.install_hint import install_command
from headway_client.job_sentences import end_sentence, unfinished_sentence
from headway_client.models import Job, JobDetails
from headway_client.text import to_stderr

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi

logger = logging.getLogger(__name__)

POLL_S = 5.0
"""The polling interval while waiting for a job, the same as in AWS Batch's client."""

MAX_STOP_REASON_CHARS = 256
"""The longest reason for a stop that the queue takes."""


class QueuedJob:
    """A handle to a submitted job, which any process can create from the job's name.

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
        """Create a handle; no request is sent.

        Args:
            api: the queue.
            job_name: the job's name.
            pause: sleeps for a number of seconds.
            clock: a monotonic clock in seconds.
        """
        self.job_name = job_name
        self._api = api
        self._pause = pause
        self._clock = clock

    def __repr__(self) -> str:
        return f"QueuedJob({self.job_name!r})"

    def describe(self) -> JobDetails:
        """Return the job with its attempts, history and request.

        Raises:
            JobNotFoundError: the queue has no such job, or has deleted it after its retention time.
        """
        return self._api.get_job(self.job_name)

    def wait(
        self, timeout: float | None = None, *, poll_s: float = POLL_S, tell: Notify | None = to_stderr
    ) -> JobDetails:
        """Wait until the job has ended, in whatever state.

        Args:
            timeout: maximum number of seconds; None for no limit, 0 to request the job once.
            poll_s: the polling interval in seconds.
            tell: called with a sentence when the job's state or its place in the queue changes, and with how to go on
                when the wait is interrupted, which stops no job; None for no notifications.

        Returns:
            The job in its last known state; with a timeout check `Job.has_ended`.
        """
        try:
            return self.follow(timeout, poll_s=poll_s, tell=tell)
        except KeyboardInterrupt:
            if tell is not None:
                tell(unfinished_sentence(self.job_name))
            raise

    def follow(
        self,
        timeout: float | None = None,
        *,
        poll_s: float = POLL_S,
        tell: Notify | None = to_stderr,
        responded: bool = False,
    ) -> JobDetails:
        """Wait as `wait` does, for callers that have words of their own for an interrupt.

        Args:
            timeout: as for `wait`.
            poll_s: as for `wait`.
            tell: as for `wait`, but at an interrupt.
            responded: whether the queue has responded to the caller before. Then the first request may fail as later
                ones may; otherwise its error is raised, as the endpoint may be wrong.

        Returns:
            The job in its last known state; with a timeout check `Job.has_ended`.
        """
        until = None if timeout is None else self._clock() + timeout
        details: JobDetails | None = None
        outage = Outage(self._clock)
        progress = Progress(tell)
        while True:
            error: ClientError | None = None
            try:
                details = self.describe()
                outage.over()
                progress.update(details.job)
            except NO_RESPONSE as caught:
                error = caught
            now = self._clock()
            is_over = until is not None and now >= until
            if error is not None:
                if details is None and (is_over or not responded):
                    raise error
                if outage.tolerate(error) and tell is not None:
                    tell(f"The queue does not respond; retrying: {error}")
            if details is not None and (is_over or details.job.has_ended):
                return details
            self._pause(poll_s if until is None else min(poll_s, until - now))

    def result(
        self, timeout: float | None = None, *, poll_s: float = POLL_S, tell: Notify | None = to_stderr
    ) -> JobDetails:
        """Wait until the job has completed, and return it.

        Args:
            timeout: as for `wait`.
            poll_s: as for `wait`.
            tell: as for `wait`.

        Raises:
            JobFailedError: the job failed; the message says why.
            JobStoppedError: the job was stopped; the message says why.
            WaitTimeoutError: the timeout has passed; the job continues.
        """
        details = self.wait(timeout, poll_s=poll_s, tell=tell)
        job = details.job
        if job.state == "completed":
            return details
        if job.state == "failed":
            raise JobFailedError(end_sentence(job, _failure(details)), code=job.reason.code)
        if job.state == "stopped":
            raise JobStoppedError(end_sentence(job), code=job.reason.code)
        raise WaitTimeoutError(f"{job.name} had not ended after {timeout:g} s, and continues. Wait longer, or stop it.")

    def terminate(self, reason: str | None = None) -> Job:
        """Stop the job in any state: a waiting job leaves the queue, a running one is stopped.

        For an ended job nothing is done, and no error is raised.

        Args:
            reason: stored with the stop, cut to the length that the queue takes; also written to this program's log.

        Returns:
            The job, which may still be stopping.
        """
        logger.info("Stopping %s%s", self.job_name, f": {reason}" if reason else "")
        try:
            return self._api.stop_job(self.job_name, _stop_reason(reason))
        except ConflictError:
            job = self.describe().job
            if job.has_ended:
                return job
            raise

    def update(self, priority: int) -> Job:
        """Change the job's priority: 0 to 9999, higher goes first. Raises `ConflictError` if it has ended."""
        return self._api.set_priority(self.job_name, priority)

    def get_estimator(self, boto_session: boto3.Session | None = None) -> Any:
        """Return an estimator of the SageMaker SDK 2 that is attached to the job, for example to deploy its model.

        Like the SDK's own ``Estimator.attach``, it waits for the end of a running training job.

        Args:
            boto_session: the session for SageMaker; by default boto3's default session.

        Raises:
            NoTrainingJobError: no training job has been started for the job yet.
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
            boto_session: the session for SageMaker, to which the queue is attached; by default a new one.

        Raises:
            NoTrainingJobError: no training job has been started for the job yet.
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
"""The name in AWS Batch's client."""


def _failure(details: JobDetails) -> str:
    reason = details.job.reason.message
    cause = details.attempts[-1].failure_reason if details.attempts else None
    return f"{reason} ({cause})" if cause and cause not in reason else reason


def _stop_reason(reason: str | None) -> str | None:
    """Return a reason as the queue takes it: a text in another form must not keep a job from being stopped."""
    line = strip_control_characters(reason or "").strip()
    return line[:MAX_STOP_REASON_CHARS] or None


def _missing(call: str, version: str, error: ImportError) -> UsageError:
    return UsageError(
        f"{call} needs the SageMaker Python SDK {version}: {install_command(f'sdk{version}')} ({error}).",
        code="MissingSdk",
    )
