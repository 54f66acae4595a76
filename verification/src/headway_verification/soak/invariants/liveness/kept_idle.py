"""No instances are kept for a job that SageMaker refuses, while another job could use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from headway.model import Demand
from headway.vectors import total
from headway_verification.soak.invariants.liveness.launches import FailedLaunches
from headway_verification.soak.violations import require

SHORTEST_S = 3600
"""Over less time than this no share is checked."""

PROBING = 0.05
"""What probing may idle of the time of a pool."""

BEFORE_S = 900
"""What a job may idle before it is known that SageMaker refuses it: ten minutes of a launch without instances, and five
minutes until that counts."""


class KeptIdleInvariants:
    """Sums up what pools have idle that jobs could use.

    Args:
        now_s: when it begins, s.
    """

    def __init__(self, now_s: float) -> None:
        self._begun_s = self._last_s = now_s
        self._idle_s: Counter[str] = Counter()
        self._size_s: Counter[str] = Counter()
        #: The alternatives that were first seen refused since then.
        self._refused: dict[tuple[str, frozenset[str]], Demand] = {}

    def note(
        self,
        starts: Collection[Demand],
        free: Mapping[str, int],
        sizes: Mapping[str, int],
        refused: Collection[FailedLaunches],
        now_s: float,
    ) -> None:
        """Count the time since the last call.

        Args:
            starts: what the jobs demand that would start now if those that SageMaker refuses were not there.
            free: the instances that SageMaker has, and that nothing runs on, of pools of which that is known.
            sizes: the sizes of the pools.
            refused: what SageMaker refuses.
        """
        passed_s, self._last_s = now_s - self._last_s, now_s
        for pool, count in total(starts).items():
            self._idle_s[pool] += round(max(0, min(count, free.get(pool, count))) * passed_s)
        for pool, size in sizes.items():
            self._size_s[pool] += round(size * passed_s)
        self._refused.update(((each.job, each.pools), each.demand) for each in refused)

    def check(self) -> None:
        """Check the shares of all that was counted.

        Raises:
            Violated: a pool has kept too much idle.
        """
        if self._last_s - self._begun_s < SHORTEST_S:
            return
        for pool, idle_s in self._idle_s.items():
            before_s = BEFORE_S * sum(demand.get(pool, 0) for demand in self._refused.values())
            allowed_s = PROBING * self._size_s[pool] + before_s
            hours = (self._last_s - self._begun_s) / 3600
            share = idle_s / max(1, self._size_s[pool])
            require(
                idle_s <= allowed_s,
                f"{share:.0%} of {pool} were idle for {hours:.1f} h while jobs that fit waited",
            )
