"""Reads the end of a queue: how many jobs wait in it, and how many are ahead of a given rank."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headway_service.ports.table import Equals, Table

MAX_PLACE = 1000
"""Largest queue position reported; jobs further back get None."""

MAX_NEW_PLACE = 100
"""Largest queue position in the answer of a submission, which reads no more of the queues than that takes."""

MAX_TAIL = 16
"""Entries at the end of a queue that are read one by one. Decoding them takes no longer than another call."""


class QueueTail:
    """A queue as it was read, with the jobs that entered it since.

    Args:
        items: how many jobs wait in it.
        matching: how many of them belong to the given owner.
        tail: the ranks at its end, ascending.
        whole: whether these are all.
        counted: whether ``items`` is the number of all jobs, rather than the limit of the count.
    """

    def __init__(self, *, items: int, matching: int, tail: Sequence[str], whole: bool, counted: bool) -> None:
        self.items = items
        self.matching = matching
        self._tail = list(tail)
        self._whole = whole
        self._counted = counted

    @property
    def is_counted(self) -> bool:
        """Whether the number of jobs is that of all, and not the limit of the count."""
        return self._counted

    def join(self, rank: str) -> None:
        """Count a job of the owner that has entered the queue."""
        self.items += 1
        self.matching += 1
        if self._ends_before(rank):
            insort(self._tail, rank)

    def leave(self, rank: str) -> None:
        """Take back :meth:`join`."""
        self.items -= 1
        self.matching -= 1
        if self._ends_before(rank):
            self._tail.remove(rank)

    def covers(self, rank: str, most: int) -> bool:
        """Whether :meth:`ahead` knows how many jobs are ahead of a rank.

        Args:
            rank: the rank.
            most: the largest number of interest.
        """
        return self._ends_before(rank) and (self._counted or self.ahead(rank) >= most)

    def _ends_before(self, rank: str) -> bool:
        """Whether the whole queue was read, or the rank is within the end that was read."""
        return self._whole or rank >= self._tail[0]

    def ahead(self, rank: str) -> int:
        """How many jobs are ahead of a rank that it :meth:`covers`; that many at least if the queue was not counted."""
        return self.items - len(self._tail) + bisect_left(self._tail, rank)


def read_queue_tail(table: Table, partition: str, mark: str, *, limit: int) -> QueueTail:
    """Read a queue, eventually consistent: a short one with one query, a longer one with two, each entry once.

    The entries at the end are read, as most jobs enter there; those before it are only counted.

    Args:
        table: the table.
        partition: the queue.
        mark: the hash of the owner whose jobs are counted separately.
        limit: the largest count.
    """
    tail = table.tail(partition, "ownedBy", limit=MAX_TAIL)
    ranks = [rank for rank, _ in tail]
    items, matching = len(tail), sum(owner == mark for _, owner in tail)
    whole = items < MAX_TAIL
    if not whole and items < limit:
        front = table.tally(partition, Equals("ownedBy", mark), before=ranks[0], limit=limit - items)
        items, matching = items + front.items, matching + front.matching
    return QueueTail(items=items, matching=matching, tail=ranks, whole=whole, counted=whole or items < limit)
