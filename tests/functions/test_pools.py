"""The calls on pools, through the handler of the API."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import event
from headway_service.aws.dynamodb_table import DynamoDBTable
from headway_service.pools.operations import MAX_REASON_CHARS
from headway_service.ports.table import Absent
from headway_service.store.records.capacity.ledger import PauseRecord
from tests.functions.conftest import Functions
from tests.service.world import P5, request

WHY = {"reason": "the cooling is repaired"}


def pool(functions: Functions) -> dict[str, Any]:
    status, answer = functions.http("GET", "/capacity")
    assert status == 200
    (found,) = answer["pools"]
    assert isinstance(found, dict)
    return found


def test_a_pause_records_the_caller_and_can_be_resumed(functions: Functions) -> None:
    status, paused = functions.http("POST", f"/pools/{P5}/pause", WHY)
    assert status == 200
    since = paused["pause"].pop("since")
    assert paused["pause"] == {"everything": False, "by": "user/ada", "stops": False, **WHY}
    assert functions.wakes() == ["paused"]
    _, job = functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    _, job = functions.http("GET", "/jobs/a")
    assert (job["jobState"], job["reason"]["code"]) == ("pending", "Paused")
    assert "by user/ada: the cooling is repaired" in job["reason"]["message"]
    assert pool(functions)["pause"]["since"] == since
    functions.wakes()
    status, resumed = functions.http("POST", f"/pools/{P5}/resume")
    assert (status, resumed["pause"]) == (200, None)
    assert functions.wakes() == ["resumed"]
    functions.invoke("schedule", event("schedule"))
    assert functions.http("GET", "/jobs/a")[1]["jobState"] == "running"


def test_all_pools_are_paused_and_resumed(functions: Functions) -> None:
    status, answer = functions.http("POST", "/pause", WHY)
    assert (status, answer["pools"][0]["pause"]["everything"]) == (200, True)
    assert functions.http("POST", f"/pools/{P5}/resume")[1]["pause"]["everything"]
    assert functions.http("POST", "/resume")[1]["pools"][0]["pause"] is None


def test_a_drain_stops_running_jobs_only_on_request(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("a"))
    functions.invoke("schedule", event("schedule"))
    for more, state in (({}, "running"), ({"stop": True}, "stopping")):
        status, drained = functions.http("POST", f"/pools/{P5}/drain", {**WHY, **more})
        assert (status, drained["pause"]["stops"]) == (200, bool(more))
        functions.invoke("schedule", event("schedule"))
        assert functions.http("GET", "/jobs/a")[1]["jobState"] == state


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("PATCH", f"/pools/{P5}", {"size": 5}, "pool resized"),
        ("PUT", "/config", {"pools": {P5: {"size": 5}}, "version": 1}, "configuration replaced"),
        ("POST", f"/pools/{P5}/pause", {"reason": "x"}, "paused"),
    ],
)
def test_the_log_says_who_has_changed_pools(
    functions: Functions,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    body: dict[str, Any],
    message: str,
) -> None:
    assert functions.http(method, path, body)[0] == 200
    (line,) = (vars(each) for each in caplog.records if each.message == message)
    assert line.get("caller", line.get("by", "")).endswith("user/ada")


def test_a_pool_is_resized(functions: Functions) -> None:
    status, answer = functions.http("PATCH", f"/pools/{P5}", {"size": 5})
    assert (status, answer["size"], answer["free"]) == (200, 5, 5)
    assert functions.http("GET", "/config")[1]["document"]["pools"] == {P5: {"size": 5}}
    assert functions.wakes() == ["a pool was resized"]


def test_a_resume_of_all_pools_before_the_scan_after_a_restore_is_refused(functions: Functions) -> None:
    record = PauseRecord(pool="*", by="restore", reason="the table was restored", since_ms=1, restored_ms=1)
    DynamoDBTable(functions.dynamodb, "queue").write([record.put(requires=Absent())])
    status, refusal = functions.http("POST", "/resume")
    assert (status, refusal["error"]["code"]) == (409, "RestoreUnfinished")
    (pool,) = functions.http("GET", "/capacity")[1]["pools"]
    assert (pool["pause"]["by"], pool["pause"]["reason"]) == ("restore", "the table was restored")
    functions.invoke("patrol", event("patrol"))
    assert functions.http("POST", "/resume")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/pools/ml.g5.xlarge/pause", WHY),
        ("POST", "/pools/ml.g5.xlarge/drain", WHY),
        ("POST", "/pools/ml.g5.xlarge/resume", None),
        ("PATCH", "/pools/ml.g5.xlarge", {"size": 1}),
    ],
)
def test_an_unknown_pool_is_refused_with_the_known_ones(
    functions: Functions, method: str, path: str, body: Any
) -> None:
    status, refusal = functions.http(method, path, body)
    assert (status, refusal["error"]["code"]) == (404, "PoolNotFound")
    assert f"there are: {P5}" in refusal["error"]["message"]


@pytest.mark.parametrize("call", ["pause", "drain"])
def test_a_reason_may_be_as_long_as_the_limit(functions: Functions, call: str) -> None:
    body = {"reason": "x" * MAX_REASON_CHARS, **({"stop": True} if call == "drain" else {})}
    status, pool = functions.http("POST", f"/pools/{P5}/{call}", body)
    assert status == 200, pool


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        ("pause", {}, "reason"),
        ("pause", {"reason": ""}, "reason"),
        ("pause", {"reason": "   "}, "reason"),
        ("pause", {"reason": "a\nb"}, "reason"),
        ("pause", {"reason": "\x1b[2J"}, "reason"),
        ("pause", {"reason": "\u202eevil"}, "reason"),
        ("pause", {"reason": "x" * (MAX_REASON_CHARS + 1)}, "reason"),
        ("drain", {"reason": "x" * (MAX_REASON_CHARS + 1), "stop": True}, "reason"),
        ("pause", {"reason": "x", "stop": True}, "stop"),
        ("drain", {"reason": "x", "stop": "yes"}, "stop"),
    ],
)
def test_a_reason_is_one_line_of_bounded_text(functions: Functions, call: str, body: Any, field: str) -> None:
    status, refusal = functions.http("POST", f"/pools/{P5}/{call}", body)
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    assert [each["field"] for each in refusal["error"]["fields"]] == [field]
    assert pool(functions)["pause"] is None


@pytest.mark.parametrize(
    ("call", "body", "message"),
    [
        ("pause", {}, "reason: is required: add it"),
        ("pause", {"reason": " "}, "reason: must be one line of visible text, without control characters"),
        ("pause", {"reason": "x" * 201}, "reason: must have at most 200 characters"),
        ("pause", {"reason": 7}, "reason: must be text"),
        ("pause", {"reason": "x", "stop": True}, "stop: is not known here: remove it, or check its spelling"),
        ("drain", {"reason": "x", "stop": "yes"}, "stop: must be true or false"),
        ("pause", [], "(the body): must be an object"),
    ],
)
def test_a_call_that_is_not_valid_is_answered_with_what_to_change(
    functions: Functions, call: str, body: Any, message: str
) -> None:
    assert functions.http("POST", f"/pools/{P5}/{call}", body)[1]["error"]["message"] == message


@pytest.mark.parametrize("size", [-1, 10_001, 1.5, "2", None])
def test_a_size_is_a_whole_number_within_its_bounds(functions: Functions, size: Any) -> None:
    status, refusal = functions.http("PATCH", f"/pools/{P5}", {"size": size})
    assert (status, refusal["error"]["code"]) == (400, "InvalidRequest")
    assert pool(functions)["size"] == 2


def test_a_name_that_no_pool_can_have_is_refused(functions: Functions) -> None:
    status, refusal = functions.http("POST", f"/pools/{'x' * 2000}/pause", WHY)
    assert (status, refusal["error"]["fields"][0]["field"]) == (400, "pool")
