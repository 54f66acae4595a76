"""How the queue reads an answer of SageMaker: by its own adapter, which gets that answer over botocore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.errors import HeadwayError
from headway_sandbox.errors import AwsError
from headway_sandbox.inprocess.stub_client import stub_client
from headway_sandbox.sagemaker.request_builder import training_request
from headway_service.aws.sagemaker_training_jobs import SageMakerTrainingJobs
from headway_verification.acceptance.evidence import Answer

_NAME = "headway-accept"

Call = Callable[[SageMakerTrainingJobs], object]


def create(jobs: SageMakerTrainingJobs) -> None:
    """Launch a training job."""
    jobs.create(training_request(_NAME, [("ml.m5.large", 1)], run_s=60))


def stop(jobs: SageMakerTrainingJobs) -> None:
    """Stop a training job."""
    jobs.stop(_NAME)


def release(jobs: SageMakerTrainingJobs) -> None:
    """Release a warm pool."""
    jobs.release_warm_pool(_NAME)


def read(call: Call, answer: Answer) -> HeadwayError | None:
    """Return the error that the queue makes of an answer; None if it takes it for a success.

    Args:
        call: what the queue does when it gets the answer.
        answer: SageMaker's.
    """

    def answered(_operation: str, _request: Mapping[str, Any]) -> Mapping[str, Any]:
        if answer.is_accepted:
            return {"TrainingJobArn": f"arn:aws:sagemaker:eu-west-1:123456789012:training-job/{_NAME}"}
        raise AwsError(answer.code, answer.message, status=answer.status)

    try:
        call(SageMakerTrainingJobs(stub_client("sagemaker", answered)))
    except HeadwayError as error:
        return error
    return None
