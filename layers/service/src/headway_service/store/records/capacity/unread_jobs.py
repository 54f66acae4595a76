"""What is known of the jobs of a queue that are behind the part which each decision reads."""

from __future__ import annotations

from headway_service.ports.table import Delete, Key, Put
from headway_service.store.records.base import LEDGER, Record


class UnreadJobsRecord(Record):
    """The jobs that were found so far behind the first ones of a queue, and where the search continues.

    There is one only while the first jobs, as many as a decision reads, do not tell what starts. If two ticks write
    it at once, the later one wins: the other finds its jobs again.
    """

    pool: str
    team: str = ""
    #: The sort key in the queue after which the search continues.
    after: str
    #: Sort keys of jobs that fit, for decisions to consider: the first ones by rank ...
    first: tuple[str, ...] = ()
    #: ... and those that the last search found.
    latest: tuple[str, ...] = ()
    #: When it was written, machine time, ms.
    searched_ms: int

    @property
    def found(self) -> tuple[str, ...]:
        """The sort keys of the jobs that were found, in rank order."""
        return tuple(sorted({*self.first, *self.latest}))

    def key(self) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"unread#{self.pool}#{self.team}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def forget(self) -> Delete:
        """The write that removes it."""
        return Delete(key=self.key())
