"""Which names have sums of their own: the first of each dimension in a month, up to a limit."""

from __future__ import annotations

from collections import Counter

from headway.accounting.differences import OTHER
from headway.days import Period
from headway_service.accounting.records import MAX_NAMES, expires_at, names_key, sum_key
from headway_service.ports.table import Absent, Condition, Equals, Table, Update
from headway_service.store.schema_version import stamp

_MAX_KNOWN = 20_000
"""Names that are remembered, so that they are not read again."""

_Name = tuple[str, str, str]
"""A dimension, a month, and a name."""


class Names:
    """The names that have sums of their own."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._known: set[_Name] = set()

    def open(self) -> NewNames:
        """The names that one transaction adds."""
        return NewNames(self._table, self._known)

    def keep(self, new: NewNames) -> None:
        """Remember the names of a transaction that was written."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        self._known |= new.found


class NewNames:
    """The names of a transaction: those that are new are counted, and beyond the limit replaced.

    Args:
        known: names that are not new.
    """

    def __init__(self, table: Table, known: set[_Name]) -> None:
        self._table = table
        self._known = known
        self.found: set[_Name] = set()
        self._counts: dict[tuple[str, str], int | None] = {}
        self._new: Counter[tuple[str, str]] = Counter()

    def of(self, dimension: str, month: str, name: str) -> str:
        """The name under which the sums of a name are kept."""
        wanted = (dimension, month, name)
        if wanted in self._known or wanted in self.found:
            return name
        # The count is read first: if the name is added after that, the count has changed, and this transaction fails.
        is_full = self._is_full(dimension, month)
        if self._table.get(sum_key(dimension, Period(month=month), name)) is None:
            if is_full:
                return OTHER
            self._new[dimension, month] += 1
        self.found.add(wanted)
        return name

    def writes(self) -> list[Update]:
        """The writes that count the new names, on condition that no others were counted meanwhile."""
        return [self._count(dimension, month, number) for (dimension, month), number in sorted(self._new.items())]

    def _is_full(self, dimension: str, month: str) -> bool:
        kept = (dimension, month)
        if kept not in self._counts:
            item = self._table.get(names_key(dimension, month))
            self._counts[kept] = None if item is None else int(item["names"])
        return (self._counts[kept] or 0) + self._new[kept] >= MAX_NAMES

    def _count(self, dimension: str, month: str, number: int) -> Update:
        before = self._counts[dimension, month]
        requires: Condition = Absent() if before is None else Equals("names", before)
        sets = stamp({"expiresAt": expires_at(Period(month=month))})
        return Update(key=names_key(dimension, month), sets=sets, adds={"names": number}, requires=requires)
