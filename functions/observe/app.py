"""Takes in SageMaker Training Job State Change events."""

from __future__ import annotations

from headway_service import starting

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.log import logger
from headway_service.sightings import sighting_of
from headway_service.wiring import Services

services = Services.from_environment()
starting.over()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Apply one event. An error is raised, so that Lambda tries again and then hands it to the dead-letter queue."""
    sighting = sighting_of(event["detail"])
    due = services.observer.take(sighting, services.clock())
    # What is an attempt of the queue did not come past it.
    if services.rogues.hear(sighting, services.clock()) if due is None else due:
        services.wake(f"{sighting.attempt} {sighting.status}")
