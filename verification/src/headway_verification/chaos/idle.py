"""How long pools idle after the last fault although a waiting job fits."""

from __future__ import annotations

from collections import Counter

from headway_verification.chaos.raw_state import RawState


class IdleTimes:
    """The longest time for which each pool had free instances that a waiting job fits into, at each observed."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self.longest_s: Counter[str] = Counter()

    def observe(self, state: RawState, now_s: float) -> None:
        """Note the pools that are idle now.

        Args:
            state: the table.
        """
        idle = idle_pools(state)
        self._since_s = {pool: self._since_s.get(pool, now_s) for pool in idle}
        for pool, since_s in self._since_s.items():
            self.longest_s[pool] = max(self.longest_s[pool], round(now_s - since_s))


def idle_pools(state: RawState) -> set[str]:
    """The pools in which a waiting job fits into what is free in all pools that it demands."""
    free = {str(pool["pool"]): int(pool["free"]) for pool in state.pools}
    return {
        str(entry["pool"])
        for entry in state.queue_entries
        if all(count <= free.get(pool, 0) for pool, count in entry["demand"].items())
    }
