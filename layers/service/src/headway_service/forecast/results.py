"""What forecasts answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.lifecycle import JobState
from headway.model import Demand
from headway.prediction.likely_times import LikelyTime
from headway_service.jobs.position import JobView
from headway_service.pools.capacity import PoolUse
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """A job that would start at another time, ms; None for not known, or not waiting."""

    job: str
    before_ms: int | None
    after_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DryRun:
    """The effect of a request."""

    #: The job as it would be.
    seen: JobView[JobRecord]
    expected_start_ms: int | None
    #: The jobs that it would preempt at once, and those whose warm pools would be released for it.
    preempts: Sequence[str]
    releases: Sequence[str]
    #: Jobs that would start at another time, in the order of the queue, up to a maximum.
    delays: Sequence[Move]
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Ahead:
    """A job that another one waits for."""

    job: str
    job_state: JobState
    priority: int
    demand: Demand
    owner: str | None
    started_ms: int | None
    expected_end_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Why a job is in its state, and what happens next."""

    seen: JobView[JobRecord]
    expected_start_ms: int | None
    expected_end_ms: int | None
    note: str
    #: Jobs that hold instances of its pools, by expected end; then those ahead of it in the queue, up to a maximum.
    ahead: Sequence[Ahead] = ()
    #: How many more there are, counted up to :data:`headway_service.store.queue_tail.MAX_PLACE`.
    more: int = 0
    #: The pools that it demands.
    pools: Sequence[PoolUse] = ()
    remedy: str | None = None
    #: When a waiting job is likely to start, or a running one to end; None if that is not predicted.
    predicted_start: LikelyTime | None = None
    predicted_end: LikelyTime | None = None
    #: What its team used lately, in words; None where that does not count.
    turn: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """A waiting job, and when it is expected to start, ms."""

    seen: JobView[ListedJob]
    start_ms: int | None
    #: When it is likely to start; None if that is not predicted.
    predicted_start: LikelyTime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """When waiting jobs are expected to start."""

    as_of_ms: int
    #: How far the forecast reaches, ms; None if to the end.
    until_ms: int | None
    note: str
    jobs: Sequence[Expected]
    more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Consequences:
    """The effect of changes."""

    #: Jobs that would start at once, jobs that would be preempted at once, and jobs whose warm pools would be released.
    starts: Sequence[str]
    preempts: Sequence[str]
    releases: Sequence[str]
    #: Jobs that would start at another time, up to a maximum.
    moved: Sequence[Move]
    note: str
