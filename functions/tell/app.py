"""Tells of changes of jobs: on the event bus and, by policy, by message."""

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
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Tell of a batch of the table's stream.

    Lambda goes on after the last record before the one that is answered here, and sends that and all after it again
    (source: its developer guide, "Configuring partial batch response with DynamoDB and Lambda").
    """
    told = services.teller.tell(event["Records"])
    record([figures.UNTOLD.of(told.untold)])
    failures = [] if told.failed_from is None else [{"itemIdentifier": told.failed_from}]
    return {"batchItemFailures": failures}
