"""DynamoDB's eventually consistent reads: the table as it was a few writes ago."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from headway_service.ports.table import Write
from headway_service.testing.memory_table import MemoryTable

MAX_LAG = 10
"""Writes that an eventually consistent answer may lack. AWS names no bound."""


class Replica:
    """A copy of a table that lags behind it.

    Args:
        random: decides by how much.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._table = MemoryTable()
        #: Writes that the copy lacks, first come first.
        self._missing: deque[Sequence[Write]] = deque()

    def note(self, writes: Sequence[Write]) -> None:
        """The table has taken these writes."""
        self._missing.append(writes)

    def read(self) -> MemoryTable:
        """The copy as one reader finds it. A later one never finds it older."""
        missing = self._random.randint(0, min(MAX_LAG, len(self._missing)))
        while len(self._missing) > missing:
            self._table.write(self._missing.popleft())
        return self._table
