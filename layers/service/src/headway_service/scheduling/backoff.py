"""How long a pool waits after a launch without a clear answer, and a job after SageMaker postponed its launch.

More calls help neither an outage nor an exhausted quota.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from headway.model import Demand
from headway.reasons import ReasonCode
from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.records.capacity.ledger import PoolRecord
from headway_service.store.records.job import Step
from headway_service.store.repository import find_pool

FIRST_BACK_OFF_S = 10
"""The longest that the first back-off may be. Each that follows soon after one may be twice as long."""

MAX_BACK_OFF_S = 600
"""The longest back-off. A failure that occurs this long after the end of a back-off starts again with the first one."""

FIRST_POSTPONEMENT_S = 10
"""How long a job waits after its launch was postponed for the first time. A quota is often used up only because
SageMaker still counts instances that were just freed, such as those of a preempted attempt."""

MAX_POSTPONEMENT_S = 60
"""How long it waits at most: each postponement in a row takes twice as long as the one before."""

MAX_CAUSE_CHARS = 200
"""The stored length of an error's text."""

# All that a job's history gets while its launch is tried and postponed. Each other step begins a new row.
_POSTPONED_STEPS = frozenset({ReasonCode.STARTED, ReasonCode.LAUNCH_POSTPONED})


def next_back_off(pool: PoolRecord, now_ms: int, jitter: float) -> tuple[int, int]:
    """When the next back-off of a pool ends, ms, and how many there were in a row with it.

    Args:
        pool: the pool with its last back-off.
        now_ms: now.
        jitter: 0 to 1; shortens it by up to a half, so that pools and queues do not come back all at once.
    """
    backoffs = pool.backoffs + 1 if _is_recent(pool.backoff_until_ms, now_ms) else 1
    longest_ms = min(MAX_BACK_OFF_S, FIRST_BACK_OFF_S * 2 ** min(backoffs - 1, 10)) * 1000
    return now_ms + round(longest_ms * (1 - jitter / 2)), backoffs


def _is_recent(until_ms: int, now_ms: int) -> bool:
    """Whether another back-off would be one in a row with the last one, which ends then."""
    return now_ms <= until_ms + MAX_BACK_OFF_S * 1000


def next_postponement_s(history: Sequence[Step]) -> int:
    """How long a job waits after its launch was postponed again, s.

    Args:
        history: the steps of the job up to that launch.
    """
    row = takewhile(lambda step: step.reason.code in _POSTPONED_STEPS, reversed(history))
    postponed = sum(step.reason.code is ReasonCode.LAUNCH_POSTPONED for step in row)
    return min(MAX_POSTPONEMENT_S, FIRST_POSTPONEMENT_S << postponed)


class PoolBackoff:
    """The back-offs that one invocation knows of.

    Args:
        table: where they are kept.
        jitter: a random number from 0 to 1.
    """

    def __init__(self, table: Table, jitter: Callable[[], float]) -> None:
        self._table = table
        self._jitter = jitter
        self._until_ms: dict[str, int] = {}
        #: Back-offs in a row, the last one included.
        self._in_a_row: dict[str, int] = {}

    def update(self, pools: Iterable[PoolRecord]) -> None:
        """Apply the state of the ledger."""
        for pool in pools:
            if pool.backoff_until_ms >= self._until_ms.get(pool.pool, 0):
                self._until_ms[pool.pool] = pool.backoff_until_ms
                self._in_a_row[pool.pool] = pool.backoffs

    def probes_with_others(self, demand: Demand, now_ms: int) -> bool:
        """Whether the next launch on these pools should be of a job that has not been tried, if there is any.

        Every second time: what has failed before may fail for ever for a reason of its own, and others may not. But in
        an outage each try leaves one more launch without an answer.

        Args:
            demand: instances per pool.
            now_ms: the current time, ms.
        """
        return any(
            self._in_a_row.get(pool, 1) % 2 == 0 and _is_recent(self._until_ms.get(pool, 0), now_ms) for pool in demand
        )

    def is_backing_off(self, demand: Demand, now_ms: int) -> bool:
        """Whether any of these pools backs off.

        Args:
            demand: instances per pool.
            now_ms: the current time, ms.
        """
        return any(self._until_ms.get(pool, 0) > now_ms for pool in demand)

    def is_recent(self, now_ms: int) -> bool:
        """Whether any pool backs off, or has done so a short time ago: its next back-off would be longer.

        Args:
            now_ms: the current time, ms.
        """
        return any(_is_recent(until_ms, now_ms) for until_ms in self._until_ms.values())

    def begin(self, demand: Demand, cause: str, now_ms: int) -> None:
        """Let these pools back off, but those that do so already.

        Args:
            demand: instances per pool.
            cause: the error that causes the back-off.
            now_ms: the current time, ms.
        """
        for name in sorted(demand):
            pool = find_pool(self._table, name)
            if pool is None:
                continue
            if pool.backoff_until_ms <= now_ms:
                until_ms, backoffs = next_back_off(pool, now_ms, self._jitter())
                pool = pool.model_copy(
                    update={
                        "backoff_until_ms": until_ms,
                        "backoffs": backoffs,
                        "backoff_cause": cause[:MAX_CAUSE_CHARS],
                    }
                )
                try:
                    self._table.write(transitions.back_off(pool))
                except Conflict:
                    # It was removed meanwhile.
                    continue
                logger.warning(
                    "a pool backs off", extra={"pool": name, "back_offs": backoffs, "cause": pool.backoff_cause}
                )
            self.update([pool])
