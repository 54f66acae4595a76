"""What API Gateway refuses before any function is asked, as far as the emulator does not refuse it itself.

The emulator gives each method of a stage a token bucket, as API Gateway does with a stage's method settings. It has no
limit for an account, and takes a body of any size.
"""

from __future__ import annotations

import re

from headway_sandbox.throttling import Rate, Throttle

MAX_BODY_BYTES = 10 * 2**20
"""Source: API Gateway developer guide, quotas for REST APIs, payload size."""

ACCOUNT = Rate(per_s=10_000, burst=5_000)
"""All APIs of an account in a region. Source: API Gateway developer guide, account-level throttling, the default."""

_CALL = re.compile(r"/_aws/execute-api/[^/]+/[^/]+")
_EVERY_API = "every API"

TOO_MANY = 429, b'{"message":"Too Many Requests"}'
TOO_LONG = 413, b'{"message":"Request Too Long"}'
"""Source: API Gateway developer guide, gateway response types (THROTTLED, REQUEST_TOO_LARGE)."""


class Gateway:
    """The limits of an account.

    Args:
        account: what all its APIs take together.
    """

    def __init__(self, account: Rate = ACCOUNT) -> None:
        self._throttle = Throttle({_EVERY_API: account})

    def refusal(self, path: str, body_bytes: int, now: float) -> tuple[int, bytes] | None:
        """Status and body of the answer to a call that a limit keeps off; None if it may go on, or is no call.

        Args:
            path: of any request to the sandbox.
            body_bytes: how long its body is said to be.
            now: s; a call is counted then.
        """
        if _CALL.match(path) is None:
            return None
        if body_bytes > MAX_BODY_BYTES:
            return TOO_LONG
        return None if self._throttle.admits(_EVERY_API, now) else TOO_MANY
