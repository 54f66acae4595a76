"""Whose turn it is in this minute, where one run may have no time for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MINUTE_MS = 60_000


def in_turn(each: Sequence[T], machine_ms: int, *, step: int = 1) -> list[T]:
    """All of them in their order, beginning with another one each minute.

    Args:
        step: how many one run gets through at most: the next one begins behind them.
    """
    first = machine_ms // _MINUTE_MS * step % len(each) if each else 0
    return [*each[first:], *each[:first]]
