"""Puts the figures of a job together: what the queue knows, what SageMaker describes, and what CloudWatch has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from headway.advice import Host, JobFigures
from headway.reasons import ReasonCode
from headway_client.job_figures.training_job import TrainingJobFigures, figures_of
from headway_client.job_figures.utilization import read_hosts
from headway_client.models import Attempt, JobDetails

PREEMPTED = frozenset({ReasonCode.RETURNED_TO_LINE, ReasonCode.PREEMPTED, ReasonCode.RECLAIMED, ReasonCode.POOL_SHRANK})
"""Reasons of attempts that ended although their training had not."""

_COMPLETED = "Completed"


@dataclass(frozen=True, kw_only=True)
class ReadFigures:
    """The figures of a job.

    Attributes:
        figures: the figures.
        attempt: the attempt whose utilization they have; None if the job has not been launched.
        refused: the calls that AWS refused, with the code.
    """

    figures: JobFigures
    attempt: str | None
    refused: tuple[str, ...]


def read_figures(job: JobDetails, *, sagemaker: Any, cloudwatch: Any, now_s: float) -> ReadFigures:
    """Read the figures of a job. A call that AWS refuses leaves its figures out.

    Args:
        sagemaker: a boto3 client of SageMaker.
        cloudwatch: a boto3 client of CloudWatch.
        now_s: the queue's time, s since 1970.
    """
    refused: list[str] = []
    attempt = _newest(job.attempts)
    described: TrainingJobFigures | None = None
    hosts: tuple[Host, ...] = ()
    if attempt is not None:
        try:
            described = figures_of(sagemaker.describe_training_job(TrainingJobName=attempt.name), now_s)
        except ClientError as error:
            refused.append(_refusal("sagemaker:DescribeTrainingJob", error))
    if attempt is not None and described is not None and described.training_s is not None:
        try:
            hosts = read_hosts(
                *(cloudwatch, attempt.name, described.types),
                start_s=described.training_s,
                end_s=described.end_s or now_s,
                now_s=now_s,
            )
        except ClientError as error:
            refused.append(_refusal("cloudwatch:GetMetricData", error))
    figures = JobFigures(
        hosts=hosts,
        attempt_s=None if described is None else described.run_s(now_s),
        downloading_s=None if described is None else described.downloading_s,
        reads_files=described is not None and described.reads_files,
        limit_s=None if described is None else described.limit_s,
        completed_s=_run_s(attempt) if attempt is not None and attempt.status == _COMPLETED else None,
        preempted_s=tuple(
            run_s
            for each in job.attempts
            if each.reason is not None and each.reason.code in PREEMPTED and (run_s := _run_s(each)) is not None
        ),
        checkpoints="CheckpointConfig" in job.request,
    )
    return ReadFigures(figures=figures, attempt=None if attempt is None else attempt.name, refused=tuple(refused))


def _newest(attempts: Sequence[Attempt]) -> Attempt | None:
    return max((each for each in attempts if each.started_time), key=lambda each: each.number, default=None)


def _run_s(attempt: Attempt) -> float | None:
    """Return how long an attempt that has ended held its instances, s."""
    if attempt.started_time is None or attempt.ended_time is None:
        return None
    start, end = map(datetime.fromisoformat, (attempt.started_time, attempt.ended_time))
    return (end - start).total_seconds()


def _refusal(action: str, error: ClientError) -> str:
    return f"{action} was refused: {error.response.get('Error', {}).get('Code', 'unknown')}"
