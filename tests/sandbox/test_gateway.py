"""API Gateway's limits, as the sandbox has them beside those of methods."""

from __future__ import annotations

import pytest

from headway_sandbox.gateway import ACCOUNT, MAX_BODY_BYTES, TOO_LONG, TOO_MANY, Gateway
from headway_sandbox.throttling import Rate

CALL = "/_aws/execute-api/abc/v1/jobs"
OTHER = "/_aws/execute-api/def/v1/jobs"


def test_the_apis_of_an_account_take_their_burst_at_once_and_then_their_rate() -> None:
    limited = Gateway(Rate(per_s=2, burst=3))
    assert [limited.refusal(path, 0, 0.0) for path in (CALL, OTHER, CALL, OTHER, CALL)] == [
        None,
        None,
        None,
        TOO_MANY,
        TOO_MANY,
    ]
    assert [limited.refusal(CALL, 0, 1.0) for _ in range(3)] == [None, None, TOO_MANY]


def test_without_another_the_limit_is_that_of_a_new_account() -> None:
    limited = Gateway()
    answers = [limited.refusal(CALL, 0, 0.0) for _ in range(ACCOUNT.burst + 1)]
    assert answers.count(None) == 5_000
    assert answers[-1] == TOO_MANY


@pytest.mark.parametrize("path", ["/queue/wake", "/"])
def test_calls_of_other_services_are_not_counted(path: str) -> None:
    limited = Gateway(Rate(per_s=1, burst=1))
    assert limited.refusal(CALL, 0, 0.0) is None
    assert [limited.refusal(path, 0, 0.0) for _ in range(5)] == [None] * 5


def test_a_long_body_is_refused_unread() -> None:
    assert Gateway().refusal(CALL, MAX_BODY_BYTES, 0.0) is None
    assert Gateway().refusal(CALL, MAX_BODY_BYTES + 1, 0.0) == TOO_LONG
