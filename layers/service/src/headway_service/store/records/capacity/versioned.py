"""A record of which each version follows from the one before."""

from __future__ import annotations

from headway_service.ports.table import Absent, Equals, Key, Put
from headway_service.store.records.base import Record


class VersionedRecord(Record):
    """One item that several runs may write."""

    version: int = 0

    def put_at(self, key: Key, *, over_damaged: bool = False) -> Put:
        """The write that stores its next version, on condition that no other run has.

        Args:
            key: where it is kept.
            over_damaged: whether there is one that cannot be read. Nothing is held by it, so it is replaced.
        """
        moved = self.model_copy(update={"version": self.version + 1})
        requires = Equals("version", self.version) if self.version else Absent()
        item = {"pk": key.pk, "sk": key.sk, **moved.fields()}
        return Put(item=item, requires=None if over_damaged else requires)
