"""Which utilization rules cover an attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.jobpolicy.utilization import Coverage, Watched, coverage
from headway_service.admission.admit import as_ruled
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.sagemaker_api.training_request import TrainingRequest
from headway_service.store.records.attempt import AttemptRecord


def coverage_of(
    attempt: AttemptRecord, request: Mapping[str, Any], configuration: Configuration
) -> tuple[Coverage, ...]:
    """How an attempt is covered by the watches in force.

    Args:
        attempt: the attempt.
        request: the CreateTrainingJob request.
        configuration: the configuration in effect.
    """
    job = as_ruled(request, TrainingRequest.parse(request).tags, configuration, attempt.team or DEFAULT_TEAM)
    watched = Watched(attempt=attempt.attempt_name, hosts=job.hosts(), job=job)
    return coverage(watched, configuration.active_watches())
