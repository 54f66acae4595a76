"""The members of an array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.api_documents.arrays import ArrayMember, ArrayProgress, MedianStopping, MemberPage
from headway.sweeps import member_name
from headway_service.api.times import time_text
from headway_service.jobs.queries import MemberView
from headway_service.store.records.array import ArrayRecord, EarlyStoppingRecord
from headway_service.store.records.job import JobRecord


def progress_document(numbers: ArrayRecord) -> ArrayProgress:
    """How far the members of an array are."""
    return ArrayProgress(
        count=numbers.count,
        at_once=numbers.at_once,
        max_failures=numbers.max_failures,
        unmade=numbers.unmade,
        completed=numbers.completed,
        failed=numbers.failed,
        stopped=numbers.stopped,
        stopped_early=numbers.stopped_early,
        early_stopping=_median_stopping(numbers.early_stopping) if numbers.early_stopping is not None else None,
    )


def _median_stopping(settings: EarlyStoppingRecord) -> MedianStopping:
    by_steps = bool(settings.step_metric)
    return MedianStopping(
        metric=settings.metric,
        goal=settings.goal,
        step_metric=settings.step_metric or None,
        min_members=settings.min_members,
        min_steps=settings.min_step if by_steps else None,
        min_training_seconds=None if by_steps else settings.min_step,
    )


def member_page_document(array: JobRecord, members: Iterable[MemberView], following: int | None) -> MemberPage:
    """A page of the members of an array.

    Args:
        members: its members, by index.
        following: the first index of the next page; None at the end.
    """
    count = array.array.count if array.array is not None else 0
    return MemberPage(
        array=array.job_name,
        members=tuple(_member(member_name(array.job_name, each.index, count), each) for each in members),
        next_index=following,
    )


def _member(name: str, member: MemberView) -> ArrayMember:
    job, result = member.job, member.result
    if result is not None:
        state, made, attempt = result.job_state, True, result.attempt_name
        stopped_early = result.stopped_early
        metrics: Mapping[str, str] | None = result.metrics
        started_ms, ended_ms = result.started_ms, result.ended_ms
    elif job is not None:
        state, made, metrics = job.job_state, job.is_made, job.metrics
        stopped_early = job.was_stopped_early
        attempt = job.live_attempt or (job.attempts[-1].attempt_name if job.attempts else None)
        started_ms, ended_ms = job.usage.started_ms, job.ended_ms
    else:
        raise ValueError(f"member {member.index} has neither a result nor a job")
    return ArrayMember(
        index=member.index,
        name=name,
        state=state,
        made=made,
        stopped_early=stopped_early,
        parameters=member.parameters,
        metrics=numbers(metrics),
        attempt=attempt,
        started_time=time_text(started_ms),
        ended_time=time_text(ended_ms),
    )


def numbers(metrics: Mapping[str, str] | None) -> dict[str, float]:
    """Metrics as numbers; none if there are none."""
    return {name: float(value) for name, value in (metrics or {}).items()}
