"""Once a minute: makes good what lost events and lost wake-ups left undone."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.log import logger
from headway_service.reconcile import reconcile
from headway_service.wiring import Services

services = Services.from_environment()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run once."""
    reconcile(
        table=services.table,
        training_jobs=services.training_jobs,
        observer=services.observer,
        clock=services.clock,
        wake=services.wake,
        after_s=services.settings.reconcile_after_s,
    )
