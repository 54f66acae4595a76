"""How much else the machine does: how long the same work takes each time, and how many processes want a core."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

RUNS, TURNS = 10, 400_000
"""Work of about 20 ms, long enough that another process that wants the core is noticed."""

BUSY_LOAD = 1.5
"""From this load average on, wall times are not to be relied upon. The measurement before has left one of about 1."""


def noise() -> dict[str, Any]:
    """The load average of the last minute, and how long a fixed loop takes, ms: wall time, as others' work is in it."""
    _loop()  # the first warms up
    return {"load": round(os.getloadavg()[0], 2), "loopMs": spread([_timed_ms() for _ in range(RUNS)])}


def spread(values: list[float]) -> dict[str, float]:
    """The median, the least and the greatest."""
    found = {"median": statistics.median(values), "from": min(values), "to": max(values)}
    return {name: round(value, 2) for name, value in found.items()}


def is_busy(measured: dict[str, Any]) -> bool:
    """Whether the machine had other work (see :func:`noise`)."""
    return bool(measured["load"] > BUSY_LOAD)


def _timed_ms() -> float:
    began_s = time.perf_counter()
    _loop()
    return (time.perf_counter() - began_s) * 1000


def _loop() -> int:
    total = 0
    for number in range(TURNS):
        total ^= number
    return total
