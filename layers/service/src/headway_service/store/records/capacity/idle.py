"""What a pass of the scheduler has left idle while jobs wait, until it is in the sums of usage."""

from __future__ import annotations

from headway_service.ports.table import Absent, Equals, Key, Put
from headway_service.store.records.base import LEDGER, Record

CLOSED_KEPT_S = 3600
"""For how long the item of a pool is kept in which nothing is idle any more, machine time. It is longer than any
invocation (15 minutes): a pass that began before there was an item must not find none again."""


class IdleRecord(Record):
    """Idle instances of a pool that are not counted yet. There is none before anything is idle while jobs wait."""

    pool: str
    #: How many there are, and how many of them are reserved. 0 if nothing is idle any more.
    count: int
    reserved: int = 0
    #: Since when they are idle, as far as that is not in the sums: training time, ms ...
    since_ms: int
    #: ... and the machine time then, ms.
    noted_ms: int
    version: int = 1
    #: When it may be removed, machine time, s: only one in which nothing is idle.
    expires_at: int | None = None

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
