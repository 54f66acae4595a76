"""The summary over HTTP."""

from __future__ import annotations

from typing import Any

from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.summary.cache import MAX_AGE_MS
from tests.functions.conftest import Functions
from tests.service.world import request


def get(functions: Functions, if_none_match: str | None = None) -> dict[str, Any]:
    """The handler's answer, to a new question rather than to the one of a moment ago."""
    functions.module("api").container.__dict__.pop("summaries", None)
    headers = {"If-None-Match": if_none_match} if if_none_match is not None else {}
    answer: dict[str, Any] = functions.invoke("api", http_event("GET", "/summary", None, None, headers))
    return answer


def test_a_summary_has_a_version_by_which_an_unchanged_one_is_not_sent_again(functions: Functions) -> None:
    functions.http("POST", "/jobs", request("mine", 3))
    first = get(functions)
    (etag,) = first["multiValueHeaders"]["ETag"]
    assert first["statusCode"] == 200
    again = get(functions, etag)
    assert (again["statusCode"], again["body"]) == (304, "")
    assert again["multiValueHeaders"]["ETag"] == [etag]
    functions.http("POST", "/jobs", request("other", 3))
    assert get(functions, etag)["statusCode"] == 200


def test_a_summary_conforms_to_the_document_and_names_waiting_jobs(functions: Functions) -> None:
    functions.module("api").container.__dict__.pop("summaries", None)
    functions.http("POST", "/jobs", request("mine", 3))
    status, document = functions.http("GET", "/summary")
    assert status == 200
    assert [each["jobName"] for each in document["waiting"]] == ["mine"]
    counts = {"waiting": 1, "depending": 0, "running": 0, "stopping": 0, "held": 0, "moreHeld": False}
    assert document["counts"] == counts


def test_a_forecast_of_all_jobs_is_kept_for_summaries(functions: Functions) -> None:
    functions.module("api").container.__dict__.pop("summaries", None)
    functions.http("POST", "/jobs", request("mine", 3))
    assert functions.http("GET", "/forecast")[0] == 200
    _, document = functions.http("GET", "/summary")
    assert document["forecastTime"] is not None
    assert document["waiting"][0]["expectedStart"] is not None


def test_a_forecast_of_one_job_is_not_kept(functions: Functions) -> None:
    functions.module("api").container.__dict__.pop("summaries", None)
    functions.http("POST", "/jobs", request("mine", 3))
    assert functions.http("GET", "/forecast", query={"job": ["mine"]})[0] == 200
    assert functions.http("GET", "/summary")[1]["forecastTime"] is None


def test_the_longest_list_of_versions_is_bounded(functions: Functions) -> None:
    assert get(functions, "x" * 1001)["statusCode"] == 400
    assert MAX_AGE_MS <= 1000
