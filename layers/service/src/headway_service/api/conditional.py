"""Conditional requests: a caller that has the newest version of a document does not get it again (RFC 9110)."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Header

ETAG = "ETag"

IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="Versions that the caller has, each in quotes. The response to one of them is 304, without a body.",
        max_length=1000,
    ),
]
"""The versions that the caller has."""


class NotModified(Exception):
    """The caller has the newest version. The handler of the function answers with 304.

    A response with that status has no body, and Powertools validates the body of what a route returns.

    Attributes:
        headers: of the response.
    """

    def __init__(self, headers: dict[str, str]) -> None:
        super().__init__("not modified")
        self.headers = headers


def is_known(version: str, if_none_match: str | None) -> bool:
    """Whether the caller has this version already.

    Args:
        version: the newest one.
        if_none_match: the header; None without one.
    """
    known = [each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")]
    return "*" in known or f'"{version}"' in known
