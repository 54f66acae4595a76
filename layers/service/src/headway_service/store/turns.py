"""Gives each record its turn where the time of a tick does not suffice for all: the next tick goes on behind the last.

So a record waits for each of the others once at most, whatever these take and whichever fail. Nothing is written as
long as the time suffices.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from headway_service.ports.table import Table
from headway_service.store.records.turn import TurnRecord

_T = TypeVar("_T")


class Turns:
    """The turns of the records that one tick works on.

    Args:
        left_ms: how much time is left for the work now, ms.
    """

    def __init__(self, table: Table, left_ms: Callable[[], int]) -> None:
        self._table = table
        self.left_ms = left_ms
        self._last: dict[str, str] = {}
        self._cut: set[str] = set()

    def begin(self, stored: Iterable[TurnRecord]) -> None:
        """Go on where earlier ticks have stopped; this tick goes on where itself has.

        Args:
            stored: what these have left.
        """
        self._last = {each.work: each.last for each in stored} | self._last

    def ordered(self, work: str, found: Iterable[_T], name: Callable[[_T], str]) -> list[_T]:
        """The records in the order of :meth:`in_turn`.

        Args:
            work: the kind of work.
            found: the records.
            name: gives the name of a record.
        """
        order = sorted(found, key=name)
        first = bisect_right(order, self._last.get(work, ""), key=name)
        return [*order[first:], *order[:first]]

    def has_time(self) -> bool:
        """Whether any time is left."""
        return self.left_ms() > 0

    def in_turn(self, work: str, found: Iterable[_T], name: Callable[[_T], str]) -> Iterator[_T]:
        """The records, from the one behind that which had its turn last, while there is time.

        Args:
            work: the kind of work.
            found: the records.
            name: gives the name of a record, which orders them.
        """
        for each in self.ordered(work, found, name):
            if not self.has_time():
                self._cut.add(work)
                return
            self._last[work] = name(each)
            yield each

    def store(self) -> None:
        """Store where the work has stopped that there was not enough time for."""
        for work in sorted(self._cut):
            self._table.write([TurnRecord(work=work, last=self._last.get(work, "")).put()])
        self._cut.clear()
