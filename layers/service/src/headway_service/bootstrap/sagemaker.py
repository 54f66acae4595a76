"""SageMaker's training jobs."""

from __future__ import annotations

from functools import cached_property

import boto3

from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_service.bootstrap.clients import CALL_LIMITS, ONE_TRY
from headway_service.bootstrap.container import Container
from headway_service.ports.training_jobs import AllTrainingJobs


class SageMakerContainer(Container):
    """For the functions that ask SageMaker about training jobs."""

    @cached_property
    def training_jobs(self) -> AllTrainingJobs:
        """SageMaker."""
        return SageMakerTrainingJobs(
            boto3.client("sagemaker", config=CALL_LIMITS),
            lambda: boto3.client("sagemaker", config=ONE_TRY),
        )
