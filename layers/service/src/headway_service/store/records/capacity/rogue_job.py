"""A rogue training job: one that did not come through the queue."""

from __future__ import annotations

from pydantic import Field

from headway.job_terms import JobTerms
from headway.model import ROGUE_TEAM, Allocation
from headway.scheduling.ordering import MAX_PRIORITY
from headway_service.ports.table import Absent, Delete, Equals, Key, Put
from headway_service.store.records.base import LEDGER, ReasonRecord, Record


class RogueJobRecord(Record):
    """A live rogue training job. Its charge is not free in its pools."""

    training_job_name: str
    arn: str
    #: CreationTime, ms: distinguishes it from a later training job with its name.
    created_ms: int
    training_job_status: str
    #: Instances per type.
    demand: dict[str, int]
    #: The part of them that its pools are charged.
    charged: dict[str, int] = Field(default_factory=dict)
    #: The team in its tags, for display. Any user may set any team, so it is charged to none.
    team: str = ""
    #: It holds its instances no longer than this, from its creation on, ms.
    limit_ms: int
    #: When it was first seen, ms, and last, in machine time.
    since_ms: int
    seen_ms: int
    reason: ReasonRecord
    #: Whether it carries the mark of an attempt: a copy of one, or an attempt that the ledger has lost.
    marked: bool = False
    #: Whether it is to be stopped.
    stop: bool = False
    #: The operator who requested it, as in ``user/ada``; empty if none did.
    stop_asked_by: str = ""
    #: When that was tried last, ms, and why it did not work, if it did not.
    stop_sent_ms: int | None = None
    stop_problem: str = ""
    #: Version of the configuration that it was judged by.
    config_version: int
    version: int = 1

    @staticmethod
    def key(name: str) -> Key:
        """Where it is kept while it is live."""
        return Key(LEDGER, f"rogue#{name}")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.training_job_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.training_job_name), requires=Equals("version", self.version))

    def allocation(self) -> Allocation:
        """The scheduler's view of it: it is not preemptible, and ends by its own limit."""
        # No job and no attempt has such a name.
        name = f"rogue#{self.training_job_name}"
        return Allocation(
            job=name,
            attempt=name,
            demand=self.charged,
            terms=JobTerms(
                priority=MAX_PRIORITY,
                entry_time_ms=self.created_ms,
                team=ROGUE_TEAM,
                limit_ms=self.limit_ms,
                preemptible=False,
            ),
            since_ms=self.created_ms,
            stopping=self.training_job_status == "Stopping",
            outside=self.training_job_name,
        )
