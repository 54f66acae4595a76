"""What a pass of the scheduler has left idle while jobs wait, until it is in the sums of usage."""

from __future__ import annotations

from headway_service.ports.table import Absent, Delete, Equals, Key, Put
from headway_service.store.records.base import LEDGER, Record


class IdleRecord(Record):
    """Idle instances of a pool that are not counted yet. There is none while nothing is idle, or nobody waits."""

    pool: str
    #: How many there are, and how many of them are reserved.
    count: int
    reserved: int = 0
    #: Since when they are idle, as far as that is not in the sums: training time, ms ...
    since_ms: int
    #: ... and the machine time then, ms.
    noted_ms: int
    version: int = 1

    @staticmethod
    def key(pool: str) -> Key:
        """Where the idle instances of a pool are kept."""
        return Key(LEDGER, f"idle#{pool}")

    def put(self, *, was: int | None) -> Put:
        """The write that stores it, on condition that the stored version is still ``was`` (None: none stored)."""
        key = self.key(self.pool)
        return Put(
            item={"pk": key.pk, "sk": key.sk, **self.fields()},
            requires=Absent() if was is None else Equals("version", was),
        )

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.pool), requires=Equals("version", self.version))
