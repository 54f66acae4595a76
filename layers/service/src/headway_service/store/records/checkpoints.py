"""Who writes checkpoints where."""

from __future__ import annotations

from dataclasses import replace

from headway_service.ports.objects import Location
from headway_service.ports.table import Absent, Equals, Key, Put
from headway_service.store.records.base import Record


class WriterRecord(Record):
    """A job that was accepted with a location for checkpoints."""

    job_name: str
    #: When the job was accepted, ms. A later job of the same name is another one.
    accepted_ms: int


class CheckpointsRecord(WriterRecord):
    """The job that was accepted last with a location for checkpoints.

    It is written with that job, and stays when the job ends: whether its writers are in the queue is in their records.
    """

    #: Those that were in the queue with the same location when the job was accepted.
    beside: tuple[WriterRecord, ...] = ()
    #: When the table may forget it, s since the epoch.
    expires_at: int

    @staticmethod
    def key(location: Location) -> Key:
        """Where it is kept: locations below another one are after it in its partition."""
        return Key(f"checkpoints#{location.bucket}", f"/{location.key}")

    @property
    def writers(self) -> tuple[WriterRecord, ...]:
        """The job, and those beside it."""
        return (WriterRecord(job_name=self.job_name, accepted_ms=self.accepted_ms), *self.beside)

    def put(self, location: Location) -> Put:
        """The write that stores it."""
        key = self.key(location)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def put_after(self, location: Location, known: CheckpointsRecord | None) -> Put:
        """The write that stores it, on condition that no other job was accepted with that location meanwhile.

        Args:
            known: what is stored there; None for nothing.
        """
        return replace(self.put(location), requires=Absent() if known is None else Equals("jobName", known.job_name))
