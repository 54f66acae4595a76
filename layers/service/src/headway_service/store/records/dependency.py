"""The jobs that a job depends on, and a job that has ended before those that depend on it know."""

from __future__ import annotations

from collections.abc import Iterable

from headway.dependencies import Condition, Ending
from headway_service.ports.table import Delete, Key, Put, Write
from headway_service.store.records.base import LEDGER, Record


class DependencyRecord(Record):
    """A job that another one depends on."""

    job_name: str
    condition: Condition = Condition.OK
    #: How that job has ended; None as long as the other one waits for it.
    ended: Ending | None = None
    #: Whether it computes the same, so that the other one gets its outputs if it completes.
    twin: bool = False

    @classmethod
    def on_twin(cls, job: str) -> DependencyRecord:
        """An equal job that another one waits for, however it ends."""
        return cls(job_name=job, condition=Condition.ANY, twin=True)


class EndedJobRecord(Record):
    """A job that has ended, before those that depend on it, and its array, know.

    It is written with the end of the job, and removed by the tick that has notified the others. As it is part of the
    ledger, each tick reads it without looking for it.
    """

    job_name: str
    ending: Ending
    #: The jobs that were accepted with a dependency on it, whatever has become of them.
    dependants: tuple[str, ...] = ()
    #: The array that it is a member of, empty for none, and what the array keeps of its members.
    member_of: str = ""
    index: int = 0
    stopped_early: bool = False
    attempt_name: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    #: None if they are not known.
    metrics: dict[str, str] | None = None

    @staticmethod
    def key(job: str) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"ended#{job}")

    @classmethod
    def written_by(cls, writes: Iterable[Write]) -> list[EndedJobRecord]:
        """The ends that writes store of jobs that others depend on."""
        first = cls.key("")
        ends = (each.item for each in writes if isinstance(each, Put) and each.key.pk == first.pk)
        found = [cls.parse(item) for item in ends if item["sk"].startswith(first.sk)]
        return [each for each in found if each.dependants]

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.job_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def forget(self) -> Delete:
        """The write that removes it. It never changes, so two ticks may both remove it."""
        return Delete(key=self.key(self.job_name))


class RecheckRecord(Record):
    """A job that waits for an equal one, or for which equal ones wait, after a change: another may start first now.

    It is written with the change, and removed by the tick that has compared them. As it is part of the ledger, each
    tick reads it without looking for it.
    """

    job_name: str

    def key(self) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"recheck#{self.job_name}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key()
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def forget(self) -> Delete:
        """The write that removes it."""
        return Delete(key=self.key())
