"""The tokens of pages in lists."""

from __future__ import annotations

import base64
import binascii

from headway_sandbox.sagemaker import service_facts

_MARK = "headway-sandbox"


def token(offset: int) -> str:
    """Return the NextToken of the page that begins after `offset` entries."""
    return base64.urlsafe_b64encode(f"{_MARK}:{offset}".encode()).decode()


def offset(token: str | None) -> int:
    """Return after how many entries the page with a token begins.

    Raises:
        AwsError: The token is not one of the sandbox.
    """
    if token is None:
        return 0
    try:
        mark, _, number = base64.urlsafe_b64decode(token).decode().partition(":")
        if mark == _MARK:
            return int(number)
    except (ValueError, binascii.Error):
        pass  # same error as for a token with another mark
    raise service_facts.validation("Invalid pagination token.")
