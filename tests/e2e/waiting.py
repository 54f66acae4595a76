"""Waiting for a condition, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

USUAL_S = 90.0
"""More than a minute, after which the reconciler has recovered lost events."""

_POLL_S = 0.1
_MEANWHILE_S = 2.0


def nothing() -> None:
    """Do nothing."""


def eventually(
    check: Callable[[], T],
    what: str | Callable[[], str],
    *,
    meanwhile: Callable[[], object] = nothing,
    timeout_s: float = USUAL_S,
) -> T:
    """Return the first true result of a check.

    Args:
        check: called repeatedly, with pauses.
        what: describes the condition, for the failure message.
        meanwhile: called every two seconds, such as an action that a schedule would start once a minute.
        timeout_s: the time limit, s.
    """
    deadline = time.monotonic() + timeout_s
    next_time = time.monotonic() + _MEANWHILE_S
    while True:
        found = check()
        if found:
            return found
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"not within {timeout_s:g} s: {what if isinstance(what, str) else what()}")
        if now > next_time:
            meanwhile()
            next_time = time.monotonic() + _MEANWHILE_S
        time.sleep(_POLL_S)
