"""Waits, each with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(ask: Callable[[], T], *, timeout_s: float, every_s: float) -> T:
    """Return the first true result, or the last one when the time is over.

    Args:
        ask: called at least once.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        found = ask()
        if found or time.monotonic() >= deadline:
            return found
        time.sleep(every_s)
