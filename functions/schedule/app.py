"""Runs a tick for each batch of wake-ups."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.schedule import ScheduleContainer
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger

container = ScheduleContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run one tick for a batch of wake-ups, however many they are: a tick does all there is to do.

    A failed tick is logged and counted, not raised. A raised error would hide the batch, and with it the one
    message group of the queue, until the visibility timeout passes; the next wake-up, at the latest after a
    minute, does the same work anyway.
    """
    try:
        report = container.tick(context.get_remaining_time_in_millis())
    except Exception:  # noqa: BLE001 - no error may block the wake-up queue
        logger.exception("the tick failed", extra={"wakeups": len(event.get("Records", []))})
        record([metrics.TICK_FAILED.of(1)])
        return
    record(
        [
            # A record that cannot be processed is as much a matter for an operator, although all others were. So is a
            # tick without a decision.
            metrics.TICK_FAILED.of(1 if report.failed or not report.decisions else 0),
            metrics.STARTED.of(len(report.launched)),
            metrics.PREEMPTED.of(len(report.preempted)),
        ]
    )
