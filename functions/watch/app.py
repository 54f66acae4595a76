"""Watches running jobs: their utilization once a minute and when an alarm fires, and the metrics of arrays."""

from __future__ import annotations

from headway_service import cold_start

# isort: split
import json
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SNSEvent
from aws_lambda_powertools.utilities.typing import LambdaContext

from headway_service.bootstrap.watch import WatchContainer
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.observability.steps import isolated_steps
from headway_service.store.ledger import read_ledger

container = WatchContainer.from_environment()
cold_start.freeze()


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Handle one alarm, or all.

    Errors are raised, in the run once a minute when each step has been run, and the event becomes a dead letter. It is
    not retried: the next minute's run handles all alarms.
    """
    if "Records" in event:
        alarms = [json.loads(each.sns.message)["AlarmName"] for each in SNSEvent(event).records]
        done = [container.utilization_monitor.on_alarm(alarm) for alarm in alarms]
        record(metrics.measures([action for action in done if action is not None]))
    else:
        ledger = read_ledger(container.table)
        with isolated_steps() as step:
            with step("utilization"):
                report = container.utilization_monitor.run(ledger)
                record([metrics.UNWATCHED.of(report.missing), *metrics.measures(report.measures)])
            with step("early stopping"):
                record([metrics.MEASURES.of(container.early_stopper.run(ledger))])
