"""Rate limits: one token bucket per operation. The caller passes the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Rate limit of one operation per account."""

    per_s: float
    burst: int
    """Calls at once, after a time without calls."""

    def __post_init__(self) -> None:
        if not (self.per_s > 0 and self.burst >= 1):
            raise ValueError(f"A rate must be above 0 and its burst at least 1, not {self.per_s} and {self.burst}.")


class Throttle:
    """Limits the calls of operations that have a rate; others are not limited."""

    def __init__(self, rates: Mapping[str, Rate]) -> None:
        self._rates = rates
        self._left: dict[str, tuple[float, float]] = {}

    def admits(self, operation: str, now: float, *, rate: Rate | None = None) -> bool:
        """Return whether a call is allowed now, and count it if so.

        Args:
            operation: The called operation.
            now: The time, s.
            rate: Replaces the operation's own rate; earlier calls still count.
        """
        rate = rate or self._rates.get(operation)
        if rate is None:
            return True
        left, since = self._left.get(operation, (float(rate.burst), now))
        left = min(float(rate.burst), left + max(0.0, now - since) * rate.per_s)
        admitted = left >= 1.0
        self._left[operation] = (left - 1.0 if admitted else left, now)
        return admitted
