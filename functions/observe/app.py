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
    # A training job is an attempt of the queue or none, so at most one of the two has anything to do.
    if services.observer.take(sighting, services.clock()) or services.rogues.hear(sighting, services.clock()):
        services.wake(f"{sighting.attempt} {sighting.status}")
