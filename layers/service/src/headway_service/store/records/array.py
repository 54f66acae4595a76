"""How far the members of an array are, and what they have given."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from headway.early_stopping import EarlyStopping, Goal
from headway.lifecycle import JobState
from headway_service.ports.table import AllEqual, Delete, Key, Put, Update
from headway_service.store.records.base import LEDGER, Record
from headway_service.store.schema_version import stamp


class EarlyStoppingRecord(Record):
    """See :class:`headway.early_stopping.EarlyStopping`."""

    metric: str
    goal: Goal
    step_metric: str = ""
    min_members: int
    min_step: int

    @classmethod
    def of(cls, settings: EarlyStopping) -> EarlyStoppingRecord:
        """The record of the settings."""
        return cls(
            metric=settings.metric,
            goal=settings.goal,
            step_metric=settings.step_metric,
            min_members=settings.min_members,
            min_step=settings.min_step,
        )

    @property
    def settings(self) -> EarlyStopping:
        """The settings."""
        return EarlyStopping(
            metric=self.metric,
            goal=self.goal,
            step_metric=self.step_metric,
            min_members=self.min_members,
            min_step=self.min_step,
        )


class ArrayRecord(Record):
    """The members of an array in numbers; a listing shows them."""

    count: int
    #: How many of them may be in the queue or run at once; None for any number.
    at_once: int | None = None
    #: How many may fail before no further one starts; None if failures change nothing.
    max_failures: int | None = None
    #: When members are stopped early; None for never.
    early_stopping: EarlyStoppingRecord | None = None
    #: Those that are jobs of their own, or were.
    made: int = 0
    completed: int = 0
    #: Those that failed, or reached their time limit.
    failed: int = 0
    stopped: int = 0
    #: Those of ``stopped`` that were stopped early.
    stopped_early: int = 0

    @property
    def unmade(self) -> int:
        """How many members are no jobs yet."""
        return self.count - self.made

    @property
    def is_closed(self) -> bool:
        """Whether so many have failed that no further one starts."""
        return self.max_failures is not None and self.failed > self.max_failures


class MembersRecord(Record):
    """Which members of an array have been made, and which of these have not ended."""

    #: The members before this one have been made.
    next_index: int = 0
    #: Members after that, which a command has made before their turn.
    early: tuple[int, ...] = ()
    #: Those that have been made, and are not known to have ended.
    live: tuple[int, ...] = ()
    #: Those of ``live`` that are set aside: they are in no queue until the array takes them in.
    set_aside: tuple[int, ...] = ()
    #: Whether the array has another priority than some of ``live`` may have.
    is_reprioritized: bool = False

    @property
    def active(self) -> int:
        """How many are in the queue or run."""
        return len(self.live) - len(self.set_aside)


class OpenArrayRecord(Record):
    """An array of which a tick may have something to do: each tick reads the ledger, so it finds it there.

    One that rests has nothing to do until one of its members ends, or it is woken (decision 110). The items of a time
    before the last four fields were kept lack them.
    """

    job_name: str
    #: Whether its members may be stopped early.
    stops_early: bool = False
    #: Whether ticks leave it alone.
    rests: bool = False
    #: How often it was woken, so that it does not rest by what was read before; 0 if that is not counted.
    wakes: int = 0
    #: The team that is charged, empty for none, and the mark of the owner; None if they are not known.
    team: str | None = None
    owned_by: str | None = None

    @staticmethod
    def key(job: str) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"array#{job}")

    @staticmethod
    def wake(job: str) -> Update:
        """The write by which an array no longer rests.

        If nothing of the array is left to do, this opens it again, and the next tick closes it.

        Args:
            job: the array.
        """
        return Update(key=OpenArrayRecord.key(job), sets=stamp({"jobName": job, "rests": False}), adds={"wakes": 1})

    def rest(self) -> Update:
        """The write by which it rests, unless it was woken since it was read."""
        return Update(
            key=self.key(self.job_name),
            sets={"rests": True},
            requires=AllEqual((("jobName", self.job_name), ("wakes", self.wakes))),
        )

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.job_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def close(self) -> Delete:
        """The write that removes it: nothing of the array is left to do."""
        return Delete(key=self.key(self.job_name))


class UnlaunchableMemberRecord(Record):
    """A member that SageMaker has not launched, for its array: each tick reads the ledger, so it finds it there.

    It is written when a launch of the member got no instances, and removed when one has got some or none is tried any
    more. So nothing is read or written for members that are launched, and there are no more of these than members that
    could run at once, and :data:`headway_service.arrays.room.MAX_UNLAUNCHABLE_MEMBERS`.
    """

    job_name: str
    array: str
    index: int
    #: From when on it is unlaunchable on each of its alternatives, ms.
    from_ms: int

    @staticmethod
    def key(job: str) -> Key:
        """Where it is kept."""
        return Key(LEDGER, f"unlaunchable#{job}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.job_name)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def forget(self) -> Delete:
        """The write that removes it."""
        return Delete(key=self.key(self.job_name))


class MemberResultRecord(Record):
    """What a member of an array has given, beside the array, so that one query reads those of many members."""

    PREFIX: ClassVar[str] = "result#"

    array: str
    index: int
    #: When the array was accepted, ms: an array of that name may have been there before.
    accepted_ms: int
    job_state: JobState
    stopped_early: bool = False
    attempt_name: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    metrics: dict[str, str] = Field(default_factory=dict)
    expires_at: int

    @classmethod
    def key(cls, array: str, index: int) -> Key:
        """Where it is kept."""
        return Key(f"job#{array}", f"{cls.PREFIX}{index:05d}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.array, self.index)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})
