"""Watches the use of running jobs: once a minute, and when an alarm fires."""

from __future__ import annotations

from headway_service import starting

# isort: split
import json
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SNSEvent
from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service import figures
from headway_service.log import logger
from headway_service.meter import record
from headway_service.wiring import Services

services = Services.from_environment()
starting.over()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Look at one alarm, or at all. An error is raised: Lambda tries the alarm again, the next minute looks at all."""
    if "Records" in event:
        alarms = [json.loads(each.sns.message)["AlarmName"] for each in SNSEvent(event).records]
        record([figures.MEASURES.of(sum([services.watcher.heed(alarm) for alarm in alarms]))])
    else:
        report = services.watcher.run()
        record([figures.UNWATCHED.of(report.missing), figures.MEASURES.of(report.measures)])
