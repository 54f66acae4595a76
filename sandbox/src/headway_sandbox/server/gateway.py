"""API Gateway's own checks before it invokes a function, as far as the emulator lacks them.

The emulator has a token bucket per method of a stage, from the stage's method settings. It has no limit per account,
accepts a body of any size, and accepts credentials of any region.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from headway_sandbox.sagemaker.token_bucket import Rate, Throttle
from headway_sandbox.server import signatures

MAX_BODY_BYTES = 10 * 2**20
"""Source: API Gateway developer guide, quotas for REST APIs, payload size."""

ACCOUNT = Rate(per_s=10_000, burst=5_000)
"""Default rate of an account's APIs in a region. Source: API Gateway developer guide, account-level throttling."""

_CALL = re.compile(r"/_aws/execute-api/[^/]+/[^/]+")
_EVERY_API = "every API"
_SERVICE = "execute-api"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A gateway response. Source: API Gateway developer guide, gateway response types."""

    status: int
    message: str
    error: str = ""
    """Header x-amzn-errortype, where it is known."""

    @property
    def body(self) -> bytes:
        """The JSON body."""
        return json.dumps({"message": self.message}, separators=(",", ":")).encode()

    @property
    def headers(self) -> dict[str, str]:
        """The response's headers."""
        known = {"x-amzn-errortype": self.error} if self.error else {}
        return {"content-type": "application/json", **known}


TOO_MANY = Refused(status=429, message="Too Many Requests", error="TooManyRequestsException")
TOO_LONG = Refused(status=413, message="Request Too Long")


def is_api_call(path: str) -> bool:
    """Return whether a request calls an API of the account.

    Args:
        path: Path of any request to the sandbox.
    """
    return _CALL.match(path) is not None


class Gateway:
    """Checks the calls of all APIs of an account in a region.

    Args:
        account: Rate of all APIs together.
    """

    def __init__(self, region: str, account: Rate = ACCOUNT) -> None:
        self._region = region
        self._throttle = Throttle({_EVERY_API: account})

    def refusal(
        self, path: str, headers: Mapping[str, str], now: float, *, unsigned_payload: bool = False
    ) -> Refused | None:
        """Return the response to a refused API call; None if the call passes, or is not an API call.

        Args:
            path: Path of any request to the sandbox.
            headers: Its headers, with names in lower case.
            now: The time, s.
            unsigned_payload: Whether a signature may omit the body.
        """
        if not is_api_call(path):
            return None
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            return TOO_LONG
        if not self._throttle.admits(_EVERY_API, now):
            return TOO_MANY
        error = signatures.error_in(headers, region=self._region, service=_SERVICE, unsigned_payload=unsigned_payload)
        return Refused(status=403, message=error, error=signatures.CODE) if error else None
