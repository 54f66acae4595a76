"""Watches the use of running jobs: once a minute, and when an alarm fires."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.data_classes import SNSEvent
from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.log import logger
from headway_service.wiring import Services

metrics = Metrics()
services = Services.from_environment()


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Look at one alarm, or at all. An error is raised: Lambda tries the alarm again, the next minute looks at all."""
    # Also if it fails, so that there is always something to publish.
    metrics.add_metric(name="Measures", unit=MetricUnit.Count, value=0)
    if "Records" in event:
        alarms = [json.loads(record.sns.message)["AlarmName"] for record in SNSEvent(event).records]
        measures = sum([services.watcher.heed(alarm) for alarm in alarms])
    else:
        report = services.watcher.run()
        metrics.add_metric(name="Unwatched", unit=MetricUnit.Count, value=report.missing)
        measures = report.measures
    metrics.add_metric(name="Measures", unit=MetricUnit.Count, value=measures)
