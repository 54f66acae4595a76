"""What the scheduler says of the future: why a job waits, when it is expected to start, and what would change that.

Every expected time follows from the jobs' limits and today's queue, so each of these answers has a `note`: a sentence
on what it assumes. Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_client.models.job import Job
from headway_client.models.pools import PoolUse
from headway_client.models.reading import list_of, mapping, optional_text, optional_whole, text, texts, whole, wholes
from headway_client.models.reason import Reason


@dataclass(frozen=True, kw_only=True)
class Shift:
    """How the expected start of a waiting job would change; None stands for no start that can be foreseen."""

    job_name: str
    before: str | None
    after: str | None

    @classmethod
    def from_document(cls, document: object) -> Shift:
        """Read a shift; raises `ServerFaultError` on anything else."""
        shift = mapping(document)
        return cls(
            job_name=text(shift, "jobName"),
            before=optional_text(shift, "before"),
            after=optional_text(shift, "after"),
        )


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What a submission would do, without doing it.

    Attributes:
        job: the job as it would be at once.
        expected_start: when it would start, if that can be foreseen.
        preempts: the jobs that would be stopped for it.
        delays: waiting jobs whose expected start would change, the first of them.
        note: what the forecast assumes.
        document: the whole answer as it came.
    """

    job: Job
    expected_start: str | None
    preempts: tuple[str, ...]
    delays: tuple[Shift, ...]
    note: str
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> DryRun:
        """Read a dry run; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            job=Job.from_document(answer.get("job")),
            expected_start=optional_text(answer, "expectedStart"),
            preempts=texts(answer, "preempts"),
            delays=tuple(Shift.from_document(item) for item in list_of(answer, "delays")),
            note=text(answer, "note"),
            document=answer,
        )


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """A job that another one waits for: it holds instances of its pools, or stands before it in line.

    Attributes:
        job_name: its name.
        job_state: one of `JOB_STATES`.
        priority: its priority.
        demand: instances per pool.
        started_time: when the attempt that holds instances was started, if one does.
        expected_end: when it is over at the latest, if that can be foreseen.
    """

    job_name: str
    job_state: str
    priority: int
    demand: Mapping[str, int]
    started_time: str | None
    expected_end: str | None

    @classmethod
    def from_document(cls, document: object) -> Ahead:
        """Read such a job; raises `ServerFaultError` on anything else."""
        job = mapping(document)
        return cls(
            job_name=text(job, "jobName"),
            job_state=text(job, "jobState"),
            priority=whole(job, "priority"),
            demand=wholes(job, "demand"),
            started_time=optional_text(job, "startedTime"),
            expected_end=optional_text(job, "expectedEnd"),
        )


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why a job is where it is, and what can be done about it.

    Attributes:
        job_name: its name.
        job_state: one of `JOB_STATES`.
        held: whether it waits without standing in any line, until it is released.
        place: place in line, if it stands in one.
        reason: why it is as it is; None if nothing is to be said, as for a job that has ended.
        expected_start: when it is expected to start, if it waits and that can be foreseen.
        expected_end: when it is over at the latest, if that can be foreseen.
        note: what the expected times assume, if there are any.
        ahead: who holds instances of its pools, then who stands before it in line; the first of them.
        more: how many there are beyond these.
        pools: how the pools are used that it demands.
        remedy: what one can do, if anything.
        document: the whole answer as it came.
    """

    job_name: str
    job_state: str
    held: bool
    place: int | None
    reason: Reason | None
    expected_start: str | None
    expected_end: str | None
    note: str | None
    ahead: tuple[Ahead, ...]
    more: int
    pools: tuple[PoolUse, ...]
    remedy: str | None
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Explanation:
        """Read an explanation; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            job_name=text(answer, "jobName"),
            job_state=text(answer, "jobState"),
            held=bool(answer.get("held")),
            place=optional_whole(answer, "place"),
            reason=Reason.under(answer, "reason"),
            expected_start=optional_text(answer, "expectedStart"),
            expected_end=optional_text(answer, "expectedEnd"),
            note=optional_text(answer, "note"),
            ahead=tuple(Ahead.from_document(item) for item in list_of(answer, "ahead")),
            more=whole(answer, "more"),
            pools=tuple(PoolUse.from_document(item) for item in list_of(answer, "pools")),
            remedy=optional_text(answer, "remedy"),
            document=answer,
        )


@dataclass(frozen=True, kw_only=True)
class ForecastEntry:
    """A waiting job and its expected start; None if none can be foreseen."""

    job_name: str
    job_state: str
    place: int | None
    priority: int
    demand: Mapping[str, int]
    held: bool
    expected_start: str | None

    @classmethod
    def from_document(cls, document: object) -> ForecastEntry:
        """Read an entry; raises `ServerFaultError` on anything else."""
        entry = mapping(document)
        return cls(
            job_name=text(entry, "jobName"),
            job_state=text(entry, "jobState"),
            place=optional_whole(entry, "place"),
            priority=whole(entry, "priority"),
            demand=wholes(entry, "demand"),
            held=bool(entry.get("held")),
            expected_start=optional_text(entry, "expectedStart"),
        )


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """When the waiting jobs are expected to start, the soonest first.

    Attributes:
        as_of: the time of the queue that was looked at.
        until: how far the forecast reaches, if it ends before the line does.
        note: what it assumes.
        jobs: the jobs, by expected start, then place.
        more: whether there are more than these.
        document: the whole answer as it came.
    """

    as_of: str
    until: str | None
    note: str
    jobs: tuple[ForecastEntry, ...]
    more: bool
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> Forecast:
        """Read a forecast; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            as_of=text(answer, "asOf"),
            until=optional_text(answer, "until"),
            note=text(answer, "note"),
            jobs=tuple(ForecastEntry.from_document(item) for item in list_of(answer, "jobs")),
            more=bool(answer.get("more")),
            document=answer,
        )


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What changes to the queue would bring about, without making them.

    Attributes:
        starts: the jobs that would start at once.
        preempts: the jobs that would be stopped for others.
        moved: waiting jobs whose expected start would change, the first of them.
        note: what the forecast assumes.
        document: the whole answer as it came.
    """

    starts: tuple[str, ...]
    preempts: tuple[str, ...]
    moved: tuple[Shift, ...]
    note: str
    document: Mapping[str, Any]

    @classmethod
    def from_document(cls, document: object) -> WhatIf:
        """Read the answer; raises `ServerFaultError` on anything else."""
        answer = mapping(document)
        return cls(
            starts=texts(answer, "starts"),
            preempts=texts(answer, "preempts"),
            moved=tuple(Shift.from_document(item) for item in list_of(answer, "moved")),
            note=text(answer, "note"),
            document=answer,
        )
