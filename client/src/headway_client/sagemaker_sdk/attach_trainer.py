"""Trainers of the SageMaker Python SDK 3 for jobs of the queue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import boto3
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.resources import TrainingJob
from sagemaker.core.shapes import Tag
from sagemaker.core.training.configs import Compute, Networking
from sagemaker.core.utils.utils import Unassigned
from sagemaker.train.constants import SM_CODE, SM_DRIVERS
from sagemaker.train.model_trainer import ModelTrainer

from headway_client.botocore_hooks.attach import attach
from headway_client.request_tags import is_reserved

if TYPE_CHECKING:
    from headway_client.http.api import HeadwayApi
    from headway_client.models import JobDetails

# The suffixes that the SDK and then `headway_client.sagemaker_sdk.build_request` append to a base name.
_SUFFIXES = re.compile(r"-\d{14}(-[0-9a-f]{8})?$")

_KEPT = ("checkpoint_config", "environment", "output_data_config", "stopping_condition")
"""Settings with the same name and shape in a trainer and in a training job."""


def attached_trainer(api: HeadwayApi, details: JobDetails, boto_session: boto3.Session | None) -> ModelTrainer:
    """Return a trainer with a job as its latest training job, under the job's own name.

    The trainer has the settings of the job, but no source code, which is only in the job's channels on S3.

    Args:
        api: the queue.
        details: the job.
        boto_session: the session for SageMaker; None for a new one.
    """
    session = boto_session or boto3.Session()
    attach(session, api)
    training_job = TrainingJob.get(details.job.name, session=session, region=session.region_name)
    tags = [tag for tag in details.request.get("Tags", []) if not is_reserved(tag["Key"])]
    trainer = ModelTrainer(
        sagemaker_session=Session(boto_session=session),
        base_job_name=_SUFFIXES.sub("", details.job.name),
        tags=[Tag(key=tag["Key"], value=tag["Value"]) for tag in tags] or None,
        **_settings(training_job),
    )
    # There is no public API for this (sagemaker-train 1.27.0); its own client of AWS Batch does the same.
    trainer._latest_training_job = training_job  # noqa: SLF001
    return trainer


def _settings(training_job: TrainingJob) -> dict[str, Any]:
    settings = _assigned(training_job)
    algorithm = _assigned(training_job.algorithm_specification)
    inputs = settings.get("input_data_config", [])
    channels = [each for each in inputs if each.channel_name not in {SM_CODE, SM_DRIVERS}]
    network = _assigned(settings["vpc_config"]) if "vpc_config" in settings else {}
    network |= _chosen(settings, "enable_network_isolation", "enable_inter_container_traffic_encryption")
    spot = _chosen(settings, "enable_managed_spot_training")
    return {
        "role": training_job.role_arn,
        "hyperparameters": settings.get("hyper_parameters", {}),
        "input_data_config": channels or None,
        "compute": Compute(**_assigned(training_job.resource_config), **spot),
        "networking": Networking(**network) if network else None,
        **_chosen(settings, *_KEPT),
        **_chosen(algorithm, "training_image", "training_image_config", "algorithm_name", "training_input_mode"),
    }


def _assigned(shape: Any) -> dict[str, Any]:
    """Return the fields of a shape of the SDK that have a value; all others hold a placeholder."""
    return {name: value for name, value in shape if value is not None and not isinstance(value, Unassigned)}


def _chosen(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}
