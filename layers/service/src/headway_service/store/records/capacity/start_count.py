"""How many jobs were started in a pool whose instances are booked, or limited by owner."""

from __future__ import annotations

from headway_service.ports.table import Absent, Delete, Equals, Key, Put, Update, Write
from headway_service.store.records.base import LEDGER, Record


class StartCountRecord(Record):
    """The starts in a pool. Each is conditional on the one before: two decisions at once cannot exceed a limit.

    A pool that neither has a limit of owners nor is booked has none.
    """

    pool: str
    starts: int = 0

    @staticmethod
    def key(pool: str) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"starts#{pool}")

    def count(self) -> Write:
        """The write that counts a start, if none was counted since this was read; 0 starts are not stored."""
        key = self.key(self.pool)
        if self.starts:
            return Update(key=key, adds={"starts": 1}, requires=Equals("starts", self.starts))
        first = self.model_copy(update={"starts": 1})
        return Put(item={"pk": key.pk, "sk": key.sk, **first.fields()}, requires=Absent())

    @classmethod
    def forget(cls, pool: str) -> Delete:
        """The write that removes the count of a pool."""
        return Delete(key=cls.key(pool))
