"""The invariants of pools whose size changes at known times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.reasons import ReasonCode
from headway.vectors import total
from headway_verification.soak.violations import require

STOP_S = 120
"""What a stop takes at most."""

_Items = Mapping[str, Mapping[str, Any]]


class SizeInvariants:
    """Checks what starts in a pool with a calendar, and what is stopped for its size."""

    def __init__(self) -> None:
        #: The sizes in the calendars at the last check.
        self._sizes: dict[str, Any] = {}
        #: The attempts at the last check.
        self._known: set[str] = set()
        #: Those of them that were stopping.
        self._stopping: set[str] = set()

    def check(self, calendars: _Items, attempts: _Items, now_s: float) -> None:
        """Check the attempts that are new, in pools whose calendar is not.

        Args:
            calendars: the calendars by pool.
            attempts: the attempts by name.
            now_s: the virtual time, s.

        Raises:
            Violated: a start exceeds a later size.
        """
        new = {name: each for name, each in attempts.items() if name not in self._known}
        for pool, calendar in calendars.items():
            if self._sizes.get(pool) != calendar["sizes"]:
                continue
            limited = {name: each for name, each in attempts.items() if _is_limited(each, calendar)}
            for at_ms, size in calendar["sizes"][1:]:
                # An adopted attempt is not started.
                starts = [
                    name
                    for name, each in limited.items()
                    if name in new
                    and pool in each["demand"]
                    and each["attemptState"] == "launching"
                    and _holds_at(each, at_ms, now_s)
                ]
                if at_ms <= now_s * 1000 or not starts:
                    continue
                held = sum(each["demand"].get(pool, 0) for each in limited.values() if _holds_at(each, at_ms, now_s))
                require(held <= size, f"{starts} start, so {held} {pool} are held when its size is {size}")
        self._known = set(attempts)
        self._sizes = {pool: calendar["sizes"] for pool, calendar in calendars.items()}

    def check_stops(self, jobs: _Items, pools: _Items, holders: _Items, attempts: _Items) -> None:
        """Check that attempts that stop for the size of a pool exceeded it when that was decided.

        Args:
            jobs: the jobs by name.
            pools: the pools by name.
            holders: the warm pools and rogue jobs.
            attempts: the attempts by name.

        Raises:
            Violated: an attempt is stopped although its pools are large enough.
        """
        stopping = {name for name, each in attempts.items() if "stopCause" in each}
        for name in stopping - self._stopping:
            attempt = attempts[name]
            if jobs[attempt["jobName"]]["reason"]["code"] != ReasonCode.POOL_SHRANK:
                continue
            staying = [each["demand"] for other, each in attempts.items() if other not in stopping]
            held = total(
                (attempt["demand"], *staying, *(each.get("charged", each["demand"]) for each in holders.values()))
            )
            small = [pool for pool in attempt["demand"] if held[pool] > pools[pool]["size"]]
            require(small, f"{name} is stopped for the size of a pool, but all are large enough: {held}")
        self._stopping = stopping


def _is_limited(attempt: Mapping[str, Any], calendar: Mapping[str, Any]) -> bool:
    """Whether an attempt has to end before the pool becomes too small for it."""
    return not calendar.get("stops") or not (calendar.get("anyJob", True) or attempt.get("stopsForSize"))


def runs_on(attempt: Mapping[str, Any], now_s: float) -> bool:
    """Whether an attempt holds its instances, is not being stopped, and does not end within the time of a stop.

    Args:
        attempt: the item of the attempt.
        now_s: the virtual time, s.
    """
    if attempt["attemptState"] != "live" or attempt.get("stopCause") is not None:
        return False
    left_ms = attempt["sinceMs"] + attempt["limitMs"] - now_s * 1000 if attempt.get("limitMs") else None
    return left_ms is None or not 0 <= left_ms <= STOP_S * 1000


def _holds_at(attempt: Mapping[str, Any], at_ms: int, now_s: float) -> bool:
    """Whether nothing proves that an attempt has ended by a time."""
    # Of a launch without an answer, too, that is stopped as soon as SageMaker shows it.
    if "stopCause" in attempt and (now_s + STOP_S) * 1000 <= at_ms:
        return False
    limit_ms = attempt.get("limitMs")
    return limit_ms is None or attempt["sinceMs"] + limit_ms > at_ms or attempt["sinceMs"] + limit_ms <= now_s * 1000
