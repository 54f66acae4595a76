"""What one call has read of a line: how many wait there, and how many stand ahead of whom."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from headway_service.ports.table import Equals, Table

MAX_PLACE = 1000
"""Largest queue position reported; jobs further back get None."""

MAX_TAIL = 16
"""Entries at the end of a line that are read one by one. To decode so many takes no longer than another call."""


class Line:
    """A line as it was read, with those who joined it since.

    Args:
        items: who waits in it.
        matching: those of them whose owner it was read for.
        tail: the ranks at its end, ascending.
        whole: whether these are all.
        counted: whether ``items`` are all who wait, and not a limit to which they were counted.
    """

    def __init__(self, *, items: int, matching: int, tail: Sequence[str], whole: bool, counted: bool) -> None:
        self.items = items
        self.matching = matching
        self._tail = list(tail)
        self._whole = whole
        self._counted = counted

    def join(self, rank: str) -> None:
        """A job of the owner has joined the line."""
        self.items += 1
        self.matching += 1
        if self.tells(rank):
            insort(self._tail, rank)

    def tells(self, rank: str) -> bool:
        """Whether what was read tells who stands ahead of a rank: it is all of the line, or the rank is at its end."""
        return self._whole or (self._counted and rank >= self._tail[0])

    def ahead(self, rank: str) -> int:
        """How many stand ahead of a rank of which it :meth:`tells`."""
        return self.items - len(self._tail) + bisect_left(self._tail, rank)


def read_line(table: Table, partition: str, mark: str, *, limit: int) -> Line:
    """Read a line, eventually consistent: a short one by one query, a longer one by two, each entry once.

    The end is read one by one, as that is where most jobs join; what is before it is counted only.

    Args:
        table: the table.
        partition: the line.
        mark: of the owner whose jobs are counted apart.
        limit: counts no further.
    """
    tail = table.tail(partition, "ownedBy", limit=MAX_TAIL)
    ranks = [rank for rank, _ in tail]
    items, matching = len(tail), sum(owner == mark for _, owner in tail)
    whole = items < MAX_TAIL
    if not whole and items < limit:
        front = table.tally(partition, Equals("ownedBy", mark), before=ranks[0], limit=limit - items)
        items, matching = items + front.items, matching + front.matching
    return Line(items=items, matching=matching, tail=ranks, whole=whole, counted=whole or items < limit)
