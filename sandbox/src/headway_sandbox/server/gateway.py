"""What API Gateway refuses before any function is asked, as far as the emulator does not refuse it itself.

The emulator gives each method of a stage a token bucket, as API Gateway does with a stage's method settings. It has no
limit for an account, takes a body of any size, and credentials that are scoped to any region.
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
"""All APIs of an account in a region. Source: API Gateway developer guide, account-level throttling, the default."""

_CALL = re.compile(r"/_aws/execute-api/[^/]+/[^/]+")
_EVERY_API = "every API"
_SERVICE = "execute-api"


@dataclass(frozen=True, kw_only=True)
class Refused:
    """An answer of API Gateway's own. Source: API Gateway developer guide, gateway response types."""

    status: int
    message: str
    error: str = ""
    """Of the header x-amzn-errortype, where it is known."""

    @property
    def body(self) -> bytes:
        return json.dumps({"message": self.message}, separators=(",", ":")).encode()

    @property
    def headers(self) -> dict[str, str]:
        known = {"x-amzn-errortype": self.error} if self.error else {}
        return {"content-type": "application/json", **known}


TOO_MANY = Refused(status=429, message="Too Many Requests", error="TooManyRequestsException")
TOO_LONG = Refused(status=413, message="Request Too Long")


class Gateway:
    """Looks at calls of the APIs of an account in a region.

    Args:
        region: where it is.
        account: what all its APIs take together.
    """

    def __init__(self, region: str, account: Rate = ACCOUNT) -> None:
        self._region = region
        self._throttle = Throttle({_EVERY_API: account})

    def refusal(
        self, path: str, headers: Mapping[str, str], now: float, *, unsigned_payload: bool = False
    ) -> Refused | None:
        """The answer to a call that is kept off; None if it may go on, or is no call.

        Args:
            path: of any request to the sandbox.
            headers: of that request, their names in lower case.
            now: s; a call is counted then.
            unsigned_payload: whether a signature may leave the body out.
        """
        if _CALL.match(path) is None:
            return None
        length = headers.get("content-length", "")
        if length.isdigit() and int(length) > MAX_BODY_BYTES:
            return TOO_LONG
        if not self._throttle.admits(_EVERY_API, now):
            return TOO_MANY
        wrong = signatures.fault(headers, region=self._region, service=_SERVICE, unsigned_payload=unsigned_payload)
        return Refused(status=403, message=wrong, error=signatures.CODE) if wrong else None
