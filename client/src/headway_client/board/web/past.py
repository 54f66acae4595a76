"""What ran before the board was started: read once, in a few calls, from ended jobs and the feed of events."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from headway.lifecycle import ACTIVE, TERMINAL
from headway_client.board.budget import CallBudget
from headway_client.board.rows import seconds_of
from headway_client.board.web.timeline import Bar
from headway_client.errors import ClientError
from headway_client.job_figures.read import PREEMPTED
from headway_client.models import EndedJob, EventPage, FeedEvent, HistoryPage, Summary

PAST_S = 6 * 3600.0
"""How far back the timeline goes when the board is started."""

MAX_EVENT_PAGES = 3
"""Pages of events that are read, up to 100 in each, the oldest first."""

_JOB_CHANGE = "Headway Job Change"


class PastApi(Protocol):
    """The part of `headway_client.http.api.HeadwayApi` that is read once."""

    def newest_ended_jobs(self, since: str) -> HistoryPage:
        """Return the newest jobs that ended since a time."""

    def events(self, *, after: str | None = None, since: str | None = None) -> EventPage:
        """Return a page of events."""

    def now_s(self) -> float:
        """Return the queue's time."""


@dataclass(kw_only=True)
class _Span:
    """An attempt as events describe it; `end_s` is None until it has ended."""

    job: str
    attempt: str
    team: str
    priority: int
    start_s: float
    end_s: float | None = None
    outcome: str = ""
    by: str = ""


class Past:
    """Reads what ran before, a call at a time. Several threads may use it.

    Args:
        api: the queue.
        budget: limits the calls, together with all other reads of the board.
    """

    def __init__(self, api: PastApi, budget: CallBudget) -> None:
        self._api = api
        self._budget = budget
        self._lock = threading.Lock()
        self._since_s: float | None = None
        self._ended: tuple[EndedJob, ...] | None = None
        self._events: list[FeedEvent] = []
        self._pages = 0
        self._cursor: str | None = None
        self._is_read = False
        self.note = ""

    def read_on(self) -> None:
        """Make the next call, if there is one, and room for it."""
        with self._lock:
            if self._is_read or not self._budget.spend():
                return
            try:
                self._read()
            except ClientError as error:
                self._is_read, self.note = True, f"What ran before the board was started can't be read: {error}"

    def _read(self) -> None:
        if self._since_s is None:
            self._since_s = self._api.now_s() - PAST_S
        since = datetime.fromtimestamp(self._since_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if self._ended is None:
            page = self._api.newest_ended_jobs(since)
            self._ended = page.jobs
            if page.next_token is not None:
                self.note = f"Before the board was started: the newest {len(page.jobs)} jobs that had ended."
            return
        events = self._api.events(after=self._cursor) if self._cursor else self._api.events(since=since)
        self._events += events.events
        self._cursor, self._pages = events.cursor, self._pages + 1
        self._is_read = not events.more or self._pages >= MAX_EVENT_PAGES
        if self._is_read and events.more:
            self.note = (
                f"Before the board was started: attempts of the first {len(self._events)} events of the last "
                f"{PAST_S / 3600:g} hours, and jobs that ended later as one bar each."
            )

    def bars(self, summary: Summary | None) -> list[Bar]:
        """Return the attempts that had ended, and jobs whose attempts are not known as one bar each.

        Args:
            summary: the newest summary, which knows what jobs demand.
        """
        with self._lock:
            ended, events, since_s = self._ended or (), list(self._events), self._since_s or 0.0
        return list(past_bars(ended, events, {} if summary is None else demands_of(summary), since_s))


def demands_of(summary: Summary) -> dict[str, Mapping[str, int]]:
    """Return what the jobs of a summary demand."""
    ended = {job.job_name: job.demand for job in summary.ended}
    waiting = {job.job_name: job.demand for job in summary.waiting}
    return ended | waiting | {job.job_name: job.demand for job in summary.running}


def past_bars(
    ended: Sequence[EndedJob], events: Iterable[FeedEvent], demands: Mapping[str, Mapping[str, int]], since_s: float
) -> Iterator[Bar]:
    """Yield the bars of attempts that have ended.

    Args:
        ended: ended jobs.
        events: events, in their order.
        demands: what jobs demand, as far as it is known.
        since_s: when the events begin, s since 1970.
    """
    spans: dict[str, list[_Span]] = {}
    for span in _spans(events, since_s):
        spans.setdefault(span.job, []).append(span)
    jobs = {job.name: job for job in ended}
    for name, found in spans.items():
        # Events do not name instances.
        demand = demands.get(name) or (_demand(jobs[name], found) if name in jobs else {})
        for span in found:
            for pool, count in demand.items():
                yield _bar(span, pool, count)
    for job in ended:
        if job.name not in spans and job.started_time is not None:
            span = _Span(
                job=job.name,
                attempt=job.name,
                team=job.team or "",
                priority=job.priority,
                start_s=seconds_of(job.started_time),
                end_s=seconds_of(job.ended_time),
                outcome=str(job.state),
            )
            for pool, count in _demand(job, [span]).items():
                yield replace(_bar(span, pool, count), is_attempt=False)


def _demand(job: EndedJob, spans: Sequence[_Span]) -> dict[str, int]:
    """Return the instances that a job must have held for its use, if these were all of its attempts."""
    held_s = sum((span.end_s or 0.0) - span.start_s for span in spans)
    return {pool: max(1, round(used_s / max(1.0, held_s))) for pool, used_s in job.used_seconds.items()}


def _bar(span: _Span, pool: str, count: int) -> Bar:
    return Bar(
        job=span.job,
        attempt=span.attempt,
        pool=pool,
        count=count,
        team=span.team,
        priority=span.priority,
        start_s=span.start_s,
        end_s=span.end_s,
        outcome=span.outcome,
        by=span.by,
    )


def _spans(events: Iterable[FeedEvent], since_s: float) -> Iterator[_Span]:
    """Yield the attempts that have ended in some events."""
    live: dict[str, _Span] = {}
    for event in events:
        if event.detail_type != _JOB_CHANGE:
            continue
        detail = event.detail
        job, state, before = str(detail.get("jobName")), detail.get("jobState"), detail.get("previousState")
        if not isinstance(detail.get("time"), str):
            continue
        time_s = seconds_of(detail["time"])
        if state not in ACTIVE and before not in ACTIVE:
            continue
        # One that held instances before has started before the first event.
        span = live.get(job) or _started(detail, job, since_s if before in ACTIVE else time_s)
        live[job] = span
        if detail.get("code") in PREEMPTED:
            span.outcome, span.by = "preempted", span.by or next(iter(detail.get("jobs") or ()), "")
        if state not in ACTIVE:
            span.end_s = time_s
            span.outcome = str(state) if state in TERMINAL else span.outcome or "ended"
            yield live.pop(job)


def _started(detail: Mapping[str, Any], job: str, start_s: float) -> _Span:
    return _Span(
        job=job,
        attempt=str(detail.get("attemptName") or job),
        team=str(detail.get("team") or ""),
        priority=int(detail.get("priority") or 0),
        start_s=start_s,
    )
