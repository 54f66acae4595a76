"""Which of two equal jobs computes, if the one that was to do it has not started. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

from headway.lifecycle import WAITING
from headway_service.store.records.job import JobRecord


class GivesUp(Enum):
    """What a job does that was to compute for others when an equal one goes before it."""

    #: It waits for the other one, and gets its outputs.
    FOLLOWS = auto()
    #: It computes by itself, too, when it starts, and for nobody else.
    ALONE = auto()


def goes_first(source: JobRecord, other: JobRecord, now_ms: int, paused: Collection[str] = ()) -> bool:
    """Whether a job that computes for equal ones holds instances, or is to start before another one that would enter.

    It is not if something keeps it out of its queues, if it ranks behind the other job, or if only the pools of the
    other one are not paused. Nor if only it is unlaunchable: if both are, they do not change places again and again.

    Args:
        source: the job that computes; it has not ended.
        other: the job that would enter its queues.
        now_ms: the training time, ms.
        paused: the pools of both that are paused.
    """
    if source.job_state not in WAITING or other.held or other.begin_ms is not None:
        return True
    if not source.is_queued:
        return False
    if source.is_unlaunchable(now_ms):
        return other.is_unlaunchable(now_ms)
    if source.priority < other.priority:
        return False
    return _may_start(source, paused) or not _may_start(other, paused)


def how_it_gives_up(source: JobRecord) -> GivesUp | None:
    """What a job that has not started does when an equal one goes before it; None if it must not.

    One that had an attempt continues from the checkpoints in its place, which would be that of the other job: they must
    never run at once. A member of an array has a place of its own. In the queue, it is counted by its array.

    Args:
        source: the job that computes.
    """
    if source.attempt_count and source.checkpoints and not source.member_of:
        return None
    if source.attempt_count or (source.member_of and source.is_queued):
        return GivesUp.ALONE
    return GivesUp.FOLLOWS


def _may_start(job: JobRecord, paused: Collection[str]) -> bool:
    demands = [each.demand for each in job.choices] if job.chooses else [job.demand]
    return any(not demand.keys() & set(paused) for demand in demands)
