"""Forecasts: why a job waits, when jobs start, what changes would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.jobs import ExpectedRun, Reason, Shift
from headway.api_documents.pools import PoolUse
from headway.api_documents.values import Instances, Time
from headway.lifecycle import JobState


@dataclass(frozen=True, kw_only=True)
class Ahead(ApiDocument):
    """A job that another one waits for."""

    job_name: str
    job_state: JobState
    priority: int
    demand: Instances
    started_time: Time | None
    expected_end: Time | None
    owner: Annotated[str | None, Member("ARN of who submitted it; null if that is not known.")] = None


@dataclass(frozen=True, kw_only=True)
class PredictedTime(ApiDocument):
    """When a job is likely to start or to end, by how long jobs have run. It proves nothing."""

    about: Time
    from_: Annotated[Time, Member("If jobs run as short as one of ten like them does.", name="from")]
    until: Annotated[Time, Member("If jobs run as long as one of ten like them does.")]


@dataclass(frozen=True, kw_only=True)
class Explanation(ApiDocument):
    """Why a job is where it is, and what comes next."""

    job_name: str
    job_state: JobState
    held: bool
    place: Annotated[
        int | None, Member("Position in the queue; it counts the members of arrays that are not in it yet.")
    ]
    reason: Reason
    expected_start: Annotated[Time | None, Member("Of a waiting job, if it is known.")]
    expected_end: Annotated[Time | None, Member("By its limit.")]
    note: Annotated[str, Member("What this assumes.")]
    ahead: Annotated[
        tuple[Ahead, ...],
        Member("What holds instances of its pools, then what is before it in the queue; at most 20."),
    ]
    more: Annotated[int, Member("How many there are beyond these, members of arrays included, counted to 1000.")]
    pools: Annotated[tuple[PoolUse, ...], Member("Those that it demands.")]
    remedy: Annotated[str | None, Member("What one can do.")]
    predicted_start: Annotated[PredictedTime | None, Member("Of a waiting job, if it is predicted.")] = None
    predicted_end: Annotated[PredictedTime | None, Member("Of a running job, if it is predicted.")] = None
    expected_run: Annotated[
        ExpectedRun | None, Member("By which the order of equals compares it; null if it counts with its limit.")
    ] = None
    turn: Annotated[
        str | None, Member("What its team used lately beside the others; null where past use does not count.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ForecastEntry(ApiDocument):
    """A waiting job, and when it is expected to start."""

    job_name: str
    job_state: JobState
    place: Annotated[
        int | None, Member("Position in the queue; it counts the members of arrays that are not in it yet.")
    ]
    priority: int
    demand: Instances
    held: bool
    expected_start: Annotated[Time | None, Member("Of an array without members, the start of its first one.")]
    after: Annotated[tuple[str, ...], Member("The jobs that have to end before it enters the queue.")] = ()
    predicted_start: Annotated[PredictedTime | None, Member("Null if it is not predicted.")] = None


@dataclass(frozen=True, kw_only=True)
class Forecast(ApiDocument):
    """When waiting jobs are expected to start."""

    as_of: Time
    until: Annotated[Time | None, Member("How far the forecast reaches; null if to the end.")]
    note: Annotated[str, Member("What the forecast assumes.")]
    jobs: Annotated[tuple[ForecastEntry, ...], Member("By expected start, those without one last, then by position.")]
    more: bool


@dataclass(frozen=True, kw_only=True)
class WhatIf(ApiDocument):
    """What changes would do; nothing was changed."""

    starts: Annotated[tuple[str, ...], Member("Jobs that would start at once.")]
    preempts: Annotated[tuple[str, ...], Member("Jobs that would be preempted at once.")]
    moved: Annotated[tuple[Shift, ...], Member("Jobs that would start at another time; at most 100.")]
    note: Annotated[str, Member("What the forecast assumes.")]
    releases: Annotated[tuple[str, ...], Member("Jobs whose warm pools would be released at once.")] = field(
        default_factory=tuple
    )
