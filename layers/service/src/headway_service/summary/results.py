"""The summary as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.model import WaitingJob
from headway_service.pools.capacity import Capacity
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.listed_job import ListedJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """A job at the front of its queues, with its position, its reason and its reserved start, ms."""

    job: WaitingJob
    place: int | None
    reason: ReasonRecord
    start_by_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happened to a job, and when, ms."""

    time_ms: int
    kind: str
    job: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldCount:
    """How many jobs are on hold, and whether all that wait were read."""

    jobs: int
    is_all: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """The queue at one moment.

    Attributes:
        capacity: the pools and the teams.
        by_team: what each team holds of each pool.
        attempts: those shown.
        attempt_count: how many there are.
        stopping_count: how many of them stop.
        heads: the first jobs of the queues.
        depending: jobs that other jobs or their array keep back.
        held: jobs that are on hold.
        more_waiting: whether others wait behind the heads.
        ended: the jobs that ended last.
        events: what happened lately.
    """

    capacity: Capacity
    by_team: Mapping[str, Mapping[str, int]]
    attempts: Sequence[AttemptRecord]
    attempt_count: int
    stopping_count: int
    heads: Sequence[Head]
    depending: int
    held: HeldCount
    more_waiting: bool
    ended: Sequence[ListedJob]
    events: Sequence[Event]


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastStarts:
    """The starts of a forecast, ms, and when it was made, ms."""

    as_of_ms: int
    starts: Mapping[str, int | None]
