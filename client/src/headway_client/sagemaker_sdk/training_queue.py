"""A handle to the queue, with the method names of AWS Batch's ``TrainingQueue`` for SageMaker training jobs.

The names are those of SageMaker SDK 2.257.7 (``sagemaker.aws_batch``) and of sagemaker-train 1.27.0, a part of SDK
3.27.0 (``sagemaker.train.aws_batch``).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway_client.alternatives import name_in
from headway_client.errors import BatchRefusedError, JobNotFoundError, UsageError
from headway_client.http.connect import default_api
from headway_client.job_sentences import progress_sentence
from headway_client.models import JOB_STATES, Job
from headway_client.sagemaker_sdk.build_request import training_request
from headway_client.sagemaker_sdk.queued_job import QueuedJob
from headway_client.sagemaker_sdk.submit_options import QueueOptions
from headway_client.text import to_stderr

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi

logger = logging.getLogger(__name__)

_STATES_OF_STATUS = {
    "SUBMITTED": ("pending",),
    "PENDING": ("pending",),
    "RUNNABLE": ("pending", "preempted"),
    "SCHEDULED": ("running",),
    "STARTING": ("running",),
    "RUNNING": ("running", "stopping"),
    "SUCCEEDED": ("completed",),
    "FAILED": ("failed", "stopped"),
}
"""The queue's states for AWS Batch's (source: botocore 1.44.5, batch/2016-08-10, ServiceJobStatus)."""


class TrainingQueue:
    """The queue, for estimators (SageMaker SDK 2), trainers (SDK 3) and plain CreateTrainingJob requests.

    Every method raises subclasses of `headway_client.errors.ClientError`::

        queue = TrainingQueue("prod")
        job = queue.submit(estimator, inputs, priority=5)
        job.result()
    """

    def __init__(
        self,
        profile: str | None = None,
        *,
        api: HeadwayApi | None = None,
        endpoint: str | None = None,
        region: str | None = None,
    ) -> None:
        """Create a handle; no request is sent.

        Args:
            profile: a profile of the profile file.
            api: the queue; by default the one that the others, the environment or the profile file configure.
            endpoint: the queue's endpoint.
            region: the queue's region.

        Raises:
            ClientError: of `headway_client.errors`: no queue is configured, the profile is not valid, or there are no
                credentials.
        """
        self._api = api or default_api(endpoint=endpoint, profile=profile, region=region)

    def __repr__(self) -> str:
        """Say which queue it is."""
        return f"{type(self).__name__}(endpoint={self._api.endpoint!r})"

    def submit(
        self,
        training_job: Any,
        inputs: Any = None,
        job_name: str | None = None,
        retry_config: Mapping[str, Any] | None = None,
        priority: int | None = None,
        share_identifier: str | None = None,
        timeout: Mapping[str, int] | None = None,
        tags: Mapping[str, str] | None = None,
        *,
        experiment_config: Mapping[str, str] | None = None,
        alternatives: Sequence[Mapping[str, Any]] = (),
        wait_at_most_s: int = 0,
        portable_checkpoint: bool = False,
        after: str | Sequence[str] = (),
        sweep: Mapping[str, Any] | None = None,
        at_once: int | None = None,
        max_failures: int | None = None,
        early_stopping: Mapping[str, Any] | None = None,
        reuse: bool = False,
        reuse_unpinned: bool = False,
    ) -> QueuedJob:
        """Submit a training job, after uploading its sources to S3 as ``fit`` and ``train`` do.

        The arguments override the settings of the training job itself.

        Args:
            training_job: an estimator, a ModelTrainer, or boto3's parameters of CreateTrainingJob.
            inputs: the inputs of ``fit`` or ``train``; for plain parameters their InputDataConfig.
            job_name: the job's name, unique in the queue; by default the SDK generates one.
            retry_config: has to be None, as the queue's policy defines which failures are retried.
            priority: 0 to 9999, higher goes first.
            share_identifier: the team to charge.
            timeout: ``{"attemptDurationSeconds": s}``: maximum duration of an attempt in seconds.
            tags: additional tags of the training job.
            experiment_config: for an estimator, the argument of ``fit``.
            alternatives: what else the job can run on, in the order of preference: for each the members of
                CreateTrainingJob that it replaces, such as ``{"ResourceConfig": {...}}``.
            wait_at_most_s: for how long after its entry the job waits for a better alternative, s.
            portable_checkpoint: whether a checkpoint that was written on one alternative can be read on the others;
                without it a job that has run stays on its alternative.
            after: the jobs in the queue that have to end first, each as ``NAME`` if it has to complete, ``NAME:any`` if
                it has to end, or ``NAME:failed`` if it has to fail or to reach its time limit.
            sweep: submit an array, with a member for each combination of hyperparameters that this has, such as
                ``{"grid": {"lr": [0.1, 0.01]}}``.
            at_once: how many members of the array may be in the queue or run at once; by default any number.
            max_failures: how many of them may fail before no further one starts; by default any number.
            early_stopping: stop members that are worse than the median of others at the same step, such as
                ``{"metric": "loss", "goal": "minimize", "stepMetric": "epoch"}``; by default none is stopped.
            reuse: whether the job completes with the outputs of an equal one, if there is one. What became of that is
                printed to standard error.
            reuse_unpinned: whether an image without a digest (``@sha256:``) counts as the same then.

        Returns:
            The job; if the queue already has the same request under that name, the existing job.

        Raises:
            UsageError: an argument is not valid.
            RefusedError: the queue refuses the request; the fields say what to change.
            ConflictError: the queue has a different request under that name.
        """
        options = QueueOptions(
            priority=priority,
            share_identifier=share_identifier,
            timeout=timeout,
            tags=tags,
            retry_config=retry_config,
            alternatives=alternatives,
            wait_at_most_s=wait_at_most_s,
            portable_checkpoint=portable_checkpoint,
            after=after,
            sweep=sweep,
            at_once=at_once,
            max_failures=max_failures,
            early_stopping=early_stopping,
            reuse=reuse,
            reuse_unpinned=reuse_unpinned,
        )
        request = training_request(training_job, inputs, job_name=job_name, experiment_config=experiment_config)
        submission = self._api.submit(options.applied_to(request))
        if not submission.created:
            _warn_of_repetition(submission.job.name)
        _tell_of_reuse(options, submission.job)
        return self._job(submission.job.name)

    def map(
        self,
        training_job: Any,
        inputs: Iterable[Any],
        job_names: Sequence[str] | None = None,
        retry_config: Mapping[str, Any] | None = None,
        priority: int | None = None,
        share_identifier: str | None = None,
        timeout: Mapping[str, int] | None = None,
        tags: Mapping[str, str] | None = None,
        *,
        experiment_config: Mapping[str, str] | None = None,
        alternatives: Sequence[Mapping[str, Any]] = (),
        wait_at_most_s: int = 0,
        portable_checkpoint: bool = False,
        after: str | Sequence[str] = (),
        sweep: Mapping[str, Any] | None = None,
        at_once: int | None = None,
        max_failures: int | None = None,
        early_stopping: Mapping[str, Any] | None = None,
        reuse: bool = False,
        reuse_unpinned: bool = False,
    ) -> list[QueuedJob]:
        """Submit a training job once for each of `inputs`, all in one call.

        All requests are built before the first one is sent; the queue accepts or refuses each independently.

        Args:
            training_job: as for `submit`.
            inputs: one entry per job, each as for `submit`.
            job_names: the jobs' names, one for each of `inputs`.
            retry_config: as for `submit`.
            priority: as for `submit`.
            share_identifier: as for `submit`.
            timeout: as for `submit`.
            tags: as for `submit`.
            experiment_config: as for `submit`.
            alternatives: as for `submit`.
            wait_at_most_s: as for `submit`.
            portable_checkpoint: as for `submit`.
            after: as for `submit`.
            sweep: as for `submit`; each job is an array.
            at_once: as for `submit`.
            max_failures: as for `submit`.
            early_stopping: as for `submit`.
            reuse: as for `submit`.
            reuse_unpinned: as for `submit`.

        Returns:
            The jobs in the order of `inputs`.

        Raises:
            UsageError: an argument is not valid; nothing was sent.
            BatchRefusedError: some requests were refused; it has the result of each.
        """
        options = QueueOptions(
            priority=priority,
            share_identifier=share_identifier,
            timeout=timeout,
            tags=tags,
            retry_config=retry_config,
            alternatives=alternatives,
            wait_at_most_s=wait_at_most_s,
            portable_checkpoint=portable_checkpoint,
            after=after,
            sweep=sweep,
            at_once=at_once,
            max_failures=max_failures,
            early_stopping=early_stopping,
            reuse=reuse,
            reuse_unpinned=reuse_unpinned,
        )
        each = list(inputs)
        requests = [
            options.applied_to(
                training_request(training_job, one, job_name=job_name, experiment_config=experiment_config)
            )
            for one, job_name in zip(each, _names(job_names, len(each)), strict=True)
        ]
        _refuse_repeated(requests)
        results = self._api.submit_many(requests)
        if any(result.submission is None for result in results):
            raise BatchRefusedError(results)
        for result in results:
            if result.submission is None:
                continue
            if not result.submission.created:
                _warn_of_repetition(result.name)
            _tell_of_reuse(options, result.submission.job)
        return [self._job(result.name) for result in results]

    def list_jobs(self, job_name: str | None = None, status: str | None = None) -> list[QueuedJob]:
        """Return jobs: first those with instances, then the queue in rank order, then ended jobs, newest first.

        Args:
            job_name: only the job of this name.
            status: only jobs in this state, or in the states that correspond to this status of AWS Batch; by default
                all jobs, including ended ones.
        """
        states = _states(status)
        if job_name is None:
            return self._jobs(self._api.list_jobs(states=states))
        try:
            found = self._api.get_job(job_name).job
        except JobNotFoundError:
            return []
        return [self._job(found.name)] if found.state in states else []

    def list_jobs_by_share(self, status: str | None = None, share_identifier: str | None = None) -> list[QueuedJob]:
        """Return the jobs of a team, in the order of `list_jobs`.

        Args:
            status: as for `list_jobs`.
            share_identifier: the team; by default all.
        """
        return self._jobs(self._api.list_jobs(states=_states(status), team=share_identifier))

    def get_job(self, job_name: str) -> QueuedJob:
        """Return the job of that name; raises `JobNotFoundError` if there is none."""
        return self._job(self._api.get_job(job_name).job.name)

    def _jobs(self, jobs: Iterable[Job]) -> list[QueuedJob]:
        # Pages are read one after the other, so a job that ends in between may be on two of them.
        return [self._job(name) for name in dict.fromkeys(job.name for job in jobs)]

    def _job(self, name: str) -> QueuedJob:
        return QueuedJob(self._api, name)


def _names(job_names: Sequence[str] | None, count: int) -> Sequence[str | None]:
    if job_names is None:
        return [None] * count
    if isinstance(job_names, str) or len(job_names) != count:
        raise UsageError(f"job_names has to be a list of {count} names, one for each input.")
    return job_names


def _refuse_repeated(requests: Sequence[Mapping[str, Any]]) -> None:
    names = [name_in(request) for request in requests]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"Several jobs would be named {repeated[0]}; give unique job_names.")


def _states(status: str | None) -> tuple[str, ...]:
    if status is None:
        return JOB_STATES
    if status in JOB_STATES:
        return (status,)
    if status not in _STATES_OF_STATUS:
        known = ", ".join([*JOB_STATES, *_STATES_OF_STATUS])
        raise UsageError(f"{status!r} is not a state of a job; use one of {known}.")
    return _STATES_OF_STATUS[status]


def _tell_of_reuse(options: QueueOptions, job: Job) -> None:
    """Print what became of a job that an equal one may answer: it may compute for hours where nobody expects it to."""
    # The members of an array are compared one by one, later.
    if options.reuse and options.sweep is None:
        to_stderr(progress_sentence(job))


def _warn_of_repetition(name: str) -> None:
    logger.warning("The queue already has this request as %s; nothing was added.", name)
