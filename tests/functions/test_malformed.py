"""Malformed requests are refused with a documented status, and never cause a server error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headway_sandbox.inprocess.lambda_loader import http_event
from headway_service.admission.review import MAX_REPORTED_FIELDS
from tests.functions.conftest import Functions
from tests.service.world import request

WHOLE = json.dumps(request("a"))


def with_member(name: str, text: str) -> str:
    """A request with one more member, as it is written."""
    return f'{WHOLE[:-1]}, "{name}": {text}}}'


BODIES: list[tuple[str, str]] = [
    ("lists inside each other", "[" * 100_000),
    ("objects inside each other", '{"a":' * 50_000 + "1" + "}" * 50_000),
    ("a member too deep", with_member("HyperParameters", '{"a":' * 900 + "1" + "}" * 900)),
    ("not a number", with_member("RetryStrategy", '{"MaximumRetryAttempts": NaN}')),
    ("infinity", with_member("RetryStrategy", '{"MaximumRetryAttempts": 1e999}')),
    ("a number of 5000 digits", with_member("RetryStrategy", '{"MaximumRetryAttempts": ' + "9" * 5000 + "}")),
    ("a run time of 50 digits", with_member("StoppingCondition", '{"MaxRuntimeInSeconds": ' + "9" * 50 + "}")),
    ("a run time without a date", with_member("StoppingCondition", '{"MaxRuntimeInSeconds": 9007199254740991}')),
    ("a member that stands twice", with_member("TrainingJobName", '"b"')),
    ("half a surrogate pair", with_member("HyperParameters", r'{"a": "\ud800"}')),
    ("half a surrogate pair as a name", WHOLE.replace('"a"', r'"\ud800"', 1)),
    ("half a surrogate pair in a tag", with_member("Tags", r'[{"Key": "priority", "Value": "\ud800"}]')),
    ("a NUL in a tag", with_member("Tags", r'[{"Key": "a\u0000", "Value": "b"}]')),
    ("a NUL in the name", WHOLE.replace('"a"', r'"a\u0000"', 1)),
    ("an escape in the name", WHOLE.replace('"a"', r'"a\u001b[2J"', 1)),
    ("a byte order mark", "\ufeff" + WHOLE),
    ("no text at all", ""),
]  # fmt: skip


@pytest.mark.parametrize("raw", [row[1] for row in BODIES], ids=[row[0] for row in BODIES])
def test_a_malformed_submission_is_refused_and_nothing_is_stored(functions: Functions, raw: str) -> None:
    for path in ("/jobs", "/add-job"):
        status, answer = functions.http("POST", path, raw=raw)
        assert (status, answer["error"]["code"]) == (400, "InvalidRequest")
        assert len(answer["error"]["message"]) < 500
    assert (
        functions.http("POST", "/what-if", raw=f'{{"changes": [{{"change": "submit", "request": {raw}}}]}}')[0] == 400
    )
    status, batch = functions.http("POST", "/job-batches", raw=f'{{"requests": [{raw}]}}')
    assert status == 400 or [each["status"] for each in batch["results"]] == [400]
    assert functions.http("PUT", "/config", raw=raw)[0] == 400
    assert functions.http("GET", "/jobs")[1]["jobs"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "field"),
    [
        ("POST", "/jobs", "%s", "HyperParameters.a"),
        ("POST", "/add-job", '{"jobDetails": %s}', "jobDetails.HyperParameters.a"),
        ("POST", "/add-job", '{"jobDetails": %s, "sweep": {"grid": {"b": [1]}}}', "jobDetails.HyperParameters.a"),
        ("POST", "/add-job", '{"jobDetails": {}, "sweep": {"grid": {"a": ["\\ud800"]}}}', "sweep.grid.a[0]"),
        ("POST", "/job-batches", '{"requests": [%s]}', "requests[0].HyperParameters.a"),
        ("POST", "/what-if", '{"changes": [{"request": %s}]}', "changes[0].request.HyperParameters.a"),
        ("POST", "/jobs/a/change", '{"hyperParameters": {"a": "\\ud800"}}', "hyperParameters.a"),
        ("PUT", "/jobs/a/comment", '{"comment": "\\ud800"}', "comment"),
    ],
)
def test_text_without_an_encoding_is_refused_at_every_entrance_by_its_member(
    functions: Functions, method: str, path: str, body: str, field: str
) -> None:
    request_ = with_member("HyperParameters", r'{"a": "\ud800"}')
    status, answer = functions.http(method, path, raw=body.replace("%s", request_))
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")
    assert [each["field"] for each in answer["error"]["fields"]] == [field]


def test_text_without_an_encoding_is_refused_in_a_request_that_is_a_text_itself(functions: Functions) -> None:
    inside = with_member("HyperParameters", r'{"a": "\ud800"}')
    status, answer = functions.http("POST", "/add-job", {"jobDetails": inside})
    assert (status, [each["field"] for each in answer["error"]["fields"]]) == (400, ["HyperParameters.a"])


MANY_ERRORS: dict[str, Any] = {
    "HyperParameters": {f"k{number:02}": number for number in range(MAX_REPORTED_FIELDS + 1)}
}
"""More errors than a refusal names: each value is a number, where SageMaker takes text only."""


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("ResourceConfig", "ml.p5.48xlarge"),
        ("ResourceConfig", {"InstanceGroups": [1]}),
        ("Tags", [{"Key": "priority", "Value": "9" * 5000}]),
        ("Tags", [{"Key": 1}]),
        ("StoppingCondition", 3),
        ("InputDataConfig", [3]),
        ("InputDataConfig", "s3://b/c"),
        ("AlgorithmSpecification", 3),
    ],
    ids=lambda each: ascii(each)[:40],
)
def test_a_part_of_the_wrong_shape_is_refused_after_more_errors_than_are_named(
    functions: Functions, part: str, value: Any
) -> None:
    wrong = request("b", **MANY_ERRORS, **{part: value})
    status, answer = functions.http("POST", "/jobs", wrong)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")
    status, batch = functions.http("POST", "/job-batches", {"requests": [request("a"), wrong, request("c")]})
    assert (status, [each["status"] for each in batch["results"]]) == (200, [201, 400, 201])


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "é"]
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/jobs"), ("POST", "/job-batches"), ("POST", "/what-if"), ("PATCH", "/jobs/a"), ("PUT", "/config")],
)
def test_a_body_with_another_content_type_than_json_is_415(
    functions: Functions, method: str, path: str, content_type: str
) -> None:
    event = http_event(method, path, WHOLE, headers={"Content-Type": content_type})
    answer = functions.invoke("api", event)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (415, "UnsupportedMediaType")


QUERIES: list[dict[str, list[str]]] = [
    {"limit": ["1", "2"]},
    {"limit": ["9" * 5000]},
    {"limit": ["\uff11"]},
    {"limit": ["1e1"]},
    {"nextToken": ["A" * 100_000]},
    {"nextToken": ["\ud800"]},
    {"nextToken": ["bnVsbA=="]},
    {"nextToken": ["W1siYSJdXQ=="]},
    {"nameContains": ["a", "b"]},
    {"nameContains": ["x" * 64]},
    {"owner": ["x" * 2049]},
    {"owner": ["\ud800"]},
    {"team": ["x" * 10_000]},
    {"mine": ["true", "false"]},
    {"mine": ["maybe"]},
    {"state": ["running", "asleep"]},
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: ascii(query)[:40])
def test_a_malformed_query_is_refused(functions: Functions, query: dict[str, list[str]]) -> None:
    status, answer = functions.http("GET", "/jobs", query=query)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")


@pytest.mark.parametrize("name", ["a\x00", "x" * 5000, "..", "a%2Fb", "é", "a b", "a\nb", "-", "$(id)"], ids=ascii)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/jobs/{}", None),
        ("DELETE", "/jobs/{}", None),
        ("PATCH", "/jobs/{}", {"priority": 1}),
        ("PUT", "/jobs/{}/comment", {"comment": "x"}),
        ("POST", "/jobs/{}/change", {"instances": 1}),
        ("POST", "/jobs/{}/hold", None),
        ("POST", "/jobs/{}/release", None),
        ("GET", "/jobs/{}/explanation", None),
    ],
)
def test_a_name_that_no_job_can_have_is_404(functions: Functions, method: str, path: str, body: Any, name: str) -> None:
    status, answer = functions.http(method, path.format(name), body)
    assert (status, answer["error"]["code"]) == (404, "JobNotFound")


@pytest.mark.parametrize("key", ["", "x" * 129, "a\nb", "ä", "a b"], ids=ascii)
def test_a_malformed_idempotency_key_is_refused(functions: Functions, key: str) -> None:
    status, answer = functions.http("POST", "/jobs", request("a"), headers={"Idempotency-Key": key})
    assert (status, answer["error"]["fields"][0]["field"]) == (400, "Idempotency-Key")


@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", "/forecast", {"job": ["x" * 3000]}, None),
        ("POST", "/what-if", {}, {"changes": [{"change": "withdraw", "jobName": "x" * 3000}]}),
        ("POST", "/what-if", {}, {"changes": [{"change": "reprioritise", "jobName": "x" * 3000, "priority": 1}]}),
    ],
)
def test_a_name_that_no_job_can_have_is_refused_outside_of_the_path(
    functions: Functions, method: str, path: str, query: dict[str, list[str]], body: Any
) -> None:
    status, answer = functions.http(method, path, body, query=query)
    assert (status, answer["error"]["code"]) == (400, "InvalidRequest")
