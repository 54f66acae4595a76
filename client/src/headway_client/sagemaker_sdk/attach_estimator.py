"""Estimators of the SageMaker Python SDK, version 2, attached to jobs of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker.estimator import Estimator

from headway_client.request_tags import is_reserved
from headway_client.sagemaker_sdk.session import QueueTrainingJobSession

if TYPE_CHECKING:
    import boto3

    from headway_client.http.api import HeadwayApi


def attached_estimator(api: HeadwayApi, name: str, boto_session: boto3.Session | None) -> Estimator:
    """Return an estimator whose latest training job is the job of that name, once it has ended.

    Its session is a `QueueTrainingJobSession`, so the job keeps its name, whatever its attempts are called.
    """
    estimator = Estimator.attach(name, sagemaker_session=QueueTrainingJobSession(boto_session, api=api))
    # Such tags can't be given to the next training job.
    estimator.tags = [tag for tag in estimator.tags if not is_reserved(tag["Key"])]
    return estimator
