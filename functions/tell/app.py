"""Handles changes of jobs: publishes events and, by policy, messages."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.tell import TellContainer
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger

container = TellContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of the table's stream.

    Lambda continues before the record that is returned as failed, and sends it and all later records again (source: its
    developer guide, "Configuring partial batch response with DynamoDB and Lambda").
    """
    result = container.event_publisher.publish(event["Records"])
    record([metrics.UNTOLD.of(result.dropped)])
    failures = [] if result.failed_from is None else [{"itemIdentifier": result.failed_from}]
    return {"batchItemFailures": failures}
