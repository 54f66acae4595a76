"""The API's forecasts, batches, and version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import event, http_event
from headway_service import __version__
from headway_service.ports.clocks import Clocks
from tests.functions.conftest import Functions
from tests.service.world import on, request

P5 = "ml.p5.48xlarge"


@pytest.fixture
def full(functions: Functions) -> Functions:
    """Two jobs run, and `waits` waits."""
    for name in ("a", "b"):
        functions.http("POST", "/jobs", request(name, 5))
    functions.invoke("schedule", event("schedule"))
    functions.http("POST", "/jobs", request("waits", 5))
    functions.wakes()
    return functions


def test_a_dry_run_accepts_nothing(full: Functions) -> None:
    status, told = full.http("POST", "/jobs", request("mine", 9), query={"dryRun": ["true"]})
    assert (status, told["dryRun"]) == (200, True)
    assert (told["job"]["jobName"], told["job"]["jobState"], told["job"]["place"]) == ("mine", "pending", 1)
    assert told["job"]["owner"] == "arn:aws:iam::123456789012:user/ada"
    assert told["preempts"] == ["b"]
    assert told["expectedStart"].endswith("Z")
    assert full.http("GET", "/jobs/mine")[0] == 404
    assert full.wakes() == []


def test_a_dry_run_refuses_what_a_submission_refuses_and_a_known_name(full: Functions) -> None:
    dry = {"dryRun": ["true"]}
    for body in (request("x", RoleArn=None), request("x", ResourceConfig=on(9)), request("waits", 6)):
        real, told = full.http("POST", "/jobs", body), full.http("POST", "/jobs", body, query=dry)
        assert (told[0], told[1]["error"]["code"]) == (real[0], real[1]["error"]["code"])
    assert full.http("POST", "/jobs", request("waits", 5), query=dry)[0] == 409
    assert full.http("POST", "/jobs", request("x"), query={"dryRun": ["perhaps"]})[0] == 400


def test_a_batch_answers_for_each_request(functions: Functions) -> None:
    wrong = request("b", RoleArn=None)
    status, answer = functions.http("POST", "/job-batches", {"requests": [request("a"), wrong, request("a")]})
    assert status == 200
    assert [each["status"] for each in answer["results"]] == [201, 400, 200]
    assert answer["results"][0]["job"]["jobName"] == "a"
    assert answer["results"][1]["error"]["fields"][0]["field"] == "RoleArn"
    assert functions.wakes() == ["submitted 2 in a batch"]


def test_a_batch_repeated_with_its_key_has_the_same_answer(functions: Functions) -> None:
    batch, key = {"requests": [request("a"), request("b")]}, {"Idempotency-Key": "batch-1"}
    for _ in range(2):
        _, answer = functions.http("POST", "/job-batches", batch, headers=key)
        assert [each["status"] for each in answer["results"]] == [201, 201]
    assert [each["status"] for each in functions.http("POST", "/job-batches", batch)[1]["results"]] == [200, 200]


@pytest.mark.parametrize("body", [{}, {"requests": []}, {"requests": [{}] * 101}, {"requests": {}}, {"x": 1}], ids=str)
def test_a_batch_of_the_wrong_shape_is_refused(functions: Functions, body: Any) -> None:
    status, answer = functions.http("POST", "/job-batches", body)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")


def test_an_explanation_lists_the_jobs_ahead(full: Functions) -> None:
    status, told = full.http("GET", "/jobs/waits/explanation")
    assert status == 200
    assert [(each["jobName"], each["jobState"]) for each in told["ahead"]] == [("a", "running"), ("b", "running")]
    assert told["expectedStart"] == told["ahead"][0]["expectedEnd"]
    assert (told["place"], told["more"], told["pools"][0]["pool"]) == (1, 0, P5)
    assert full.http("GET", "/jobs/nobody/explanation")[0] == 404


def test_a_forecast_lists_the_queue(full: Functions) -> None:
    status, told = full.http("GET", "/forecast")
    assert (status, [job["jobName"] for job in told["jobs"]], told["more"]) == (200, ["waits"], False)
    assert full.http("GET", "/forecast", query={"job": ["waits"]})[1]["jobs"] == told["jobs"]
    assert full.http("GET", "/forecast", query={"job": ["nobody"]})[0] == 404
    assert full.http("GET", "/forecast", query={"limit": ["101"]})[0] == 400


def test_what_if_previews_without_changes(full: Functions) -> None:
    changes: list[dict[str, Any]] = [
        {"change": "resize", "pool": P5, "size": 4},
        {"change": "submit", "request": request("mine", 1)},
        {"change": "reprioritise", "jobName": "waits", "priority": 7},
    ]
    status, told = full.http("POST", "/what-if", {"changes": changes})
    assert (status, told["starts"], told["preempts"]) == (200, ["waits", "mine"], [])
    assert {move["jobName"] for move in told["moved"]} == {"waits", "mine"}
    assert full.http("GET", "/jobs/waits")[1]["priority"] == 5
    _, told = full.http("POST", "/what-if", {"changes": [{"change": "withdraw", "jobName": "waits"}]})
    assert [(move["jobName"], move["after"]) for move in told["moved"]] == [("waits", None)]


BAD_CHANGES: list[tuple[list[Any], str]] = [
    ([], "changes"),
    ([{"change": "withdraw"}], "changes.0.jobName"),
    ([{"change": "resize", "pool": P5, "size": -1}], "changes.0.size"),
    ([{"change": "resize", "pool": P5, "size": 1}, {"change": "resize", "pool": P5}], "changes.1.size"),
    ([{"change": "resize", "pool": P5, "size": 1, "resize": {}}], "changes.0.resize"),
    ([{"change": "resize", "pool": "p5", "size": 1}], "changes.0.pool"),
    ([{"change": "reprioritise", "jobName": "waits", "priority": "x"}], "changes.0.priority"),
    ([{"change": "explode"}], "changes.0"),
    ([{}], "changes.0"),
    (["x"], "changes.0"),
    ([{"change": "withdraw", "jobName": "waits", "x": 1}], "changes.0.x"),
    ([{"change": "submit", "request": {}}], "changes.0.request.TrainingJobName"),
    ([{"change": "submit", "request": 1}], "changes.0.request"),
    ([{"change": "withdraw", "jobName": "waits"}] * 11, "changes"),
]


@pytest.mark.parametrize(("changes", "field"), BAD_CHANGES, ids=[str(row[0])[:60] for row in BAD_CHANGES])
def test_a_bad_change_is_named(full: Functions, changes: list[Any], field: str) -> None:
    status, answer = full.http("POST", "/what-if", {"changes": changes})
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")
    assert answer["error"]["fields"][0]["field"] == field


def test_a_change_of_an_unknown_job_is_not_found(full: Functions) -> None:
    status, answer = full.http("POST", "/what-if", {"changes": [{"change": "withdraw", "jobName": "nobody"}]})
    assert (status, answer["error"]["code"]) == (404, "JobNotFound")
    assert [each["field"] for each in answer["error"]["fields"]] == ["changes.0.jobName"]


def test_the_version_of_the_package_is_returned(functions: Functions) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert __version__ == project["version"]
    assert functions.http("GET", "/version") == (200, {"version": __version__, "api": 1})


CALLS = [("GET", "/version", 200), ("GET", "/jobs/nobody", 404), ("GET", "/nowhere", 404), ("POST", "/what-if", 400)]


@pytest.mark.parametrize(("method", "path", "status"), CALLS)
def test_every_answer_names_the_version(functions: Functions, method: str, path: str, status: int) -> None:
    answer = functions.invoke("api", http_event(method, path, "{}"))
    assert (answer["statusCode"], answer["multiValueHeaders"]["Headway-Version"]) == (status, [__version__])


def test_every_answer_has_the_time_by_which_its_times_are(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks(training_ms=lambda: 1_900_000_000_000, machine_ms=lambda: 0)
    monkeypatch.setattr(functions.module("api").container, "clocks", clocks)
    answer = functions.invoke("api", http_event("GET", "/jobs/nobody"))
    assert answer["multiValueHeaders"]["Headway-Time"] == ["2030-03-17T17:46:40.000Z"]


def test_a_fault_also_names_the_version(functions: Functions, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(functions.module("api").container.table, "get", broken)
    answer = functions.invoke("api", http_event("GET", "/jobs/a"))
    assert (answer["statusCode"], answer["multiValueHeaders"]["Headway-Version"]) == (500, [__version__])
