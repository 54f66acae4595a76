"""Responses that do not come from the service: load balancers and proxies replace its own by them."""

from __future__ import annotations

from collections.abc import Mapping

EMPTY = b""
HTML = b"<html>\r\n<head><title>Error</title></head>\r\n<body>The server could not answer.</body>\r\n</html>\r\n"
TRUNCATED = b'{"__type":"com.amazonaws#Validation'

BODIES: Mapping[str, bytes] = {"empty": EMPTY, "html": HTML, "truncated": TRUNCATED}
"""By their names in `Faults.raw_answers`."""


class RawAnswer(Exception):
    """Raised to send this status and body to the caller."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"HTTP {status} {body[:20]!r}")
        self.status = status
        self.body = body


BEFORE: tuple[tuple[int, bytes], ...] = (
    (500, EMPTY),
    (502, HTML),
    (503, TRUNCATED),
    (504, EMPTY),
    (403, HTML),
    (407, EMPTY),
    (413, HTML),
    (429, HTML),
    (200, HTML),
)
"""Statuses and bodies for calls that did not reach the service."""

AFTER: tuple[tuple[int, bytes], ...] = (
    (500, EMPTY),
    (502, HTML),
    (503, EMPTY),
    (504, HTML),
    (403, HTML),
    (407, HTML),
    (413, EMPTY),
    (200, TRUNCATED),
    (200, EMPTY),
)
"""For calls that the service has executed. None is 429, which means that the call was rejected."""
