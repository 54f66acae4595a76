"""What a job has to do with equal ones, and the job that computes, or has computed, what a digest stands for."""

from __future__ import annotations

from headway_service.ports.table import Absent, Delete, Equals, Key, Put
from headway_service.store.records.base import Record


class ReuseRecord(Record):
    """Of a job that may be answered by the outputs of an equal one."""

    #: Whether an image without a digest counts as the same. (Records omit what equals a default.)
    unpinned: bool = False
    #: The digest of the job when it entered its queues, if it computes for others too; empty otherwise.
    key: str = ""
    #: See :class:`headway_service.reuse.fingerprint.Fingerprint`.
    seen: str = ""
    #: The job whose outputs it has, and the attempt that made them; empty if it computes by itself.
    job_name: str = ""
    attempt_name: str = ""


class ComputedRecord(Record):
    """The job that computes, or has computed, what a digest stands for.

    It is written when that job enters its queues, completed or removed by the tick after its end, and expires with it.
    """

    key_digest: str
    job_name: str
    #: Digest of the outputs of the job; empty as long as they were not read.
    outputs: str = ""
    expires_at: int | None = None

    @staticmethod
    def key(digest: str) -> Key:
        """Where it is kept."""
        return Key(f"reuse#{digest}", "computed")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.key_digest)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def delete(self, *, requires: Equals) -> Delete:
        """The write that removes it."""
        return Delete(key=self.key(self.key_digest), requires=requires)
