"""The sums of usage as items of the table, and the marks of what they contain."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from headway.days import DAY_MS, DAYS_KEPT, Period, begin_ms
from headway_service.ports.table import Absent, Equals, Item, Key, Put, Update
from headway_service.store.records.base import Record
from headway_service.store.schema_version import stamp

JOBS, ATTEMPTS, PREEMPTIONS, REUSED = "jobs.", "attempts", "preemptions", "reused"
"""Figures of sums: ended jobs by state, ended attempts, and those among them that were preempted; reused results."""

USED, LOST, BILLED, UNBILLED = "used.", "lost.", "billed.", "unbilled."
"""Figures of sums by pool: instances times ms."""

LOST_BILLED, LOST_UNBILLED = "lostBilled.", "lostUnbilled."
"""Figures of sums by pool: the part of what is billed, and of what is not, that was lost."""

SAVED = "saved."
"""Figures of sums by pool: instances times ms for which spot instances trained without being billed."""

IDLE, IDLE_RESERVED = "idle.", "idleReserved."
"""Figures of the sums of pools, instances times ms: idle while jobs waited, and the reserved part of it."""

WAIT, RUN = "w.", "r."
"""Figures of sums: jobs by bucket of how long they waited for their first start, and ran until their end.

They are short, as a month of a busy name has a hundred of them, which are paid for by their size.
"""

ERROR, COVERED = "e.", "covered"
"""Figures of the sums of kinds of jobs: completed jobs by the error of their prediction, and those that ran for a time
within its interval."""

KIND = "kind"
"""The dimension of the run times of completed jobs, by :class:`headway.prediction.kinds.RunKind`; months only."""

KINDS_KEPT = 400
"""Days for which these are kept: predictions use the last four months, and reports say how good they were."""

MAX_NAMES = 1000
"""Names of one dimension in a month that have sums of their own; those of all further names are
:data:`headway.accounting.differences.OTHER`."""

MAX_NAME_BYTES = 900
"""Longer names are replaced by their digests: a sort key has 1024 bytes."""

MONTHS_KEPT = 3660
"""Days for which monthly sums are kept."""

MARK_KEPT_S = 7 * 86_400
"""How much longer than its job a mark is kept, s. A job that the table has forgotten is not accounted for again."""


class MarkRecord(Record):
    """What of a job is in the sums. It is written in one transaction with them."""

    job_name: str
    #: When the job was accepted, ms. A later job of the same name has another mark.
    accepted_ms: int
    #: The number of the last ended attempt that is accounted for.
    attempts: int = 0
    #: The number of an attempt of which only some days are, and how many; 0 for none.
    partial: int = 0
    days: int = 0
    #: Whether the end of the job is.
    ended: bool = False
    #: When the table may forget it, s since the epoch; set when the job has ended.
    expires_at: int | None = None
    version: int = 0

    @staticmethod
    def key(job: str) -> Key:
        """Where the mark of a job is kept."""
        return Key(f"job#{job}", "accounted")

    def put(self) -> Put:
        """The write that stores its next version, on condition that it has not changed."""
        key = self.key(self.job_name)
        moved = self.model_copy(update={"version": self.version + 1})
        requires = Equals("version", self.version) if self.version else Absent()
        return Put(item={"pk": key.pk, "sk": key.sk, **moved.fields()}, requires=requires)


class ProgressRecord(Record):
    """How far the feed of events is accounted for."""

    #: The cursor of the feed.
    cursor: str

    KEY: ClassVar[Key] = Key("accounted", "feed")

    def put(self) -> Put:
        """The write that stores it. Whichever of two runs is behind, the other's jobs are marked."""
        return Put(item={"pk": self.KEY.pk, "sk": self.KEY.sk, **self.fields()})


class RepairRecord(Record):
    """The repairs of the sums of a dimension in a month: their number as its version, and the last one."""

    by: str
    month: str
    #: The day that it was of, and a digest of the differences that it was made for.
    day: str = ""
    digest: str = ""
    #: ARN of who made it, and when, ms.
    caller: str = ""
    at_ms: int = 0
    version: int = 0

    @staticmethod
    def key(by: str, month: str) -> Key:
        """Where the repairs of a dimension in a month are counted."""
        return Key(partition(by, month), "repaired")

    def next(self, day: date, digest: str, caller: str, now_ms: int) -> RepairRecord:
        """The record after another repair, whose version is still that of this one.

        Args:
            day: the day that it is of.
            digest: the digest of the differences.
            caller: ARN of who makes it.
            now_ms: the training time, ms.
        """
        changes = {"day": day.isoformat(), "digest": digest, "caller": caller, "at_ms": now_ms}
        return self.model_copy(update=changes)

    def put(self) -> Put:
        """The write that stores its next version, on condition that there was no other repair."""
        key = self.key(self.by, self.month)
        moved = self.model_copy(update={"version": self.version + 1})
        requires = Equals("version", self.version) if self.version else Absent()
        expires = {"expiresAt": expires_at(Period(month=self.month))}
        return Put(item={"pk": key.pk, "sk": key.sk, **moved.fields(), **expires}, requires=requires)


def partition(dimension: str, month: str) -> str:
    """The partition of the sums of a dimension in a month.

    Args:
        dimension: ``team``, ``owner``, ``pool`` or ``tag:`` and the key of a tag.
        month: such as ``2026-11``.
    """
    return f"usage#{dimension}#{month}"


def prefix(period: Period) -> str:
    """How the sort keys of the sums of a period begin: with the day, or 00 for the month."""
    return f"{period.day.day:02d}#" if period.day else "00#"


def sum_key(dimension: str, period: Period, name: str) -> Key:
    """Where the sums of a name are kept.

    Args:
        dimension: see :func:`partition`.
        period: the month or the day.
        name: the team, the owner, the pool or the value of the tag; empty for none.
    """
    return Key(partition(dimension, period.month), f"{prefix(period)}{short(name)}")


def names_key(dimension: str, month: str) -> Key:
    """Where the names of a dimension in a month are counted, as ``names``.

    Args:
        dimension: see :func:`partition`.
        month: such as ``2026-11``.
    """
    return Key(partition(dimension, month), "names")


def short(name: str) -> str:
    """A name as it fits into a sort key."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    return f"sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def expires_at(period: Period, kept_days: int | None = None) -> int:
    """When the table may forget the sums of a period, s since the epoch.

    Args:
        kept_days: for how many days they are kept, if not for as long as usage is.
    """
    kept = kept_days or (DAYS_KEPT if period.day else MONTHS_KEPT)
    return (begin_ms(period.first) + kept * DAY_MS) // 1000


def add_figures(dimension: str, period: Period, name: str, figures: Mapping[str, int]) -> Update:
    """The write that adds figures to the sums of a name.

    Args:
        dimension: see :func:`partition`.
        period: the month or the day.
        name: see :func:`sum_key`.
    """
    kept = KINDS_KEPT if dimension == KIND else None
    sets = stamp({"expiresAt": expires_at(period, kept)})
    return Update(key=sum_key(dimension, period, name), sets=sets, adds=dict(figures))


def name_in(item: Item) -> str:
    """The name whose sums an item has."""
    return str(item["sk"]).partition("#")[2]


def figures_in(item: Item) -> dict[str, int]:
    """The figures of an item. Those that a repair has made 0 are left out, like all that are 0."""
    return {name: value for name, value in item.items() if name not in _OTHERS and value}


def is_of_jobs(figure: str) -> bool:
    """Whether a figure is one that jobs have: idle time is the pools'."""
    return figure in {ATTEMPTS, PREEMPTIONS, REUSED} or (
        figure.startswith((JOBS, USED, LOST, BILLED, UNBILLED, LOST_BILLED, LOST_UNBILLED, SAVED, WAIT, RUN))
    )


_OTHERS = frozenset({"pk", "sk", "schemaVersion", "expiresAt"})
