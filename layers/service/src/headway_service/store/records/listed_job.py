"""A job as listings have it."""

from __future__ import annotations

from pydantic import Field

from headway.dependencies import Condition
from headway.job_terms import owner_hash
from headway.lifecycle import WAITING, JobState
from headway.model import WaitingJob
from headway.refusals import is_unlaunchable, unlaunchable_from_ms
from headway_service.ports.table import LISTED, Item, Key
from headway_service.store.records.array import ArrayRecord
from headway_service.store.records.base import ReasonRecord, Record
from headway_service.store.records.dependency import DependencyRecord
from headway_service.store.records.failed_launches import FailedLaunchesRecord
from headway_service.store.records.reuse import ReuseRecord
from headway_service.store.records.waiting import WaitingRecord


class Usage(Record):
    """What a job has had of its pools."""

    #: When its first attempt that was launched got its instances, ms.
    started_ms: int | None = None
    #: What its ended attempts held, by pool: instances times ms.
    instance_ms: dict[str, int] = Field(default_factory=dict)
    #: What of this was lost: instances times ms.
    lost_ms: int = 0
    #: What is billed of it, by :func:`headway.pool_names.billed_pool`: instances times ms.
    billed_ms: dict[str, int] = Field(default_factory=dict)
    #: The spot instances of attempts whose billable time is not known: instances times ms.
    unbilled_ms: dict[str, int] = Field(default_factory=dict)
    #: For how long spot instances have trained without being billed; empty if spot saved nothing.
    saved_ms: dict[str, int] = Field(default_factory=dict)
    #: What of the billed time is for what was lost, and what of the rest was lost; empty if nothing was.
    lost_billed_ms: dict[str, int] = Field(default_factory=dict)
    lost_unbilled_ms: dict[str, int] = Field(default_factory=dict)


class ListedJob(WaitingRecord):
    """What the index projects of a job: all that listings filter by, sort by and show, and that decisions depend on.

    A page has hundreds of jobs, so each field that listings do not need would take its time hundreds of times.
    """

    job_state: JobState
    #: When it was accepted, ms, if it has another entry time since.
    accepted_ms: int | None = None
    #: How often it has given way to another job.
    preemption_count: int = 0
    #: ARN of the caller that submitted it.
    owner: str | None = None
    #: The MaxRuntimeInSeconds of its request; None in items of a time before it was kept.
    max_run_s: int | None = None
    #: Whether it is held: it waits, but is in no queue until it is released.
    held: bool = False
    #: The jobs that it depends on: it waits in no queue as long as one of them has not ended.
    depends_on: tuple[DependencyRecord, ...] = ()
    #: When it enters its queues, ms, as long as that has not come; None if no time keeps it back.
    begin_ms: int | None = None
    #: Of an array, which is never started itself: its members in numbers, and which are where. None for other jobs.
    array: ArrayRecord | None = None
    #: Of a member of an array: the array, and which member it is. Empty and None for other jobs.
    member_of: str = ""
    index: int | None = None
    #: Whether it is a member that is in no queue until its array takes it in.
    is_set_aside: bool = False
    #: Of a job that may be answered by the outputs of an equal one; None for others.
    reuse: ReuseRecord | None = None
    #: A note for people, of its owner or an administrator; empty for none.
    comment: str = ""
    usage: Usage = Field(default_factory=Usage)
    #: Launches so far; names the next attempt.
    attempt_count: int = 0
    live_attempt: str | None = None
    #: Which of its choices it runs on, or ran on last. While it may still choose, it waits with the fields of the
    #: first.
    alternative: int = 0
    #: Whether it stays on that one: an attempt may have written a checkpoint that instances of other types cannot read.
    bound: bool = False
    #: Whether its checkpoints can be read on all alternatives, so that it may choose after each attempt.
    portable_checkpoint: bool = False
    reason: ReasonRecord
    ended_ms: int | None = None

    @classmethod
    def unfolded(cls, item: Item) -> Item:
        """The attributes of an item, with those of its summary."""
        summary = item.get("summary", {})
        return {**item, **summary, "usage": summary}

    @staticmethod
    def key(job: str) -> Key:
        """Where the job is kept."""
        return Key(f"job#{job}", "job")

    @property
    def accepted_time(self) -> int:
        """When it was accepted, ms; its training jobs are marked with it."""
        return self.entry_time if self.accepted_ms is None else self.accepted_ms

    @property
    def awaited(self) -> list[tuple[str, Condition]]:
        """The jobs that have to end before it enters the queue, each with its condition."""
        return [(each.job_name, each.condition) for each in self.depends_on if each.ended is None]

    @property
    def twin(self) -> str:
        """The equal job that it waits for; empty if it waits for none."""
        return next((each.job_name for each in self.depends_on if each.twin and each.ended is None), "")

    @property
    def reused_from(self) -> str:
        """The job whose outputs it has; empty if it computes, or has computed, by itself."""
        return self.reuse.job_name if self.reuse else ""

    @property
    def is_queued(self) -> bool:
        """Whether it is in its queues: it waits, is not held, and nothing keeps it back."""
        return self._has_entries and not self.is_kept_back

    @property
    def _has_entries(self) -> bool:
        return self.job_state in WAITING and not self.held and self.array is None

    @property
    def is_kept_back(self) -> bool:
        """Whether other jobs, its array or a time keep it out of its queues for now."""
        return self.is_set_aside or bool(self.awaited) or self.begin_ms is not None

    @property
    def chooses(self) -> bool:
        """Whether its next attempt may run on any of its alternatives; not if it stays on one."""
        return bool(self.choices) and not self.bound

    @property
    def pools(self) -> list[str]:
        """The pools that its next attempt may have instances of."""
        if not self.chooses:
            return sorted(self.demand)
        return sorted({pool for each in self.choices for pool in each.demand})

    def is_unlaunchable(self, now_ms: int) -> bool:
        """Whether SageMaker does not launch it now, on any alternative that its next attempt may run on."""
        return all(each is not None and is_unlaunchable(each.value(), now_ms) for each in self._tried)

    @property
    def unlaunchable_from_ms(self) -> int | None:
        """From when on it is unlaunchable, ms; None if its launches show no such time."""
        known = [unlaunchable_from_ms(each.value()) for each in self._tried if each is not None]
        return max(known) if len(known) == len(self._tried) else None

    @property
    def _tried(self) -> list[FailedLaunchesRecord | None]:
        """Its launches that got no instances, on each alternative that its next attempt may run on."""
        return [each.failed for each in self.choices] if self.chooses else [self.failed]

    def waiting(self) -> WaitingJob:
        """The scheduler's view of it, if it is in its queues; of a listed job without what it runs."""
        return self.waiting_with(self.waiting_terms(owner_hash(self.owner)))


def _stored_names(record: type[Record]) -> list[str]:
    return [str(field.alias) for field in record.model_fields.values()]


SUMMARY = tuple(name for name in (*_stored_names(ListedJob), *_stored_names(Usage)) if name not in {*LISTED, "usage"})
"""Attributes that are stored in the map ``summary``: a listing shows them and does not filter by them.

The index projects the map as one attribute.
"""
