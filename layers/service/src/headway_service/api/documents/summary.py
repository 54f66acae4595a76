"""A summary, and the version by which an unchanged one is recognized."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from pydantic import TypeAdapter

from headway.api_documents.summary import (
    JobCounts,
    PoolSummary,
    RecentEvent,
    RecentlyEnded,
    RunningJob,
    Summary,
    WaitingHead,
)
from headway.lifecycle import JobState
from headway_service.api.documents.jobs import reason_document
from headway_service.api.documents.pools import capacity_document
from headway_service.api.times import time_text
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.listed_job import ListedJob
from headway_service.summary.reader import ends_by_ms
from headway_service.summary.results import ForecastStarts, Head, Picture

_summaries = TypeAdapter(Summary)


def summary_document(picture: Picture, forecast: ForecastStarts | None) -> Summary:
    """A summary.

    Args:
        picture: the queue.
        forecast: the starts of a forecast; None if none was made lately.
    """
    capacity = capacity_document(picture.capacity)
    counted = sum(use.waiting for use in picture.capacity.pools)
    summary = Summary(
        version="",
        pools=tuple(PoolSummary(**vars(use), by_team=picture.by_team.get(use.pool, {})) for use in capacity.pools),
        teams=capacity.teams,
        budgets=capacity.budgets,
        counts=JobCounts(
            waiting=counted,
            depending=picture.depending,
            held=picture.held.jobs,
            more_held=not picture.held.is_all,
            running=picture.attempt_count - picture.stopping_count,
            stopping=picture.stopping_count,
        ),
        running=tuple(map(_running, picture.attempts)),
        more_running=picture.attempt_count - len(picture.attempts),
        waiting=tuple(_head(each, forecast) for each in picture.heads),
        more_waiting=picture.more_waiting,
        ended=tuple(map(_ended, picture.ended)),
        events=tuple(
            RecentEvent(time=time_text(each.time_ms), kind=each.kind, job_name=each.job, message=each.message)
            for each in picture.events
        ),
        forecast_time=time_text(forecast.as_of_ms) if forecast else None,
    )
    return replace(summary, version=_version(summary))


def _version(summary: Summary) -> str:
    text = json.dumps(_summaries.dump_python(summary, mode="json"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _running(attempt: AttemptRecord) -> RunningJob:
    return RunningJob(
        job_name=attempt.job_name,
        attempt_name=attempt.attempt_name,
        job_state=JobState.RUNNING if attempt.stop_cause is None else JobState.STOPPING,
        status=attempt.secondary_status,
        team=attempt.team or None,
        owner=attempt.owner,
        priority=attempt.priority,
        demand=attempt.demand,
        started_time=time_text(attempt.since_ms),
        ends_by=time_text(ends_by_ms(attempt)),
        stopping_since=time_text(attempt.stopping_since_ms),
        stop_cause=attempt.stop_cause,
        stops_for=attempt.freed_for,
    )


def _head(head: Head, forecast: ForecastStarts | None) -> WaitingHead:
    job = head.job
    return WaitingHead(
        job_name=job.name,
        team=job.terms.team or None,
        priority=job.terms.priority,
        demand=job.demand,
        entry_time=time_text(job.terms.entry_time_ms),
        place=head.place,
        reason=reason_document(head.reason),
        start_by=time_text(head.start_by_ms),
        expected_start=time_text(forecast.starts.get(job.name)) if forecast else None,
    )


def _ended(job: ListedJob) -> RecentlyEnded:
    return RecentlyEnded(
        job_name=job.job_name,
        job_state=job.job_state,
        team=job.team or None,
        priority=job.priority,
        demand=job.demand,
        # An array has held nothing: its members have, which are listed as well.
        started_time=None if job.array is not None else time_text(job.usage.started_ms),
        ended_time=time_text(job.ended_ms or 0),
        preemptions=job.preemption_count,
        reason=reason_document(job.reason),
        owner=job.owner,
    )
