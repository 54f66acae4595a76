"""Once a minute: recovers from lost events and lost wake-ups, and publishes the queue's gauges."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap import Services
from headway_service.monitoring.gauges import RESERVED_MS, gauges
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.tracking.reconciler import reconcile

services = Services.from_environment()
cold_start.freeze()


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
    record([metrics.UNHEARD.of(found.ended)])
    if context.get_remaining_time_in_millis() > RESERVED_MS:
        record(gauges(services.table, found.ledger, services.clock(), services.settings.reconcile_after_s))
