"""Jobs, and what a submission would do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from headway.api_documents.jobs import (
    Attempt,
    Dependency,
    DryRun,
    ExpectedRun,
    HistoryEntry,
    Job,
    JobDetails,
    Reason,
    Shift,
    WatchOf,
)
from headway.jobpolicy.utilization import Coverage
from headway.lifecycle import TERMINAL, WAITING, AttemptState
from headway_service.api.documents.arrays import numbers, progress_document
from headway_service.api.times import time_text
from headway_service.jobs.position import JobView
from headway_service.jobs.queries import MemberView
from headway_service.sagemaker_api.redaction import Shown
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import EndedAttempt, JobRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.store.records.timer import expires_ms

if TYPE_CHECKING:
    # A call loads the forecast when it needs one.
    from headway_service.forecast.results import DryRun as DryRunFound
    from headway_service.forecast.results import Move


def job_document(seen: JobView[ListedJob]) -> Job:
    """A job."""
    return _job(Job, seen)


def job_details_document(
    seen: JobView[JobRecord],
    attempt: AttemptRecord | None,
    shown: Shown,
    covered: Iterable[Coverage],
    member: MemberView | None,
) -> JobDetails:
    """A job with its attempts, its history and its request.

    Args:
        seen: the job.
        attempt: its live one.
        shown: its request, as far as the caller may see it.
        covered: how rules on utilization watch its live attempt.
        member: what it is as a member of an array; None if it is in none.
    """
    attempts = [_ended_attempt(ended) for ended in seen.job.attempts]
    if attempt is not None:
        attempts.append(_live_attempt(attempt))
    return _job(
        JobDetails,
        seen,
        attempts=tuple(attempts),
        history=tuple(
            HistoryEntry(
                time=time_text(step.time_ms),
                state=step.job_state,
                reason=reason_document(step.reason),
                attempt_name=step.attempt_name,
            )
            for step in seen.job.history
        ),
        watches=tuple(
            WatchOf(watch=each.watch.name, hosts=len(each.alarms), note=each.note or None) for each in covered
        ),
        request=shown.request,
        alternatives=tuple(shown.alternatives),
        expected_run=expected_run_document(seen.job),
        predictable=bool(seen.job.source) and seen.job.job_state not in TERMINAL,
        wait_at_most_seconds=seen.job.wait_at_most_s,
        portable_checkpoint=seen.job.portable_checkpoint,
        expires=time_text(expires_ms(seen.job)),
        dependants=seen.job.dependants,
        parameters=member.parameters if member is not None else {},
        metrics=numbers(
            member.result.metrics if member is not None and member.result is not None else seen.job.metrics
        ),
        lost_seconds=seen.job.usage.lost_ms // 1000,
        billed_seconds={pool: time_ms // 1000 for pool, time_ms in seen.job.usage.billed_ms.items()},
        saved_seconds={pool: time_ms // 1000 for pool, time_ms in seen.job.usage.saved_ms.items()},
        reused_attempt=seen.job.output_attempt if seen.job.reused_from else None,
        withheld=tuple(shown.withheld),
    )


_AnyJob = TypeVar("_AnyJob", bound=Job)


def _job(kind: type[_AnyJob], seen: JobView[ListedJob], **more: Any) -> _AnyJob:
    job = seen.job
    return kind(
        name=job.job_name,
        state=job.job_state,
        held=job.held,
        priority=job.priority,
        entry_time=time_text(job.accepted_time),
        demand=job.demand,
        choices=tuple([each.demand for each in job.choices]),
        alternative=job.alternative,
        depends_on=tuple(
            [Dependency(job=each.job_name, condition=each.condition, ended=each.ended) for each in job.depends_on]
        ),
        not_before=time_text(job.begin_ms if job.job_state in WAITING else None),
        array=progress_document(job.array) if job.array is not None else None,
        member_of=job.member_of or None,
        index=job.index,
        reused_from=job.reused_from or None,
        team=job.team or None,
        owner=job.owner,
        place=seen.place,
        reason=reason_document(seen.reason),
        attempt_count=job.attempt_count,
        live_attempt=job.live_attempt,
        comment=job.comment or None,
        preemptions=job.preemption_count,
        started_time=time_text(job.usage.started_ms),
        ended_time=time_text(job.ended_ms),
        max_runtime_seconds=job.max_run_s,
        limit_seconds=None if job.limit_ms is None else job.limit_ms // 1000,
        instance_seconds={pool: held_ms // 1000 for pool, held_ms in job.usage.instance_ms.items()},
        **more,
    )


def _ended_attempt(ended: EndedAttempt) -> Attempt:
    return Attempt(
        name=ended.attempt_name,
        number=ended.number,
        state=AttemptState.ENDED,
        status=ended.training_job_status,
        secondary_status=ended.secondary_status,
        started_time=time_text(ended.since_ms),
        ended_time=time_text(ended.ended_ms),
        failure_reason=ended.failure_reason,
        reason=reason_document(ended.reason),
        demand=ended.demand,
    )


def _live_attempt(attempt: AttemptRecord) -> Attempt:
    return Attempt(
        name=attempt.attempt_name,
        number=attempt.number,
        state=attempt.attempt_state,
        status=attempt.training_job_status,
        secondary_status=attempt.secondary_status,
        started_time=time_text(attempt.since_ms),
        ended_time=None,
        failure_reason=None,
        reason=None,
        demand=attempt.demand,
        checkpoint_time=time_text(attempt.checkpoint_seen_ms),
    )


def expected_run_document(job: JobRecord) -> ExpectedRun | None:
    """The run time by which the order of equals compares a job; None if it is not predicted."""
    if job.predicted is None:
        return None
    return ExpectedRun(seconds=job.predicted.run_ms // 1000, runs=job.predicted.runs)


def reason_document(reason: ReasonRecord) -> Reason:
    """A reason."""
    return Reason(code=reason.code, message=reason.message, jobs=tuple(reason.jobs))


def dry_run_document(found: DryRunFound) -> DryRun:
    """A dry run."""
    return DryRun(
        dry_run=True,
        job=job_document(found.seen),
        expected_start=time_text(found.expected_start_ms),
        preempts=tuple(found.preempts),
        releases=tuple(found.releases),
        delays=tuple(shift_document(move) for move in found.delays),
        note=found.note,
    )


def shift_document(move: Move) -> Shift:
    """A job that would start at another time."""
    return Shift(job_name=move.job, before=time_text(move.before_ms), after=time_text(move.after_ms))
