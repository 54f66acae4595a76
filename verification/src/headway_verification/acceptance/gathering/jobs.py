"""Three jobs through the queue, followed until all have ended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError as AwsClientError

from headway_client.errors import ConflictError
from headway_client.models import JobDetails
from headway_service.sagemaker_api.status import STARTING
from headway_verification.acceptance.errors import CannotAccept
from headway_verification.acceptance.evidence import Answer, Run, Runs, Stop
from headway_verification.acceptance.gathering import requests
from headway_verification.acceptance.gathering.asking import answer_to
from headway_verification.acceptance.target import Target
from headway_verification.acceptance.temporary import Temporary

_EVERY_S = 0.3
_ON_AWS_S = 3.0
"""Between two looks: ListTrainingJobs is not called, and Describe of one job is cheap."""


def pool_size(target: Target) -> int:
    """Return the size of the pool of the run's instance type.

    Raises:
        CannotAccept: the queue has none; the message says what to change.
    """
    sizes = {pool.pool: pool.size for pool in target.api.capacity().pools}
    if not sizes.get(target.instance_type):
        raise CannotAccept(
            f"The queue has no pool of {target.instance_type} with instances; it has {', '.join(sizes) or 'none'}. Add "
            "one with `headway config set`, or give --instance-type."
        )
    return sizes[target.instance_type]


@dataclass(kw_only=True)
class _Followed:
    name: str
    details: JobDetails | None = None
    attempt: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    asked_in: str = ""
    asked_at: float = 0.0
    ended_at: float = 0.0
    repeated: Answer | None = None


class Jobs:
    """Submits the jobs of a run and follows them.

    Args:
        target: the queue.
        temporary: names them.
    """

    def __init__(self, target: Target, temporary: Temporary) -> None:
        self._target = target
        self._temporary = temporary
        self._sagemaker = target.client("sagemaker")

    def run(self, *, timeout_s: float, meanwhile: Callable[[str], None]) -> Runs:
        """Submit all, and return them when they have ended or the time is over.

        Args:
            meanwhile: called again and again with the name of the training job that keeps its cores busy.
        """
        size, deadline = pool_size(self._target), time.monotonic() + timeout_s
        made = [each(self._target, self._temporary) for each in (requests.works, requests.is_stopped, requests.fails)]
        jobs = [_Followed(name=request["TrainingJobName"]) for request in made]
        busy, stopped, _ = jobs
        for request in made:
            self._target.api.submit(request)
        every_s = _EVERY_S if self._target.is_sandbox else _ON_AWS_S
        while time.monotonic() < deadline:
            ended = [self._look(job) for job in jobs]
            if all(ended):
                break
            self._stop_before_training(stopped)
            if busy.attempt:
                meanwhile(busy.attempt)
            time.sleep(every_s)
        results = [self._result(job) for job in jobs]
        return Runs(
            works=results[0],
            stopped=results[1],
            fails=results[2],
            table=self._target.outputs["TableName"],
            pool_size=size,
        )

    def _look(self, job: _Followed) -> bool:
        """Read a job again; return whether it has ended."""
        if job.details is not None and job.details.has_ended:
            return True
        job.details = self._target.api.get_job(job.name)
        if job.details.attempts and not job.attempt:
            job.attempt = job.details.attempts[-1].name
            # At once: that a new training job has its tags is part of the question.
            job.tags = self._tags(job.attempt)
        if job.details.has_ended:
            job.ended_at = time.monotonic()
        return job.details.has_ended

    def _tags(self, attempt: str) -> Mapping[str, str]:
        with suppress(AwsClientError):
            answer = self._sagemaker.list_tags(ResourceArn=self._target.training_job_arn(attempt))
            return {each["Key"]: each["Value"] for each in answer["Tags"]}
        return {}

    def _stop_before_training(self, job: _Followed) -> None:
        if not job.attempt or job.ended_at:
            return
        with suppress(AwsClientError):  # SageMaker may not show it yet
            found = self._sagemaker.describe_training_job(TrainingJobName=job.attempt)
            if not job.asked_in and found["SecondaryStatus"] in STARTING:
                with suppress(ConflictError):  # it has just ended
                    self._target.api.stop_job(job.name, "the acceptance stops it before it trains")
                    job.asked_in, job.asked_at = found["SecondaryStatus"], time.monotonic()
            elif job.repeated is None and found["TrainingJobStatus"] == "Stopping":
                job.repeated = answer_to(lambda: self._sagemaker.stop_training_job(TrainingJobName=job.attempt))

    def _result(self, job: _Followed) -> Run:
        details = job.details
        history = details.history if details is not None else ()
        stop = None
        if job.asked_in:
            took_s = (job.ended_at or time.monotonic()) - job.asked_at
            stop = Stop(secondary_status=job.asked_in, repeated=job.repeated, took_s=took_s)
        return Run(
            job=job.name,
            state=str(details.state) if details is not None else "unknown",
            reasons=tuple(f"{each.reason.code}: {each.reason.message}" for each in history),
            attempt=job.attempt,
            described=self._described(job.attempt) if job.attempt else {},
            tags=job.tags,
            stop=stop,
        )

    def _described(self, attempt: str) -> dict[str, Any]:
        found = self._sagemaker.describe_training_job(TrainingJobName=attempt)
        found.pop("ResponseMetadata", None)
        document: dict[str, Any] = json.loads(json.dumps(found, default=_plain))
        return document


def _plain(value: object) -> object:
    return value.timestamp() if isinstance(value, datetime) else str(value)
