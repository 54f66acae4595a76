"""Applies SageMaker Training Job State Change events."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.tracking import TrackingContainer
from headway_service.observability.logging import logger
from headway_service.sagemaker_api.status import parse_status
from headway_service.tracking.observer import StatusOutcome

container = TrackingContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Apply one event. An error is raised, so that Lambda tries again and then hands it to the dead-letter queue."""
    sighting = parse_status(event["detail"])
    outcome = container.observer.apply_status(sighting, container.clocks.training_ms())
    due = outcome is StatusOutcome.TICK_DUE
    if outcome is StatusOutcome.NOT_OURS:
        due = container.rogue_jobs.on_status(sighting, container.clocks.training_ms())
    if due:
        container.wake(f"{sighting.attempt} {sighting.status}")
