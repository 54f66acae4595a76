"""Counts long queues in the background, so that submissions need not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headway_service.config.document import MAX_WAITING
from headway_service.errors import RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger
from headway_service.store.records.queue_count import MAX_COUNTED_EACH_TIME, QueueCountRecord
from headway_service.store.records.queue_entry import QueueEntry

COUNTED_EACH_MS = 240_000
"""How often long queues are counted, ms machine time: two counts may fail before submissions count by themselves."""


class QueueRecounts:
    """Counts the long queues from time to time. It forgets the time with its process, which costs a count.

    Args:
        machine_clock: the machine time, ms.
    """

    def __init__(self, table: Table, machine_clock: Callable[[], int]) -> None:
        self._table = table
        self._machine_clock = machine_clock
        self._last_ms: int | None = None
        #: Queues that are still to be counted. A run may have no time for all of them.
        self._left: deque[str] = deque()

    def run_if_due(self, ledger: Ledger, until_ms: int) -> None:
        """Count the long queues, if they were not counted lately, beginning where the last call ended.

        Args:
            until_ms: the machine time after which no further queue is counted, ms.
        """
        now_ms = self._machine_clock()
        if not self._left:
            if self._last_ms is not None and now_ms - self._last_ms < COUNTED_EACH_MS:
                return
            self._last_ms = now_ms
            self._left.extend(
                QueueEntry.partition(pool.pool, team) for pool in ledger.pools for team in ledger.queue_teams
            )
        while self._left and self._machine_clock() < until_ms:
            partition = self._left.popleft()
            try:
                self._count(partition)
            except RetryLater as error:
                logger.warning("queues are counted later", extra={"error": str(error)})
                self._left.append(partition)
                return

    def _count(self, partition: str) -> None:
        if self._table.count_before(partition, "~", limit=MAX_COUNTED_EACH_TIME) < MAX_COUNTED_EACH_TIME:
            return
        owners = [owner for _, owner in self._table.tail(partition, "ownedBy", limit=MAX_WAITING)]
        self._table.write([QueueCountRecord.of(owners, self._machine_clock()).put(partition)])
