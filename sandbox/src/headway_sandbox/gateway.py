"""What API Gateway refuses before any function is asked: the emulator keeps a stage's limits without enforcing them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headway_sandbox import emulator
from headway_sandbox.throttling import Rate, Throttle

MAX_BODY_BYTES = 10 * 2**20
"""Source: API Gateway developer guide, quotas for REST APIs, payload size."""

_CALL = re.compile(r"/_aws/execute-api/(?P<api>[^/]+)/(?P<stage>[^/]+)")

TOO_MANY = 429, b'{"message":"Too Many Requests"}'
TOO_LONG = 413, b'{"message":"Request Too Long"}'
"""Source: API Gateway developer guide, gateway response types (THROTTLED, REQUEST_TOO_LARGE)."""

MethodSettings = Callable[[str, str], Mapping[str, Any]]


class Gateway:
    """The limits of all stages.

    Args:
        settings: gives the settings that a stage has for all its methods, by the API's id and the stage's name.
    """

    def __init__(self, settings: MethodSettings) -> None:
        self._settings = settings
        self._throttles: dict[str, tuple[Rate, Throttle]] = {}

    def refusal(self, path: str, body_bytes: int, now: float) -> tuple[int, bytes] | None:
        """Status and body of the answer to a call that a limit keeps off; None if it may go on, or is no call.

        Args:
            path: of any request to the sandbox.
            body_bytes: how long its body is said to be.
            now: s; a call is counted then.
        """
        call = _CALL.match(path)
        if call is None:
            return None
        if body_bytes > MAX_BODY_BYTES:
            return TOO_LONG
        return None if self._throttle(call["api"], call["stage"]).admits(call[0], now) else TOO_MANY

    def _throttle(self, api: str, stage: str) -> Throttle:
        settings = self._settings(api, stage)
        per_s, burst = settings.get("throttlingRateLimit", 0), settings.get("throttlingBurstLimit", 0)
        if not (per_s > 0 and burst >= 1):
            return Throttle({})
        rate, name = Rate(per_s=float(per_s), burst=int(burst)), f"/_aws/execute-api/{api}/{stage}"
        if name not in self._throttles or self._throttles[name][0] != rate:
            self._throttles[name] = rate, Throttle({name: rate})
        return self._throttles[name][1]


def stage_settings(account: str, region: str) -> MethodSettings:
    """Reads them from the emulator's API Gateway."""
    stages = emulator.module("services.apigateway_v1")._stages_v1  # noqa: SLF001 - as in `emulator`, the place for it

    def settings(api: str, stage: str) -> Mapping[str, Any]:
        known = stages.get_scoped(account, region, api, None) or {}
        found: Mapping[str, Any] = known.get(stage, {}).get("methodSettings", {}).get("*/*", {})
        return found

    return settings
