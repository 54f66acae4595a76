"""Takes in SageMaker Training Job State Change events."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap import Services
from headway_service.observability.logging import logger
from headway_service.sagemaker_api.status import sighting_of

services = Services.from_environment()
cold_start.over()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Apply one event. An error is raised, so that Lambda tries again and then hands it to the dead-letter queue."""
    sighting = sighting_of(event["detail"])
    due = services.observer.take(sighting, services.clock())
    # What is an attempt of the queue did not come past it.
    if services.rogues.hear(sighting, services.clock()) if due is None else due:
        services.wake(f"{sighting.attempt} {sighting.status}")
