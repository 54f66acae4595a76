"""Waiting for changes of a sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_PAUSE_S = 0.1


def until(check: Callable[[], T], *, timeout_s: float = 30.0) -> T:
    """Return the first true result of a check that is called repeatedly."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(_PAUSE_S)
    raise AssertionError("It did not come about in time.")
