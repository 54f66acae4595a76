"""How long a pool waits while SageMaker gives no clear answers: more calls help no outage.

One launch without a clear answer may be an accident, or be about the request of its job. So a pool backs off from the
second job in a row on, or when SageMaker throttles a launch, or does not even answer a question. A launch that it
accepts ends the row; any clear answer to a question ends the back-off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headway.model import Demand
from headway.vectors import describe
from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import ROW_MS, PoolRecord
from headway_service.store.repository import find_pool

FIRST_BACK_OFF_S = 10
"""The longest that the first back-off may be. Each that follows in a row may be twice as long ..."""

STEADY_BACK_OFF_S = 60
"""... up to this, or a tenth of the time since the row began if that is longer: so long may a pool idle after it."""

MAX_BACK_OFF_S = 600
"""The longest back-off."""

MAX_CAUSE_CHARS = 200
"""The stored length of an error's text."""


def next_back_off(pool: PoolRecord, now_ms: int, jitter: float) -> tuple[int, int]:
    """When the next back-off of a pool ends, ms, and how many there were in a row with it.

    Args:
        pool: the pool with its last back-off.
        jitter: 0 to 1; shortens it by up to a half, so that pools and queues do not come back all at once.
    """
    recent = pool.has_unclear_row(now_ms)
    backoffs = pool.backoffs + 1 if recent else 1
    lasted_s = (now_ms - pool.backoff_since_ms) // 1000 if recent else 0
    steady_s = min(MAX_BACK_OFF_S, max(STEADY_BACK_OFF_S, lasted_s // 10))
    longest_ms = min(steady_s, FIRST_BACK_OFF_S << min(backoffs - 1, 10)) * 1000
    return now_ms + round(longest_ms * (1 - jitter / 2)), backoffs


class PoolBackoff:
    """The back-offs that one invocation knows of.

    Args:
        table: where they are kept.
        jitter: a random number from 0 to 1.
    """

    def __init__(self, table: Table, jitter: Callable[[], float]) -> None:
        self._table = table
        self._jitter = jitter
        self._pools: dict[str, PoolRecord] = {}

    def update(self, pools: Iterable[PoolRecord]) -> None:
        """Apply the state of the ledger."""
        self._pools |= {pool.pool: pool for pool in pools}

    def is_backing_off(self, demand: Demand, now_ms: int) -> bool:
        """Whether any of these pools backs off.

        Args:
            demand: instances per pool.
        """
        return any(self._pools[pool].backoff_until_ms > now_ms for pool in demand if pool in self._pools)

    def is_recent(self, now_ms: int) -> bool:
        """Whether any pool backs off, or did so a short time ago: then SageMaker may take one launch at a time only."""
        return any(pool.backoffs and now_ms <= pool.backoff_until_ms + ROW_MS for pool in self._pools.values())

    def unanswered(self, demand: Demand, job: str, error: Exception, now_ms: int) -> None:
        """A launch of a job had no clear answer: its pools back off if those of another job had none before it.

        Args:
            demand: the instances per pool of the job.
            job: the name of the job.
            error: what was raised in place of an answer.
        """
        for pool in self._found(demand):
            if pool.has_unclear_row(now_ms) and pool.unclear_job != job:
                self._back_off(pool, _cause(demand, error), now_ms, job)
            elif not pool.has_unclear_row(now_ms):
                self._write(pool, backoff_until_ms=now_ms, backoff_since_ms=now_ms, backoffs=0, unclear_job=job)

    def begin(self, demand: Demand, error: Exception, now_ms: int) -> None:
        """Let these pools back off, but those that do so already.

        Args:
            demand: instances per pool.
            error: what was raised in place of an answer.
        """
        for pool in self._found(demand):
            self._back_off(pool, _cause(demand, error), now_ms, pool.unclear_job)

    def answered(self, demand: Demand, now_ms: int) -> None:
        """SageMaker has answered a question about a launch: the back-off of its pools is over.

        Args:
            demand: the instances per pool of the launch.
        """
        for name in sorted(demand):
            pool = self._pools.get(name)
            if pool is not None and pool.backoff_until_ms > now_ms:
                self._write(pool, backoff_until_ms=now_ms)

    def accepted(self, demand: Demand, now_ms: int) -> bool:
        """SageMaker has accepted a launch: the row of its pools is over. Without one, nothing is written.

        Args:
            demand: the instances per pool of the launch.

        Returns:
            Whether there was one.
        """
        ended = [pool for name in sorted(demand) if (pool := self._pools.get(name)) and pool.backoff_since_ms]
        for pool in ended:
            until_ms = min(pool.backoff_until_ms, now_ms)
            self._write(pool, backoff_until_ms=until_ms, backoff_since_ms=0, answered_ms=now_ms, unclear_job="")
        return bool(ended)

    def has_accepted(self, demand: Demand, from_ms: int, until_ms: int) -> bool:
        """Whether SageMaker has accepted another launch in one of these pools after one without a clear answer.

        Args:
            demand: the instances per pool of that one.
            from_ms: when its first answer was missing, ms.
            until_ms: when its last one was, ms.
        """
        return any(from_ms < self._pools[name].answered_ms <= until_ms for name in demand if name in self._pools)

    def _found(self, demand: Demand) -> list[PoolRecord]:
        """The pools as they are stored now: another invocation may have changed them."""
        found = [pool for name in sorted(demand) if (pool := find_pool(self._table, name)) is not None]
        self.update(found)
        return found

    def _back_off(self, pool: PoolRecord, cause: str, now_ms: int, job: str) -> None:
        if pool.backoff_until_ms > now_ms:
            return
        until_ms, backoffs = next_back_off(pool, now_ms, self._jitter())
        since_ms = pool.backoff_since_ms if pool.has_unclear_row(now_ms) else now_ms
        self._write(
            pool,
            backoff_until_ms=until_ms,
            backoff_since_ms=since_ms,
            backoffs=backoffs,
            backoff_cause=cause,
            unclear_job=job,
        )
        logger.warning("a pool backs off", extra={"pool": pool.pool, "back_offs": backoffs, "cause": cause})

    def _write(self, pool: PoolRecord, **changes: object) -> None:
        moved = pool.model_copy(update=changes)
        try:
            self._table.write(transitions.back_off(moved))
        except Conflict:
            # It was removed meanwhile.
            return
        self.update([moved])


def _cause(demand: Demand, error: Exception) -> str:
    return f"SageMaker gave no answer to a launch on {describe(demand)} ({error})"[:MAX_CAUSE_CHARS]
