"""Equal jobs, whose data is in S3."""

from __future__ import annotations

from headway_service.bootstrap.objects import ObjectsContainer
from headway_service.reuse.entry import ReuseEntry
from headway_service.reuse.twins import Twins


class ReuseContainer(ObjectsContainer):
    """For the functions in which jobs enter the queue."""

    @property
    def reuse(self) -> ReuseEntry:
        """Has jobs answered by equal ones."""
        twins = Twins(
            self.table,
            lambda: self.objects,
            self._places,
            self.settings.reuse_buckets,
            self.clocks,
        )
        return ReuseEntry(
            self.table,
            twins,
            clocks=self.clocks,
            retention_s=self.settings.retention_s,
        )
