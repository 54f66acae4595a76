"""Run a SageMaker HyperparameterTuner as an array in the queue."""

from __future__ import annotations

from typing import Any

from headway_client.sagemaker_sdk.build_request import training_request
from headway_client.sagemaker_sdk.queued_job import QueuedJob
from headway_client.sagemaker_sdk.training_queue import TrainingQueue
from headway_client.sagemaker_sdk.tuner_sweep import sweep_of


def tune(
    tuner: Any, inputs: Any = None, job_name: str | None = None, *, queue: TrainingQueue | None = None, **options: Any
) -> QueuedJob:
    """Submit an array with the jobs of a tuner, in place of its ``fit`` or ``tune``.

    The strategies Random and Grid are supported: the others choose jobs by the results of earlier ones. Random values
    are the queue's own, drawn with the tuner's ``random_seed`` (0 without one); the scaling Auto is linear. As many
    members as ``max_parallel_jobs`` are in the queue or run at once.

    Args:
        tuner: a HyperparameterTuner of SDK 2 or 3, for one estimator or ModelTrainer.
        inputs: the inputs of ``fit`` or ``train``.
        job_name: the name of the array; by default one that the SDK generates.
        queue: the queue; by default the one that the environment or the profile file configures.
        options: further arguments of `TrainingQueue.submit`, such as ``priority`` and ``max_failures``.

    Returns:
        The array; ``headway results NAME`` shows its members and their metrics.

    Raises:
        UsageError: the tuner cannot be an array, or an argument is not valid.
        RefusedError: the queue refuses the request; the fields say what to change.
        ConflictError: the queue has a different request under that name.
    """
    sweep = sweep_of(tuner)
    training_job = getattr(tuner, "estimator", None) or tuner.model_trainer
    request = training_request(training_job, inputs, job_name=job_name)
    if tuner.metric_definitions:
        algorithm = {**request["AlgorithmSpecification"], "MetricDefinitions": list(tuner.metric_definitions)}
        request = {**request, "AlgorithmSpecification": algorithm}
    tags = {each["Key"]: each["Value"] for each in tuner.tags or ()} | dict(options.pop("tags", None) or {})
    at_once = options.pop("at_once", tuner.max_parallel_jobs)
    return (queue or TrainingQueue()).submit(request, sweep=sweep, at_once=at_once, tags=tags or None, **options)
