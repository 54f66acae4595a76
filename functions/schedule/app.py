"""Runs a tick when the wake queue says that something changed."""

from __future__ import annotations

from headway_service import starting

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service import figures
from headway_service.log import logger
from headway_service.meter import record
from headway_service.wiring import Services

services = Services.from_environment()
starting.over()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Run one tick for a batch of wake-ups, however many they are: a tick does all there is to do.

    A failed tick is logged and counted, not raised. A raised error would hide the batch, and with it the one
    message group of the queue, until the visibility timeout passes; the next wake-up, at the latest after a
    minute, does the same work anyway.
    """
    try:
        report = services.tick(context.get_remaining_time_in_millis())
    except Exception:  # noqa: BLE001 - whatever went wrong, the queue must not stall on it
        logger.exception("the tick failed", extra={"wakeups": len(event.get("Records", []))})
        record([figures.TICK_FAILED.of(1)])
        return
    record(
        [
            figures.TICK_FAILED.of(0),
            figures.STARTED.of(len(report.started)),
            figures.PREEMPTED.of(len(report.preempted)),
        ]
    )
