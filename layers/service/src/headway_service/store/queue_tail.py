"""Reads the end of a queue: how many jobs wait in it, and how many are ahead of a given rank."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headway_service.ports.table import Equals, Table, Tally

MAX_PLACE = 1000
"""Largest queue position reported; jobs further back get None."""

MAX_NEW_PLACE = 100
"""Largest queue position in the answer of a submission, which reads no more of the queues than that takes."""

MAX_TAIL = 16
"""Entries at the end of a queue that are read one by one. Decoding them takes no longer than another call."""


class QueueTail:
    """A queue as it was read, with the jobs that entered it since.

    Args:
        tail: the ranks at its end, ascending.
        matching: how many of these jobs belong to the given owner.
        front: the jobs ahead of these, as far as they were counted; None if there are none.
        counted: whether all of them were counted.
    """

    def __init__(self, *, tail: Sequence[str], matching: int, front: Tally | None, counted: bool) -> None:
        self._tail = list(tail)
        self._matching = matching
        self._front = front or Tally(items=0, matching=0)
        self._whole = front is None
        self._counted = counted

    @property
    def items(self) -> int:
        """How many jobs wait in the queue, up to the limit of the count."""
        return self._front.items + len(self._tail)

    @property
    def matching(self) -> int:
        """How many of them belong to the given owner."""
        return self._front.matching + self._matching

    @property
    def is_counted(self) -> bool:
        """Whether the number of jobs is that of all, and not the limit of the count."""
        return self._counted

    def join(self, rank: str) -> None:
        """Count a job of the owner that has entered the queue."""
        if self._ends_before(rank):
            insort(self._tail, rank)
            self._matching += 1
        else:
            self._front = Tally(items=self._front.items + 1, matching=self._front.matching + 1)

    def leave(self, rank: str) -> None:
        """Take back :meth:`join`."""
        if self._ends_before(rank):
            self._tail.remove(rank)
            self._matching -= 1
        else:
            self._front = Tally(items=self._front.items - 1, matching=self._front.matching - 1)

    def covers(self, rank: str, most: int) -> bool:
        """Whether :meth:`ahead` knows how many jobs are ahead of a rank.

        Args:
            most: the largest number of interest.
        """
        return self._ends_before(rank) and (self._counted or self.ahead(rank) >= most)

    def _ends_before(self, rank: str) -> bool:
        """Whether the whole queue was read, or the rank is within the end that was read."""
        return self._whole or rank >= self._tail[0]

    def ahead(self, rank: str) -> int:
        """How many jobs are ahead of a rank that it :meth:`covers`; that many at least if the queue was not counted."""
        return self._front.items + bisect_left(self._tail, rank)

    def recounted(self, table: Table, partition: str, mark: str, *, limit: int) -> QueueTail:
        """The queue with another count of the jobs before its end, which is not read again.

        Args:
            partition: the queue, which is longer than its end.
            mark: the hash of the owner whose jobs are counted separately.
            limit: the largest count.
        """
        most = limit - len(self._tail)
        front = table.tally(partition, Equals("ownedBy", mark), before=self._tail[0], limit=most)
        return QueueTail(tail=self._tail, matching=self._matching, front=front, counted=front.items < most)


def read_queue_tail(table: Table, partition: str, mark: str, *, limit: int) -> QueueTail:
    """Read a queue, eventually consistent: a short one with one query, a longer one with two, each entry once.

    The entries at the end are read, as most jobs enter there; those before it are only counted.

    Args:
        partition: the queue.
        mark: the hash of the owner whose jobs are counted separately.
        limit: the largest count.
    """
    tail = table.tail(partition, "ownedBy", limit=MAX_TAIL)
    ranks, matching = [rank for rank, _ in tail], sum(owner == mark for _, owner in tail)
    if len(tail) < MAX_TAIL:
        return QueueTail(tail=ranks, matching=matching, front=None, counted=True)
    queue = QueueTail(tail=ranks, matching=matching, front=Tally(items=0, matching=0), counted=False)
    return queue.recounted(table, partition, mark, limit=limit) if len(tail) < limit else queue
