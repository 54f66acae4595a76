"""API Gateway's limits, as the sandbox has them."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.gateway import MAX_BODY_BYTES, TOO_LONG, TOO_MANY, Gateway

CALL = "/_aws/execute-api/abc/v1/jobs"


def gateway(**settings: Any) -> Gateway:
    return Gateway(lambda api, stage: settings if (api, stage) == ("abc", "v1") else {})


def test_a_stage_takes_its_burst_at_once_and_then_its_rate() -> None:
    limited = gateway(throttlingRateLimit=2.0, throttlingBurstLimit=3)
    assert [limited.refusal(CALL, 0, 0.0) for _ in range(5)] == [None, None, None, TOO_MANY, TOO_MANY]
    assert [limited.refusal(CALL, 0, 1.0) for _ in range(3)] == [None, None, TOO_MANY]


@pytest.mark.parametrize("path", ["/_aws/execute-api/other/v1/jobs", "/queue/wake", "/"])
def test_others_are_not_counted(path: str) -> None:
    limited = gateway(throttlingRateLimit=1.0, throttlingBurstLimit=1)
    assert limited.refusal(CALL, 0, 0.0) is None
    assert [limited.refusal(path, 0, 0.0) for _ in range(5)] == [None] * 5


def test_limits_that_change_are_in_force_with_the_next_call() -> None:
    settings: dict[str, Any] = {"throttlingRateLimit": 1.0, "throttlingBurstLimit": 1}
    limited = Gateway(lambda *_: settings)
    assert [limited.refusal(CALL, 0, 0.0) for _ in range(2)] == [None, TOO_MANY]
    settings["throttlingBurstLimit"] = 2
    assert [limited.refusal(CALL, 0, 0.0) for _ in range(3)] == [None, None, TOO_MANY]


def test_a_long_body_is_refused_unread() -> None:
    assert gateway().refusal(CALL, MAX_BODY_BYTES, 0.0) is None
    assert gateway().refusal(CALL, MAX_BODY_BYTES + 1, 0.0) == TOO_LONG
