"""Whether a long queue has room: by the largest number of jobs that may wait in it, without counting them."""

from __future__ import annotations

from collections.abc import Callable

from headway_service.config.document import Limits
from headway_service.errors import Conflict, RetryLater
from headway_service.observability.logging import logger
from headway_service.ports.table import Table, Write
from headway_service.store.queue_tail import QueueTail
from headway_service.store.records.queue_count import MAX_COUNTED_EACH_TIME, QueueCountRecord, is_count


class QueueCounts:
    """The stored counts of long queues in one call, for the jobs of one owner.

    A stored count only ever lets jobs in: a refusal rests on a count of the queue. It is written after the jobs have
    entered, and not in their transaction, of which it would be the one item that all submissions change.

    Args:
        owner: the hash of the owner; empty without one.
        machine_clock: the machine time, ms.
    """

    def __init__(self, table: Table, owner: str, machine_clock: Callable[[], int]) -> None:
        self._table = table
        self._owner = owner
        self._machine_clock = machine_clock
        self._known: dict[str, QueueCountRecord] = {}
        self._entered: dict[str, int] = {}
        self._counted: dict[str, QueueTail] = {}

    def has_room(self, partition: str, entering: int, limits: Limits) -> bool:
        """Whether some jobs fit into a queue for sure; False if that is not known.

        Args:
            partition: the queue.
            entering: how many jobs.
            limits: the limits in force.
        """
        item = self._table.get(QueueCountRecord.key(partition))
        if item is None or not is_count(item):
            return False
        count = QueueCountRecord.parse(item)
        if not count.is_current(self._machine_clock()):
            return False
        self._known[partition] = count
        of_owner = count.of_owner(self._owner) if self._owner else 0
        return count.items + entering <= limits.waiting_per_team and of_owner + entering <= limits.waiting_per_owner

    def counted(self, partition: str, queue: QueueTail) -> None:
        """Note that a queue was counted.

        Args:
            partition: the queue.
            queue: the queue, to which jobs that enter it are added.
        """
        self._counted[partition] = queue

    def entered(self, partition: str) -> None:
        """Note that a job has entered a queue."""
        self._entered[partition] = self._entered.get(partition, 0) + 1

    def left(self, partition: str) -> None:
        """Note that a job has not entered a queue after all."""
        self._entered[partition] -= 1

    def store(self) -> None:
        """Store the counts of the long queues that jobs have entered, each by a write of its own.

        A count that could not be written is corrected by the next count of the queue, so it fails no submission.
        """
        for partition, entered in self._entered.items():
            write = self._write(partition, entered) if entered else None
            if write is None:
                continue
            try:
                self._store(partition, write, entered)
            except (Conflict, RetryLater):
                logger.warning("the count of a queue was not stored", extra={"queue": partition})
        self._entered.clear()

    def _store(self, partition: str, write: Write, entered: int) -> None:
        """Store a count; if the queue was counted since its count was read, the jobs are added to the new one.

        That may have them already: then its numbers are larger than necessary until the next one.

        Raises:
            Conflict: the count is gone, or the queue was counted once more.
            RetryLater: the table does not answer.
        """
        try:
            self._table.write([write])
        except Conflict:
            item = self._table.get(QueueCountRecord.key(partition))
            if item is None or not is_count(item):
                raise
            count = QueueCountRecord.parse(item)
            self._table.write([count.add(partition, entered, self._owner, self._machine_clock())])

    def _write(self, partition: str, entered: int) -> Write | None:
        """The write of a count; None for a short queue, which has none."""
        known, queue, now_ms = self._known.get(partition), self._counted.get(partition), self._machine_clock()
        if queue is None:
            return None if known is None else known.add(partition, entered, self._owner, now_ms)
        if queue.items < MAX_COUNTED_EACH_TIME:
            return None
        if known is not None:
            return known.correct(partition, queue.items, self._owner, queue.matching, now_ms)
        # Of other owners nothing is known until the queue is counted again by the minute.
        return QueueCountRecord(items=queue.items, counted_ms=now_ms, others=queue.items).put(partition)
