"""Estimators of the SageMaker Python SDK 2 for jobs of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker.estimator import Estimator

from headway_client.request_tags import is_reserved
from headway_client.sagemaker_sdk.session import QueueTrainingJobSession

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi


def attached_estimator(api: HeadwayApi, name: str, boto_session: boto3.Session | None) -> Estimator:
    """Wait for a job's end and return an estimator with it as its latest training job.

    The estimator has a `QueueTrainingJobSession`, so that the job has its own name, not that of an attempt.

    Args:
        api: the queue.
        name: the job's name.
        boto_session: the session for SageMaker; None for boto3's default session.
    """
    estimator = Estimator.attach(name, sagemaker_session=QueueTrainingJobSession(boto_session, api=api))
    # Requests can't have reserved tags, so the estimator's next training job must not have them.
    estimator.tags = [tag for tag in estimator.tags if not is_reserved(tag["Key"])]
    return estimator
