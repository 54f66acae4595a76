"""The documents of the HTTP API, made of what the service found; ``docs/reference/api.md`` describes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar, overload

from pydantic import TypeAdapter

from headway.api_documents.arrays import ArrayMember, ArrayProgress, MedianStopping, MemberPage
from headway.api_documents.batches import BatchResults, Refused
from headway.api_documents.batches import Taken as TakenDocument
from headway.api_documents.dead_letters import DeadLetter, RedriveFailure
from headway.api_documents.dead_letters import Redrive as RedriveDocument
from headway.api_documents.events import EventPage, FeedEvent
from headway.api_documents.forecast import Ahead, Forecast, ForecastEntry, PredictedTime, Shift, WhatIf
from headway.api_documents.forecast import DryRun as DryRunDocument
from headway.api_documents.forecast import Explanation as ExplanationDocument
from headway.api_documents.jobs import Attempt, Dependency, ExpectedRun, HistoryEntry, Job, JobDetails, Reason, WatchOf
from headway.api_documents.pools import Capacity, Pause, SizeChange, TeamUse
from headway.api_documents.pools import PoolUse as PoolDocument
from headway.api_documents.refusals import Error, Refusal, WrongField
from headway.api_documents.unmanaged_jobs import RogueJob
from headway.jobpolicy.utilization import Coverage
from headway.lifecycle import TERMINAL, AttemptState
from headway.prediction.likely_times import LikelyTime
from headway.sweeps import member_name
from headway_service.dead_letters.parser import Illegible, Lost
from headway_service.dead_letters.redrive import ReadLetter, Redrive
from headway_service.errors import RequestError
from headway_service.feed.read import FeedPage
from headway_service.forecast.results import Consequences, DryRun, Explanation, Move, Outlook
from headway_service.jobs.position import JobView
from headway_service.jobs.queries import MemberView
from headway_service.jobs.submit_batch import Accepted
from headway_service.pools.capacity import Capacity as CapacityFound
from headway_service.pools.capacity import PoolUse
from headway_service.sagemaker_api.redaction import Shown
from headway_service.store.records.array import ArrayRecord, EarlyStoppingRecord
from headway_service.store.records.base import ReasonRecord
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.records.capacity.unmanaged_job import UnmanagedJobRecord
from headway_service.store.records.job import EndedAttempt, JobRecord


def event_page_document(page: FeedPage) -> EventPage:
    """A page of the feed."""
    events = (
        FeedEvent(cursor=str(cursor), detail_type=event.detail_type, detail=event.document)
        for cursor, event in page.events
    )
    return EventPage(events=tuple(events), cursor=str(page.cursor), more=page.more, missed=page.missed)


def job_document(seen: JobView) -> Job:
    """A job."""
    return _job(Job, seen)


def job_details_document(
    seen: JobView,
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
                reason=_reason(step.reason),
                attempt_name=step.attempt_name,
            )
            for step in seen.job.history
        ),
        watches=tuple(
            WatchOf(watch=each.watch.name, hosts=len(each.alarms), note=each.note or None) for each in covered
        ),
        request=shown.request,
        alternatives=tuple(shown.alternatives),
        expected_run=_expected_run(seen.job),
        predictable=bool(seen.job.source) and seen.job.job_state not in TERMINAL,
        wait_at_most_seconds=seen.job.wait_at_most_s,
        portable_checkpoint=seen.job.portable_checkpoint,
        dependants=seen.job.dependants,
        parameters=member.parameters if member is not None else {},
        metrics=_numbers(
            member.result.metrics if member is not None and member.result is not None else seen.job.metrics
        ),
        lost_seconds=seen.job.usage.lost_ms // 1000,
        billed_seconds={pool: time_ms // 1000 for pool, time_ms in seen.job.usage.billed_ms.items()},
        reused_attempt=seen.job.output_attempt if seen.job.reused_from else None,
        withheld=tuple(shown.withheld),
    )


_AnyJob = TypeVar("_AnyJob", bound=Job)


def _job(kind: type[_AnyJob], seen: JobView, **more: Any) -> _AnyJob:
    job = seen.job
    return kind(
        name=job.job_name,
        state=job.job_state,
        held=job.held,
        priority=job.priority,
        entry_time=time_text(job.accepted_time),
        demand=job.demand,
        one_of=job.one_of,
        choices=tuple([each.demand for each in job.choices]),
        alternative=job.alternative,
        depends_on=tuple(
            [Dependency(job=each.job_name, condition=each.condition, ended=each.ended) for each in job.depends_on]
        ),
        array=_progress(job.array) if job.array is not None else None,
        member_of=job.member_of or None,
        index=job.index,
        reused_from=job.reused_from or None,
        team=job.team or None,
        owner=job.owner,
        place=seen.place,
        reason=_reason(seen.reason),
        attempt_count=job.attempt_count,
        live_attempt=job.live_attempt,
        comment=job.comment or None,
        preemptions=job.preemption_count,
        started_time=time_text(job.usage.started_ms),
        ended_time=time_text(job.ended_ms),
        limit_seconds=None if job.limit_ms is None else job.limit_ms // 1000,
        instance_seconds={pool: held_ms // 1000 for pool, held_ms in job.usage.instance_ms.items()},
        **more,
    )


def _progress(numbers: ArrayRecord) -> ArrayProgress:
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
        array: the array.
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
        metrics=_numbers(metrics),
        attempt=attempt,
        started_time=time_text(started_ms),
        ended_time=time_text(ended_ms),
    )


def _numbers(metrics: Mapping[str, str] | None) -> dict[str, float]:
    return {name: float(value) for name, value in (metrics or {}).items()}


def pool_document(use: PoolUse) -> PoolDocument:
    """A pool."""
    return PoolDocument(
        pool=use.pool,
        size=use.size,
        allocated=use.allocated,
        stopping=use.stopping,
        reserved=use.reserved,
        rogue=use.rogue,
        free=use.free,
        waiting=use.waiting,
        pause=_pause(use.pause) if use.pause else None,
        next_change=(
            SizeChange(size=use.next_change.size, time=time_text(use.next_change.at_ms)) if use.next_change else None
        ),
        warm=use.warm,
        plan=use.plan,
    )


def capacity_document(found: CapacityFound) -> Capacity:
    """The use of the pools, by pool and by team."""
    return Capacity(
        pools=tuple(pool_document(use) for use in found.pools),
        teams=tuple(
            TeamUse(
                team=use.team,
                weight=use.policy.weight,
                guaranteed=use.policy.guaranteed,
                limit=use.policy.limit,
                used=use.used,
                borrowed=use.borrowed,
                waiting=use.waiting,
            )
            for use in found.teams
        ),
    )


def rogue_document(rogue: UnmanagedJobRecord) -> RogueJob:
    """An unmanaged training job: one that did not come through the queue."""
    return RogueJob(
        name=rogue.training_job_name,
        status=rogue.training_job_status,
        demand=rogue.demand,
        charged=rogue.charged,
        team=rogue.team or None,
        created_time=time_text(rogue.created_ms),
        seen_time=time_text(rogue.since_ms),
        stop_asked_by=rogue.stop_asked_by or None,
        reason=_reason(rogue.reason),
    )


def letter_document(read: ReadLetter) -> DeadLetter:
    """A dead letter."""
    content = read.content
    return DeadLetter(
        id=read.letter.message_id,
        queue=read.queue,
        sent_time=time_text(read.letter.sent_ms),
        receive_count=read.letter.receive_count,
        about=content.about,
        error_type=content.error_type,
        error_message=content.error_message,
        problem=content.remedy.problem if isinstance(content.remedy, Illegible | Lost) else None,
    )


def redrive_document(done: Redrive) -> RedriveDocument:
    """What a redrive did."""
    return RedriveDocument(
        redriven=done.redriven,
        dropped=done.dropped,
        failed=len(done.failures),
        left=done.left,
        failures=tuple(
            RedriveFailure(
                id=failure.read.letter.message_id,
                queue=failure.read.queue,
                about=failure.read.content.about,
                problem=failure.problem,
            )
            for failure in done.failures
        ),
    )


def dry_run_document(found: DryRun) -> DryRunDocument:
    """A dry run."""
    return DryRunDocument(
        dry_run=True,
        job=job_document(found.seen),
        expected_start=time_text(found.expected_start_ms),
        preempts=tuple(found.preempts),
        releases=tuple(found.releases),
        delays=tuple(_shift(move) for move in found.delays),
        note=found.note,
    )


def batch_document(results: Iterable[Accepted | RequestError]) -> BatchResults:
    """The result of each request of a batch."""
    return BatchResults(results=tuple(_batch_result(each) for each in results))


def explanation_document(found: Explanation) -> ExplanationDocument:
    """Why a job is where it is."""
    job = found.seen.job
    return ExplanationDocument(
        job_name=job.job_name,
        job_state=job.job_state,
        held=job.held,
        place=found.seen.place,
        reason=_reason(found.seen.reason),
        expected_start=time_text(found.expected_start_ms),
        expected_end=time_text(found.expected_end_ms),
        note=found.note,
        ahead=tuple(
            Ahead(
                job_name=each.job,
                job_state=each.job_state,
                priority=each.priority,
                demand=each.demand,
                started_time=time_text(each.started_ms),
                expected_end=time_text(each.expected_end_ms),
                one_of=each.one_of,
            )
            for each in found.ahead
        ),
        more=found.more,
        pools=tuple(pool_document(use) for use in found.pools),
        remedy=found.remedy,
        predicted_start=_predicted_time(found.predicted_start),
        predicted_end=_predicted_time(found.predicted_end),
        expected_run=_expected_run(job),
    )


def forecast_document(found: Outlook) -> Forecast:
    """When waiting jobs are expected to start."""
    return Forecast(
        as_of=time_text(found.as_of_ms),
        until=time_text(found.until_ms),
        note=found.note,
        jobs=tuple(
            ForecastEntry(
                job_name=each.seen.job.job_name,
                job_state=each.seen.job.job_state,
                place=each.seen.place,
                priority=each.seen.job.priority,
                demand=each.seen.job.demand,
                held=each.seen.job.held,
                expected_start=time_text(each.start_ms),
                one_of=each.seen.job.one_of,
                after=tuple(name for name, _ in each.seen.job.awaited),
                predicted_start=_predicted_time(each.predicted_start),
            )
            for each in found.jobs
        ),
        more=found.more,
    )


def _expected_run(job: JobRecord) -> ExpectedRun | None:
    if job.predicted is None:
        return None
    return ExpectedRun(seconds=job.predicted.run_ms // 1000, runs=job.predicted.runs)


def _predicted_time(found: LikelyTime | None) -> PredictedTime | None:
    if found is None:
        return None
    return PredictedTime(
        about=time_text(found.about_ms), from_=time_text(found.from_ms), until=time_text(found.until_ms)
    )


def what_if_document(found: Consequences) -> WhatIf:
    """What changes would do."""
    return WhatIf(
        starts=tuple(found.starts),
        preempts=tuple(found.preempts),
        releases=tuple(found.releases),
        moved=tuple(_shift(move) for move in found.moved),
        note=found.note,
    )


_refusals = TypeAdapter(Refusal)


def refusal_body(error: RequestError, request_id: str) -> str:
    """A refusal, as JSON.

    Args:
        error: why.
        request_id: of the invocation.
    """
    refusal = Refusal(error=_error(error), request_id=request_id)
    return json.dumps(_refusals.dump_python(refusal, mode="json", by_alias=True))


def _error(error: RequestError) -> Error:
    fields = tuple(WrongField(field=each.field, message=each.message) for each in error.fields)
    return Error(code=error.code, message=str(error), fields=fields)


def _batch_result(result: Accepted | RequestError) -> TakenDocument | Refused:
    if isinstance(result, RequestError):
        return Refused(status=result.status, error=_error(result))
    status = HTTPStatus.CREATED if result.new else HTTPStatus.OK
    return TakenDocument(status=status, job=job_document(result.seen))


def _pause(pause: PauseRecord) -> Pause:
    return Pause(
        everything=pause.pool == PauseRecord.EVERYTHING,
        by=pause.by,
        since=time_text(pause.since_ms),
        reason=pause.reason,
        stops=pause.stops,
    )


def _shift(move: Move) -> Shift:
    return Shift(job_name=move.job, before=time_text(move.before_ms), after=time_text(move.after_ms))


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
        reason=_reason(ended.reason),
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


def _reason(reason: ReasonRecord) -> Reason:
    return Reason(code=reason.code, message=reason.message)


@overload
def time_text(time_ms: int) -> str: ...


@overload
def time_text(time_ms: int | None) -> str | None: ...


def time_text(time_ms: int | None) -> str | None:
    """A time as documents have it; ``time_ms`` is ms since the epoch, or None."""
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
