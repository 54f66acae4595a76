"""Build CreateTrainingJob requests from estimators and trainers, without starting a training job.

Estimators of the SageMaker Python SDK 2, trainers of version 3 (or of ``sagemaker.modules`` in version 2) and plain
requests are supported. This module imports no SDK before it is passed an object of that SDK.
"""

from __future__ import annotations

import copy
import sys
import uuid
from collections.abc import Mapping
from typing import Any

from headway_client.botocore_hooks.attach import default_priority
from headway_client.errors import UsageError
from headway_client.request_tags import with_default_priority

MAX_NAME_CHARS = 63
"""Maximum length of a training job's name (source: API reference, CreateTrainingJob, TrainingJobName)."""

_SUFFIX_CHARS = 8

# A module and a class in it.
_Kind = tuple[str, str]
_ESTIMATORS: tuple[_Kind, ...] = (("sagemaker.estimator", "EstimatorBase"),)
_TRAINERS: tuple[_Kind, ...] = (
    ("sagemaker.train.model_trainer", "ModelTrainer"),
    ("sagemaker.modules.train.model_trainer", "ModelTrainer"),
)
_PIPELINE_SESSIONS: tuple[_Kind, ...] = (
    ("sagemaker.workflow.pipeline_context", "PipelineSession"),
    ("sagemaker.core.workflow.pipeline_context", "PipelineSession"),
)


def training_request(
    training_job: Any,
    inputs: Any = None,
    *,
    job_name: str | None = None,
    experiment_config: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the request that training would send, after uploading its sources to S3 as training does.

    Args:
        training_job: an estimator, a ModelTrainer, or boto3's parameters of CreateTrainingJob.
        inputs: the inputs of ``fit`` or ``train``; for plain parameters a replacement of their InputDataConfig.
        job_name: the job's name; by default the one that the SDK generates or the parameters contain. Names that
            trainers generate differ only by the second, and long ones not at all, so they get a random suffix.
        experiment_config: for an estimator, the argument of ``fit``.

    Raises:
        UsageError: `training_job` is none of these, would train on this machine, is a step of a pipeline, or has no
            name.
    """
    if experiment_config is not None and not _is_a(training_job, _ESTIMATORS):
        raise UsageError("experiment_config is for estimators only; put ExperimentConfig into the request instead.")
    if isinstance(training_job, Mapping):
        return _of_parameters(training_job, inputs, job_name)
    if _is_a(training_job, _ESTIMATORS):
        return _of_estimator(training_job, inputs, job_name, experiment_config)
    if _is_a(training_job, _TRAINERS):
        return _of_trainer(training_job, inputs, job_name)
    raise UsageError(
        "A training job is an estimator (SageMaker SDK 2), a ModelTrainer (SDK 3) or a dict with the parameters of "
        f"CreateTrainingJob, not {type(training_job).__name__}."
    )


def _of_parameters(parameters: Mapping[str, Any], inputs: Any, job_name: str | None) -> dict[str, Any]:
    request = dict(parameters)
    if inputs is not None:
        request["InputDataConfig"] = inputs
    if job_name is not None:
        request["TrainingJobName"] = job_name
    if not request.get("TrainingJobName"):
        raise UsageError("The request has no TrainingJobName: add it, or give job_name.")
    return request


def _of_estimator(
    estimator: Any, inputs: Any, job_name: str | None, experiment_config: Mapping[str, str] | None
) -> dict[str, Any]:
    session = estimator.sagemaker_session
    if session.local_mode:
        raise UsageError("The estimator trains on this machine (local mode); give it an instance_type such as ml.*.")
    _refuse_pipelines(session)
    from sagemaker.estimator import _TrainingJob

    estimator.prepare_workflow_for_training(job_name)
    # get_train_request() of 2.257 is missing in earlier versions, but all versions pass the complete request to this
    # method of their session, which pipelines override as well (measured on 2.208.0 and 2.257.7).
    requests: list[dict[str, Any]] = []
    recorder = copy.copy(session)
    recorder._intercept_create_request = lambda request, *_: requests.append(request)  # noqa: SLF001
    arguments = _TrainingJob._get_train_args(estimator, inputs, dict(experiment_config or {}))  # noqa: SLF001
    recorder.train(**arguments)
    (request,) = requests
    return _with_priority_of(session, request)


def _of_trainer(trainer: Any, inputs: Any, job_name: str | None) -> dict[str, Any]:
    if trainer.training_mode.name != "SAGEMAKER_TRAINING_JOB":
        raise UsageError("The trainer trains on this machine; give it training_mode=Mode.SAGEMAKER_TRAINING_JOB.")
    _refuse_pipelines(trainer.sagemaker_session)
    # The SDK's own client of AWS Batch gets the request from the same method (sagemaker-train 1.27.0).
    request = trainer._create_training_job_args(input_data_config=inputs, boto3=True)  # noqa: SLF001
    staged = trainer._temp_code_dir  # noqa: SLF001
    if staged is not None:
        staged.cleanup()
    named = {**request, "TrainingJobName": job_name or _unique_name(request["TrainingJobName"])}
    return _with_priority_of(trainer.sagemaker_session, named)


def _with_priority_of(session: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as the session's client would send it: with the client's priority if it has none."""
    return with_default_priority(request, default_priority(session.sagemaker_client))


def _unique_name(name: str) -> str:
    suffix = uuid.uuid4().hex[:_SUFFIX_CHARS]
    return f"{name[: MAX_NAME_CHARS - len(suffix) - 1]}-{suffix}"


def _refuse_pipelines(session: Any) -> None:
    if _is_a(session, _PIPELINE_SESSIONS):
        raise UsageError("A step of a pipeline is started by its pipeline; use an ordinary session to queue the job.")


def _is_a(value: object, kinds: tuple[_Kind, ...]) -> bool:
    """Return whether a value is an instance of one of these classes, which implies that its module is loaded."""
    loaded = ((sys.modules.get(module), name) for module, name in kinds)
    return any(isinstance(value, getattr(module, name)) for module, name in loaded if module is not None)
