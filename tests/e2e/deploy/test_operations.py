"""The deployed alarms and dashboard, with the metrics that the deployed functions publish."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from headway_sandbox.local.sandbox import Sandbox
from headway_service.observability.metrics import NAMESPACE
from tests.e2e.queue_view import QueueView
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

SETTINGS = (
    *("AlarmDescription", "Namespace", "MetricName", "Statistic", "Period", "EvaluationPeriods", "Threshold"),
    *("ComparisonOperator", "TreatMissingData"),
)
REHEARSAL = [{"Name": "service", "Value": "rehearsal"}]


def named(sb: Sandbox, name: str) -> dict[str, Any]:
    (alarm,) = sb.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return dict(alarm)


def deployed(sb: Sandbox, logical_id: str) -> dict[str, Any]:
    """An alarm of the stack."""
    cloudformation = sb.client("cloudformation")
    found = cloudformation.describe_stack_resource(StackName=sb.info.stack, LogicalResourceId=logical_id)
    return named(sb, found["StackResourceDetail"]["PhysicalResourceId"])


@pytest.fixture
def queue_stalled(sb: Sandbox) -> Iterator[dict[str, Any]]:
    """The deployed alarm on a stalled queue, with its metric replaced by one that only the test publishes."""
    alarm = {**{name: deployed(sb, "QueueStalledAlarm")[name] for name in SETTINGS}, "Dimensions": REHEARSAL}
    alarm["AlarmName"] = "rehearsal"
    yield alarm
    sb.client("cloudwatch").delete_alarms(AlarmNames=["rehearsal"])


def test_the_functions_publish_for_the_stack_and_its_pools(sb: Sandbox, queue: QueueView) -> None:
    queue.submit("published")
    queue.wait_for(published="running")
    cloudwatch = sb.client("cloudwatch")

    def published() -> set[tuple[str, str]]:
        return {
            (metric["MetricName"], "/".join(sorted(each["Value"] for each in metric["Dimensions"])))
            for metric in cloudwatch.list_metrics(Namespace=NAMESPACE)["Metrics"]
        }

    (watched,) = deployed(sb, "QueueStalledAlarm")["Dimensions"]
    assert watched == {"Name": "service", "Value": sb.info.stack}
    pool = f"{sb.info.stack}/ml.p5.48xlarge"
    wanted = {("Started", sb.info.stack), ("TimeToStart", pool), ("Allocated", pool), ("Utilisation", pool)}
    eventually(
        lambda: wanted <= published(), lambda: f"published is {published()}", meanwhile=lambda: sb.invoke("Reconcile")
    )


def test_the_alarm_on_a_missing_reconciler_fires_until_it_has_run(sb: Sandbox) -> None:
    # The first minute with a run has to be over.
    eventually(
        lambda: deployed(sb, "GaugesMissingAlarm")["StateValue"] == "OK",
        "the reconciler is not missed",
        timeout_s=180,
    )


def test_the_alarm_on_a_stalled_queue_fires_until_a_job_starts(sb: Sandbox, queue_stalled: dict[str, Any]) -> None:
    cloudwatch = sb.client("cloudwatch")
    minutes = [datetime.fromtimestamp(time.time() - 60 * ago, UTC) for ago in range(1, 16)]

    def put(jobs: float) -> None:
        """Publish the number of jobs that could have started in each of the last minutes."""
        figure = {"MetricName": queue_stalled["MetricName"], "Dimensions": REHEARSAL, "Value": jobs, "Unit": "Count"}
        data = [{**figure, "Timestamp": minute} for minute in minutes]
        cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data)
        # A created alarm is evaluated immediately, any other when its minute is over.
        cloudwatch.put_metric_alarm(**queue_stalled)

    put(2)
    eventually(lambda: named(sb, "rehearsal")["StateValue"] == "ALARM", "the alarm fires")
    put(0)
    eventually(lambda: named(sb, "rehearsal")["StateValue"] == "OK", "the alarm recovers")


def test_the_deployed_dashboard_shows_the_deployed_alarms(sb: Sandbox) -> None:
    cloudwatch = sb.client("cloudwatch")
    body = cloudwatch.get_dashboard(DashboardName=sb.info.stack)["DashboardBody"]
    assert "${" not in body
    (shown,) = [each["properties"]["alarms"] for each in json.loads(body)["widgets"] if each["type"] == "alarm"]
    alarms = cloudwatch.describe_alarms(AlarmNamePrefix=sb.info.stack)["MetricAlarms"]
    assert set(shown) <= {alarm["AlarmArn"] for alarm in alarms}
