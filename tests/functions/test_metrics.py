"""The functions publish every metric that there is, and no other."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Any

import pytest

from headway.refusals import Cause, FailedLaunches
from headway_sandbox.cloudwatch.embedded_metrics import points
from headway_sandbox.inprocess.lambda_loader import Context, event
from headway_service.observability import emf, metrics
from headway_service.observability.logging import logger
from headway_service.observability.metrics import NAMESPACE, Metric
from headway_service.ports.table import Put, Table
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.repository import get_job
from tests.functions.conftest import ANY_VERSION, Functions
from tests.functions.test_tell import Bus
from tests.service.world import P5, request

CATALOGUE = {(each.name, each.unit.value, each.by) for each in vars(metrics).values() if isinstance(each, Metric)}


def tagged(name: str, priority: int) -> dict[str, Any]:
    tags = [{"Key": "priority", "Value": str(priority)}, {"Key": "team", "Value": "vision"}]
    return request(name, Tags=tags)


def refuse(table: Table, name: str) -> None:
    """Note that SageMaker has not launched a waiting job for long."""
    failed = FailedLaunches(count=2, since_ms=0, last_ms=0, cause=Cause.DENIED, code="AccessDeniedException")
    table.write([entry.put() for entry in get_job(table, name).with_failed(failed).queue_entries()])


def forget_pause(table: Table, pool: str) -> None:
    """Note a pause that nobody has ended for long."""
    pause, key = PauseRecord(pool=pool, by="user/ada", reason="", since_ms=0), PauseRecord.key(pool)
    table.write([Put(item={"pk": key.pk, "sk": key.sk, **pause.fields()})])


def test_the_functions_publish_all_metrics_of_the_catalogue_and_no_others(
    functions: Functions, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Noughts, too: that nothing is amiss is not published otherwise.
    monkeypatch.setattr(emf, "is_published", lambda _: True)
    document = {"pools": {P5: {"size": 1}}, "teams": {"vision": {}}}
    functions.http("PUT", "/config", document, headers=ANY_VERSION)
    functions.http("POST", "/jobs", tagged("low", 1))
    functions.invoke("schedule", event("schedule"))
    functions.http("POST", "/jobs", tagged("high", 5))
    functions.invoke("schedule", event("schedule"))
    stopped = {"TrainingJobName": "low", "TrainingJobStatus": "Stopped", "SecondaryStatus": "Stopped"}
    functions.invoke("observe", {**event("observe"), "detail": stopped})
    functions.http("POST", "/jobs", tagged("refused", 0))
    refuse(functions.module("reconcile").container.table, "refused")
    forget_pause(functions.module("reconcile").container.table, "ml.g5.xlarge")
    functions.invoke("reconcile", event("reconcile"))
    functions.invoke("watch", event("watch"))
    teller = functions.module("tell").container
    monkeypatch.setitem(vars(teller), "_event_bridge", Bus())
    monkeypatch.setattr(teller, "settings", replace(teller.settings, event_bus="headway"))
    functions.invoke("tell", {"Records": []})
    with monkeypatch.context() as broken:
        broken.setattr(functions.module("api").container.table, "get", (1).__truediv__)
        assert functions.http("GET", "/jobs/low")[0] == HTTPStatus.INTERNAL_SERVER_ERROR

    found = [each for line in capsys.readouterr().out.splitlines() for each in points(line)]
    assert {each.namespace for each in found} == {NAMESPACE}
    assert {each.dimensions["service"] for each in found} == {"headway"}
    published = {(each.name, each.unit, "".join(each.dimensions.keys() - {"service"})) for each in found}
    assert published == CATALOGUE
    values = {(each.name, *sorted(set(each.dimensions.values()) - {"headway"})): each.value for each in found}
    assert values["Allocated", P5] == 0
    assert (values["Reserved", P5], values["Waiting", P5], values["Waiting", "vision"]) == (1, 3, 3)
    assert values["Ended", "preempted"] == 1


def test_the_queue_is_measured_and_the_scheduler_woken_by_a_run_that_has_no_time_for_attempts(
    functions: Functions, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    capsys.readouterr()
    functions.wakes()
    functions.module("reconcile").handler(event("reconcile"), Context(get_remaining_time_in_millis=lambda: 0))
    found = [each for line in capsys.readouterr().out.splitlines() for each in points(line)]
    assert any(each.name == metrics.ALLOCATED.name for each in found)
    assert functions.wakes() == ["reconcile"]


def test_the_log_of_a_call_has_the_callers_request_id(functions: Functions) -> None:
    for request_id in ("first", "second"):
        call = event("api-list")
        call["requestContext"]["requestId"] = request_id
        functions.invoke("api", call)
        assert logger.get_correlation_id() == request_id
