"""DynamoDB's answers without ConsistentRead: the table as of a few writes ago."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from headway_service.ports.table import Write
from headway_service.testing.memory_table import MemoryTable

MAX_LAG = 10
"""The maximum number of writes that an eventually consistent answer can lack. AWS documents no bound."""


class Replica:
    """A copy of a table that lags behind it.

    Args:
        random: determines the lag.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        #: Whether it lags at all.
        self.lags = True
        self._table = MemoryTable()
        #: Writes that the copy lacks, in order.
        self._missing: deque[Sequence[Write]] = deque()

    def note(self, writes: Sequence[Write]) -> None:
        """Add writes that the table has performed."""
        self._missing.append(writes)

    def read(self) -> MemoryTable:
        """Return the copy as of a random lag; it never moves backwards."""
        missing = self._random.randint(0, min(MAX_LAG, len(self._missing))) if self.lags else 0
        while len(self._missing) > missing:
            self._table.write(self._missing.popleft())
        return self._table
