"""Once a minute: finds and handles rogue training jobs."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.patrol import PatrolContainer
from headway_service.observability.logging import logger

container = PatrolContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run once."""
    container.scan_rogue_jobs(context.get_remaining_time_in_millis())
