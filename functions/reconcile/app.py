"""Once a minute: makes good what lost events and lost wake-ups left undone, and measures how the queue stands."""

from __future__ import annotations

from headway_service import starting

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service import figures
from headway_service.gauges import RESERVED_MS, gauges
from headway_service.log import logger
from headway_service.meter import record
from headway_service.reconcile import reconcile
from headway_service.wiring import Services

services = Services.from_environment()
starting.over()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run once."""
    found = reconcile(
        table=services.table,
        training_jobs=services.training_jobs,
        observer=services.observer,
        clock=services.clock,
        pause=services.pause,
        wake=services.wake,
        after_s=services.settings.reconcile_after_s,
    )
    record([figures.UNHEARD.of(found.ended)])
    if context.get_remaining_time_in_millis() > RESERVED_MS:
        record(gauges(services.table, found.ledger, services.clock(), services.settings.reconcile_after_s))
