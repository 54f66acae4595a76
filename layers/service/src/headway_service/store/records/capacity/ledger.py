"""What else the ledger holds: pools, pauses, reservations and teams."""

from __future__ import annotations

from typing import ClassVar

from headway.model import Calendar, Pause, Reservation, SizeChange
from headway_service.ports.table import Absent, AllEqual, Delete, Equals, Key, Put
from headway_service.store.records.base import LEDGER, Record

ROW_MS = 600_000
"""What happens this long after the end of a back-off, or after a launch without a clear answer, begins another row."""


class PoolRecord(Record):
    """The ledger of one pool: ``free`` is its size less allocations, reservations and what rogue jobs are charged.

    It becomes negative when the pool shrinks below its use, and when rogue jobs use instances that were not free.
    """

    pool: str
    size: int
    free: int
    #: Nothing is launched in the pool before this machine time, ms, because SageMaker gave no clear answers.
    backoff_until_ms: int = 0
    #: Since when launches in a row had no clear answer, machine time, ms; 0 if SageMaker accepted the last one.
    backoff_since_ms: int = 0
    #: When the last such row ended, as SageMaker accepted a launch, machine time, ms.
    answered_ms: int = 0
    #: Consecutive backoffs.
    backoffs: int = 0
    #: The job whose launch had no clear answer last.
    unclear_job: str = ""
    #: SageMaker's answer that caused the last one.
    backoff_cause: str = ""
    #: A number that each pause raises, of the pool itself and of all pools; None while they are not counted.
    pauses: int | None = None
    #: From this machine time on, ms, each pause is counted: no function runs older code, which does not count any.
    pauses_from_ms: int | None = None

    @staticmethod
    def key(pool: str) -> Key:
        """Where the ledger is kept."""
        return Key(LEDGER, f"pool#{pool}")

    def put(self) -> Put:
        """The write that stores it."""
        key = self.key(self.pool)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()})

    def has_unclear_row(self, now_ms: int) -> bool:
        """Whether a launch without a clear answer now would be one in a row with those before it."""
        return bool(self.backoff_since_ms) and now_ms <= self.backoff_until_ms + ROW_MS

    def pauses_at(self, machine_ms: int) -> int | None:
        """The number that each pause raises, as a condition of starts; None if these have to check for pauses."""
        return self.pauses if self.pauses_from_ms is not None and self.pauses_from_ms <= machine_ms else None


class CalendarRecord(Record):
    """The sizes of a pool with a schedule or a plan, beside its :class:`PoolRecord`, which has the size of now.

    Each start in the pool, and each change of the calendar, is conditional on the one before: two decisions at once
    cannot exceed a later size together.
    """

    pool: str
    #: From when on the pool has which size: training time, ms, and instances, in order. The first one is the size when
    #: this was written.
    sizes: tuple[tuple[int, int], ...]
    #: Whether running attempts are stopped when the pool becomes smaller than its use.
    stops: bool = False
    #: With ``stops``: whether any job may start that does not end in time; if not, only one that is stopped for a size.
    any_job: bool = True
    #: A clause on the training plan that gives the pool these sizes; empty for a schedule.
    about: str = ""
    #: Whether the sizes are known: SageMaker has described the training plan.
    known: bool = True
    #: The schedule, or the plan, that it was computed from.
    made_from: str = ""
    version: int = 1

    @staticmethod
    def key(pool: str) -> Key:
        """Where the calendar of a pool is kept."""
        return Key(LEDGER, f"calendar#{pool}")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.pool)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def size_at(self, time_ms: int) -> int:
        """The size at a time; before the first entry, the size of that."""
        return next((size for since_ms, size in reversed(self.sizes) if since_ms <= time_ms), self.sizes[0][1])

    @property
    def next_change(self) -> SizeChange | None:
        """The change after the size of when this was written; a tick writes it again within a minute of each change."""
        return SizeChange(at_ms=self.sizes[1][0], size=self.sizes[1][1]) if len(self.sizes) > 1 else None

    def calendar(self, now_ms: int) -> Calendar:
        """The changes after a time, as the scheduler sees them."""
        changes = tuple(SizeChange(at_ms=at_ms, size=size) for at_ms, size in self.sizes[1:] if at_ms > now_ms)
        return Calendar(changes=changes, stops=self.stops, any_job=self.any_job, about=self.about, known=self.known)


class PauseRecord(Record):
    """A pause of a pool, or of all pools: until it is removed nothing starts, and nothing is preempted."""

    EVERYTHING: ClassVar[str] = "*"

    #: :attr:`EVERYTHING` for all pools, those too that are added later.
    pool: str
    #: The caller, as in ``user/ada``, and the reason.
    by: str
    reason: str
    since_ms: int
    #: Whether running jobs are stopped and requeued.
    stops: bool = False
    #: The caller and the reason of the drain, if the pool was paused before it was drained.
    drained_by: str = ""
    drain_reason: str = ""
    #: When the table was restored, ms: the pause lasts until the patrol has checked all training jobs since then.
    restored_ms: int | None = None
    #: Whether the pause continues after that, as all pools had been paused before.
    stays: bool = False

    @staticmethod
    def key(pool: str) -> Key:
        """Where the pause of a pool is kept."""
        return Key(LEDGER, f"pause#{pool}")

    def put(self, *, requires: Absent | Equals | AllEqual) -> Put:
        """The write that stores it."""
        key = self.key(self.pool)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)

    def pause(self) -> Pause:
        """It as the scheduler sees it."""
        everything = self.pool == self.EVERYTHING
        return Pause(by=self.by, since_ms=self.since_ms, reason=self.reason, everything=everything)


class ReservationRecord(Record):
    """Instances freed for a waiting job."""

    job_name: str
    demand: dict[str, int]
    version: int = 1

    @staticmethod
    def key(job: str) -> Key:
        """Where the reservation is kept."""
        return Key(LEDGER, f"reservation#{job}")

    def put(self, *, was: ReservationRecord | None) -> Put:
        """The write that stores it, on condition that the stored one is still ``was`` (None: none stored)."""
        key = self.key(self.job_name)
        return Put(
            item={"pk": key.pk, "sk": key.sk, **self.fields()},
            requires=Absent() if was is None else was.unchanged(),
        )

    def delete(self) -> Delete:
        """The write that removes it, on condition that it has not changed."""
        return Delete(key=self.key(self.job_name), requires=self.unchanged())

    def unchanged(self) -> AllEqual:
        """The condition that it is the stored one: a later one of the same job may have the same version."""
        return AllEqual((("version", self.version), ("demand", self.demand)))

    def reservation(self) -> Reservation:
        """It as the scheduler sees it."""
        return Reservation(job=self.job_name, demand=self.demand)


class TeamRecord(Record):
    """A team that has queues, or had them recently: they are read until they are empty."""

    team: str
    #: When the team was removed from the configuration, machine time, ms; None while it is in it.
    left_ms: int | None = None
    #: Starts of its jobs while it has a limit. Each is conditional on the one before, so that two decisions at once
    #: cannot exceed the limit together.
    starts: int = 0

    @staticmethod
    def key(team: str) -> Key:
        """Where the team is kept."""
        return Key(LEDGER, f"team#{team}")

    def put(self, *, requires: Absent | Equals) -> Put:
        """The write that stores it."""
        key = self.key(self.team)
        return Put(item={"pk": key.pk, "sk": key.sk, **self.fields()}, requires=requires)
