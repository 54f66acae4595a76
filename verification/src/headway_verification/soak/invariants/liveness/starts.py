"""A job that fits free instances, and that SageMaker does not refuse, starts soon."""

from __future__ import annotations

from collections.abc import Collection

from headway_verification.soak.violations import require

STARTS_WITHIN_S = 1200
"""A job may wait for one launch that gets no instances in ten minutes, for its stop, for the next tick, and for the
five minutes in which a job that is refused for the first time still counts; no longer."""


class StartInvariants:
    """Follows the jobs that could start."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}

    def check(self, could_start: Collection[str], now_s: float) -> None:
        """Check that none could have started for long.

        Args:
            could_start: the jobs that would start now if those that SageMaker refuses were not there.

        Raises:
            Violated: one waits for longer than it may.
        """
        self._since_s = {name: self._since_s.get(name, now_s) for name in could_start}
        for name, since_s in self._since_s.items():
            waited_s = now_s - since_s
            require(
                waited_s <= STARTS_WITHIN_S,
                f"{name} fits free instances and is not refused itself, but it waits for {waited_s / 60:.0f} min",
            )
