"""Answers that AWS did not write: what load balancers and proxies on the way put in the place of its own."""

from __future__ import annotations

from collections.abc import Mapping

EMPTY = b""
HTML = b"<html>\r\n<head><title>Error</title></head>\r\n<body>The server could not answer.</body>\r\n</html>\r\n"
TRUNCATED = b'{"__type":"com.amazonaws#Validation'

BODIES: Mapping[str, bytes] = {"empty": EMPTY, "html": HTML, "truncated": TRUNCATED}
"""By the names that levers give them."""


class RawAnswer(Exception):
    """The caller gets this status and these bytes."""

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
"""Statuses and bodies of calls that did not get to the service."""

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
"""Of calls that the service has carried out. None is 429: what says so has turned the call away."""
