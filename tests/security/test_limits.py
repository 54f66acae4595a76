"""What the API takes at all, on a sandbox: rate, size, and one text that everybody reads in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from headway_sandbox.sandbox import Sandbox
from tests.e2e.queue_view import QueueView

pytestmark = pytest.mark.e2e


def call(sb: Sandbox, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Any:
    """A signed call, with whatever body."""
    headers = {"Content-Type": content_type}
    asked = AWSRequest(method, sb.endpoint + path, data=body, headers=headers)
    SigV4Auth(Credentials(sb.info.access_key, sb.info.secret_key), "execute-api", sb.info.region).add_auth(asked)
    return requests.request(method, sb.endpoint + path, data=body, headers=dict(asked.headers.items()), timeout=60)


@pytest.fixture
def slow_stage(sb: Sandbox, queue: QueueView) -> Iterator[QueueView]:
    """A queue whose API takes two calls at once, and one in a hundred seconds."""
    gateway = sb.client("apigateway")
    api, stage = sb.endpoint.split("/")[-2:]
    (before,) = gateway.get_stage(restApiId=api, stageName=stage)["methodSettings"].values()
    assert (before["throttlingRateLimit"], before["throttlingBurstLimit"]) == (50, 100), "the template's"

    def limit(rate: float, burst: int) -> None:
        values = {"rateLimit": str(rate), "burstLimit": str(burst)}
        patch = [{"op": "replace", "path": f"/*/*/throttling/{name}", "value": value} for name, value in values.items()]
        gateway.update_stage(restApiId=api, stageName=stage, patchOperations=patch)

    limit(0.01, 2)
    yield queue
    limit(before["throttlingRateLimit"], before["throttlingBurstLimit"])


@pytest.mark.usefixtures("slow_stage")
def test_more_calls_than_the_stage_lets_through_are_429_whoever_makes_them(sb: Sandbox):
    with ThreadPoolExecutor(5) as callers:
        answers = list(callers.map(lambda _: call(sb, "GET", "/version"), range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 429, 429, 429]
    assert {answer.text for answer in answers if answer.status_code == 429} == {'{"message":"Too Many Requests"}'}


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
def test_a_body_that_is_no_request_is_refused_over_http(
    sb: Sandbox, queue: QueueView, body: bytes, content_type: str, status: int, code: str | None
):
    answer = call(sb, "POST", "/jobs", body, content_type)
    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)
    assert queue.jobs() == {}
