"""The API's general limits, on a sandbox: rate, size, and unambiguous JSON."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.queue_view import QueueView
from tests.security.stage_limits import limits, settings

pytestmark = pytest.mark.e2e


def call(sb: Sandbox, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
    """Send a signed request with any body."""
    headers = {"Content-Type": content_type}
    asked = AWSRequest(method, sb.endpoint + path, data=body, headers=headers)
    SigV4Auth(Credentials(sb.info.access_key, sb.info.secret_key), "execute-api", sb.info.region).add_auth(asked)
    return requests.request(method, sb.endpoint + path, data=body, headers=dict(asked.headers.items()), timeout=60)


@pytest.fixture
def slow_stage(sb: Sandbox, queue: QueueView) -> Iterator[QueueView]:
    """A queue whose API accepts a burst of two calls of each method without separate limits, and then one in 100 s."""
    with limits(sb, {"*/*": (0.01, 2)}):
        yield queue


@pytest.fixture
def slow_listing(sb: Sandbox, queue: QueueView) -> Iterator[QueueView]:
    """A queue whose API accepts few listings; other methods keep their limits."""
    with limits(sb, {"/jobs/GET": (0.01, 2)}):
        yield queue


def test_the_limits_of_the_stage_are_the_templates(sb: Sandbox):
    found = {
        method: (each["throttlingRateLimit"], each["throttlingBurstLimit"]) for method, each in settings(sb).items()
    }
    assert found["*/*"] == found["/jobs/POST"] == (50, 100)
    assert found["/jobs/GET"] == (20, 40)
    assert found["/what-if/POST"] == found["/jobs/{name}/explanation/GET"] == (5, 10)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/jobs/{}", 404, "JobNotFound"),
        ("DELETE", "/jobs/{}", 404, "JobNotFound"),
        ("PUT", "/jobs/{}/comment", 404, "JobNotFound"),
        ("POST", "/jobs/{}/change", 404, "JobNotFound"),
        ("POST", "/jobs/{}/hold", 404, "JobNotFound"),
        ("POST", "/jobs/{}/release", 404, "JobNotFound"),
        ("GET", "/jobs/{}/explanation", 404, "JobNotFound"),
        ("GET", "/forecast?job={}", 400, "InvalidRequest"),
    ],
)
def test_a_name_longer_than_a_key_of_the_table_is_refused(
    sb: Sandbox, method: str, path: str, status: int, code: str
) -> None:
    answer = call(sb, method, path.format("x" * 2100))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def statuses(sb: Sandbox, method: str, path: str) -> list[int]:
    """Return the statuses of five concurrent calls; each 429 comes from API Gateway."""
    with ThreadPoolExecutor(5) as callers:
        answers = list(callers.map(lambda _: call(sb, method, path), range(5)))
    assert {answer.text for answer in answers if answer.status_code == 429} <= {'{"message":"Too Many Requests"}'}
    return sorted(answer.status_code for answer in answers)


@pytest.mark.usefixtures("slow_stage")
def test_each_method_has_the_limits_of_the_stage_independent_of_others(sb: Sandbox):
    assert statuses(sb, "GET", "/version") == [200, 200, 429, 429, 429]
    assert statuses(sb, "GET", "/capacity") == [200, 200, 429, 429, 429]
    assert statuses(sb, "GET", "/jobs") == [200] * 5, "it has limits of its own"


@pytest.mark.usefixtures("slow_listing")
def test_a_method_with_separate_limits_is_throttled_by_them(sb: Sandbox):
    assert statuses(sb, "GET", "/jobs") == [200, 200, 429, 429, 429]
    assert statuses(sb, "GET", "/jobs") == [429] * 5
    assert statuses(sb, "GET", "/version") == [200] * 5


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        (b"[" * 100_000, "application/json", 400, "InvalidRequest"),
        (b'{"a": 1, "a": 2}', "application/json", 400, "InvalidRequest"),
        (b'{"a": NaN}', "application/json", 400, "InvalidRequest"),
        (b'{"a": "\xff\xfe"}', "application/json", 400, "InvalidRequest"),
        (b'{"a": "\\ud800"}', "application/json", 400, "InvalidRequest"),
        (b"a=1", "application/x-www-form-urlencoded", 415, "UnsupportedMediaType"),
        (b"{}" + b" " * 10 * 2**20, "application/json", 413, None),
    ],
    ids=["nested", "twice", "NaN", "no UTF-8", "half a character", "a form", "11 MB"],
)
def test_a_body_that_is_not_a_request_is_refused_over_http(
    sb: Sandbox, queue: QueueView, body: bytes, content_type: str, status: int, code: str | None
):
    answer = call(sb, "POST", "/jobs", body, content_type)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    assert queue.jobs() == {}
