"""API Gateway's limits in the sandbox, besides those of methods."""

from __future__ import annotations

import pytest

from headway_sandbox.sagemaker.token_bucket import Rate
from headway_sandbox.server.gateway import ACCOUNT, MAX_BODY_BYTES, TOO_LONG, TOO_MANY, Gateway, Refused

CALL = "/_aws/execute-api/abc/v1/jobs"
OTHER = "/_aws/execute-api/def/v1/jobs"


def test_the_apis_of_an_account_accept_their_burst_and_then_their_rate() -> None:
    limited = Gateway("eu-west-1", Rate(per_s=2, burst=3))
    assert [limited.refusal(path, {}, 0.0) for path in (CALL, OTHER, CALL, OTHER, CALL)] == [
        None,
        None,
        None,
        TOO_MANY,
        TOO_MANY,
    ]
    assert [limited.refusal(CALL, {}, 1.0) for _ in range(3)] == [None, None, TOO_MANY]


def test_the_default_limit_is_that_of_a_new_account() -> None:
    limited = Gateway("eu-west-1")
    answers = [limited.refusal(CALL, {}, 0.0) for _ in range(ACCOUNT.burst + 1)]
    assert answers.count(None) == 5_000
    assert answers[-1] == TOO_MANY


@pytest.mark.parametrize("path", ["/queue/wake", "/"])
def test_calls_of_other_services_are_not_counted(path: str) -> None:
    limited = Gateway("eu-west-1", Rate(per_s=1, burst=1))
    assert limited.refusal(CALL, {}, 0.0) is None
    assert [limited.refusal(path, {}, 0.0) for _ in range(5)] == [None] * 5


def test_a_long_body_is_refused_unread() -> None:
    def answer(length: int) -> Refused | None:
        return Gateway("eu-west-1").refusal(CALL, {"content-length": str(length)}, 0.0)

    assert answer(MAX_BODY_BYTES) is None
    assert answer(MAX_BODY_BYTES + 1) == TOO_LONG


def test_a_throttled_answer_comes_from_api_gateway() -> None:
    assert (TOO_MANY.status, TOO_MANY.body) == (429, b'{"message":"Too Many Requests"}')
    assert (TOO_LONG.status, TOO_LONG.body) == (413, b'{"message":"Request Too Long"}')
    assert TOO_MANY.headers["x-amzn-errortype"] == "TooManyRequestsException"
    assert TOO_LONG.headers == {"content-type": "application/json"}, "AWS does not say what it would be"


@pytest.mark.parametrize(("region", "refused"), [("eu-west-1", False), ("us-east-1", True)])
def test_credentials_of_another_region_are_refused(region: str, refused: bool) -> None:
    headers = {"authorization": f"AWS4-HMAC-SHA256 Credential=AKIA/20260101/{region}/execute-api/aws4_request, "}
    answer = Gateway("eu-west-1").refusal(CALL, headers, 0.0)
    assert (answer is not None) is refused
    if answer:
        assert (answer.status, answer.error) == (403, "InvalidSignatureException")
        assert "valid region" in answer.message


@pytest.mark.parametrize("accepted", [True, False])
def test_an_unsigned_body_is_accepted_only_if_the_switch_is_set(accepted: bool) -> None:
    headers = {
        "authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/execute-api/aws4_request, ",
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    }
    answer = Gateway("eu-west-1").refusal(CALL, headers, 0.0, unsigned_payload=accepted)
    assert (answer is None) is accepted
