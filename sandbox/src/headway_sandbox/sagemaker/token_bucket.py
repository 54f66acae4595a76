"""How often an operation may be called: a token bucket for each, over the time that the caller says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What an account may call of one operation."""

    per_s: float
    burst: int
    """How many at once, after a while without any."""

    def __post_init__(self) -> None:
        if not (self.per_s > 0 and self.burst >= 1):
            raise ValueError(f"A rate is above 0 and its burst at least 1, not {self.per_s} and {self.burst}.")


class Throttle:
    """Counts the calls of operations that have a rate; others are not limited."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._rates = rates
        self._left: dict[str, tuple[float, float]] = {}

    def admits(self, operation: str, now: float, *, rate: Rate | None = None) -> bool:
        """Whether one more call may be made now; if so it is counted.

        Args:
            operation: what is called.
            now: s.
            rate: holds in place of the operation's own; calls that were counted before stay so.
        """
        rate = rate or self._rates.get(operation)
        if rate is None:
            return True
        left, since = self._left.get(operation, (float(rate.burst), now))
        left = min(float(rate.burst), left + max(0.0, now - since) * rate.per_s)
        admitted = left >= 1.0
        self._left[operation] = (left - 1.0 if admitted else left, now)
        return admitted
