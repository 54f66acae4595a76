"""Lets a pool pause after SageMaker gave no clear answer to a launch there: an outage is not helped by more calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headway.model import Demand
from headway_service import transitions
from headway_service.errors import Conflict
from headway_service.log import logger
from headway_service.ports import Table
from headway_service.records import PoolRecord

FIRST_PAUSE_S = 10
"""The longest that the first pause may be. Each that follows soon after one may be twice as long."""

MAX_PAUSE_S = 600
"""No pause is longer; a failure that comes longer than this after the end of one begins anew."""

MAX_CAUSE_CHARS = 200
"""What is kept of an error's text."""


def next_pause(pool: PoolRecord, now_ms: int, jitter: float) -> tuple[int, int]:
    """When the next pause of a pool ends, ms, and how many there were in a row with it.

    Args:
        pool: the pool with its last pause.
        now_ms: now.
        jitter: 0 to 1; shortens the pause by up to a half, so that pools and queues do not come back all at once.
    """
    goes_on = now_ms <= pool.paused_until_ms + MAX_PAUSE_S * 1000
    pauses = pool.pauses + 1 if goes_on else 1
    longest_ms = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2 ** min(pauses - 1, 10)) * 1000
    return now_ms + round(longest_ms * (1 - jitter / 2)), pauses


class Pauses:
    """The pauses that one invocation knows of.

    Args:
        table: where they are kept.
        jitter: a random number from 0 to 1.
    """

    def __init__(self, table: Table, jitter: Callable[[], float]) -> None:
        self._table = table
        self._jitter = jitter
        self._until_ms: dict[str, int] = {}

    def learn(self, pools: Iterable[PoolRecord]) -> None:
        """Take in what the ledger says."""
        for pool in pools:
            self._until_ms[pool.pool] = max(pool.paused_until_ms, self._until_ms.get(pool.pool, 0))

    def hold(self, demand: Demand, now_ms: int) -> bool:
        """Whether any of these pools pauses."""
        return any(self._until_ms.get(pool, 0) > now_ms for pool in demand)

    def begin(self, demand: Demand, cause: str, now_ms: int) -> None:
        """Pause these pools, but those that somebody else has just paused."""
        for name in sorted(demand):
            item = self._table.get(PoolRecord.key(name))
            if item is None:
                continue
            pool = PoolRecord.parse(item)
            if pool.paused_until_ms <= now_ms:
                until_ms, pauses = next_pause(pool, now_ms, self._jitter())
                pool = pool.model_copy(
                    update={"paused_until_ms": until_ms, "pauses": pauses, "pause_cause": cause[:MAX_CAUSE_CHARS]}
                )
                try:
                    self._table.write(transitions.pause_pool(pool))
                except Conflict:
                    # It was removed meanwhile.
                    continue
                logger.warning("a pool pauses", extra={"pool": name, "pauses": pauses, "cause": pool.pause_cause})
            self.learn([pool])
