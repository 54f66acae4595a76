"""A table in memory whose calls take virtual time, as those of DynamoDB do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway_service.ports.table import Item, Key, Write
from headway_service.testing.memory_table import MemoryTable

READ_S, WRITE_S, ITEM_S = 0.004, 0.012, 0.00005
"""How long a read, a write, and each item that is read take, s. A guess on the slow side; a page of a query has a
thousand items."""


class SlowTable(MemoryTable):
    """A table whose calls take time.

    Args:
        wait: called with the time that a call takes, s.

    Attributes:
        is_slow: whether they take time now.
        calls: how many have taken time.
    """

    def __init__(self, wait: Callable[[float], None]) -> None:
        super().__init__()
        self._wait = wait
        self.is_slow = False
        self.calls = 0

    def get(self, key: Key) -> Item | None:
        """See :class:`MemoryTable`."""
        self._took(READ_S)
        return super().get(key)

    def get_all(self, keys: Sequence[Key]) -> tuple[Item, ...]:
        """See :class:`MemoryTable`."""
        found = super().get_all(keys)
        self._took(READ_S + len(found) * ITEM_S)
        return found

    def query(self, pk: str, *, prefix: str = "", after: str = "", limit: int) -> tuple[Item, ...]:
        """See :class:`MemoryTable`."""
        found = super().query(pk, prefix=prefix, after=after, limit=limit)
        self._took((1 + len(found) // 1000) * READ_S + len(found) * ITEM_S)
        return found

    def write(self, writes: Sequence[Write]) -> None:
        """See :class:`MemoryTable`."""
        self._took(WRITE_S)
        super().write(writes)

    def _took(self, seconds: float) -> None:
        if self.is_slow:
            self.calls += 1
            self._wait(seconds)
