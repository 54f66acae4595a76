"""What ran where and when, as far as the board has seen it: the attempts of each pool over time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headway_client.board.rows import seconds_of
from headway_client.models import RecentlyEnded, RunningJob, Summary

MAX_BARS = 2000
"""Bars that are kept, the newest."""

MAX_SAMPLES = 1000
"""Moments at which the use of the pools is kept, the newest."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Instances of a pool that an attempt held.

    Attributes:
        attempt: the attempt; the job, if its attempts were not seen.
        start_s, end_s: when, s since 1970; None while it holds them.
        is_attempt: whether an attempt was seen, and not only its ended job.
        outcome: ``running``, ``stopping``, ``preempted``, the state of the ended job, or ``ended``.
    """

    job: str
    attempt: str
    pool: str
    count: int
    team: str
    priority: int
    start_s: float
    end_s: float | None
    outcome: str
    by: str = ""
    is_attempt: bool = True


class Timeline:
    """Remembers the attempts of each summary. An attempt that is gone has ended since the summary before.

    Several threads may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], Bar] = {}
        self._closed: deque[Bar] = deque(maxlen=MAX_BARS)
        self._samples: deque[dict[str, Any]] = deque(maxlen=MAX_SAMPLES)
        self._known: set[str] = set()

    def add(self, summary: Summary, now_s: float) -> None:
        """Take a summary into account.

        Args:
            now_s: the queue's time.
        """
        with self._lock:
            self._add(summary, now_s)

    def _add(self, summary: Summary, now_s: float) -> None:
        ended = {job.job_name: job for job in summary.ended}
        live = {(bar.attempt, bar.pool): bar for job in summary.running for bar in _bars(job)}
        # Beyond the limit of a summary, an attempt that is not in it may still run.
        for key in [] if summary.more_running else [key for key in self._open if key not in live]:
            self._closed.append(_closed(self._open.pop(key), ended, now_s))
        self._open |= live
        self._known |= {bar.job for bar in live.values()}
        for job in summary.ended:
            if job.job_name not in self._known:
                self._known.add(job.job_name)
                self._closed.extend(_of_ended(job))
        use = {pool.pool: [pool.allocated, pool.reserved, pool.size] for pool in summary.pools}
        self._samples.append({"time": now_s, "use": use})
        if len(self._known) > 2 * MAX_BARS:
            self._known = {bar.job for bar in (*self._closed, *self._open.values())}

    @property
    def bars(self) -> list[Bar]:
        """The bars, by their start."""
        return sorted([*self._closed, *self._open.values()], key=lambda bar: (bar.start_s, bar.attempt, bar.pool))

    def document(self, past: Sequence[Bar] = (), note: str = "") -> dict[str, Any]:
        """Return the bars and the use of the pools, for the pages.

        Args:
            past: what ran before the first summary.
            note: what is not known of that.
        """
        with self._lock:
            bars, samples = self.bars, list(self._samples)
        return {"bars": [asdict(bar) for bar in merged(bars, past)], "samples": samples, "note": note}


def merged(bars: Sequence[Bar], past: Sequence[Bar]) -> list[Bar]:
    """Return the bars of the summaries, and those of the time before the board was started.

    Args:
        bars: of the summaries.
        past: of ended jobs and events.
    """
    past_jobs = {bar.job for bar in past}
    # A job whose attempts were not seen is one bar, under its own name, until its attempts are known.
    kept = [bar for bar in bars if bar.job not in past_jobs or bar.is_attempt]
    seen = {(bar.attempt, bar.pool) for bar in kept}
    jobs = {bar.job for bar in kept}
    new = [bar for bar in past if (bar.attempt, bar.pool) not in seen and (bar.is_attempt or bar.job not in jobs)]
    return sorted([*kept, *new], key=lambda bar: (bar.start_s, bar.attempt, bar.pool))


def _bars(job: RunningJob) -> Iterator[Bar]:
    outcome = "preempted" if job.stop_cause == "preemption" else str(job.job_state)
    yield from _held(job, job.attempt_name, job.started_time, None, outcome, by=job.stops_for or "")


def _closed(bar: Bar, ended: dict[str, RecentlyEnded], now_s: float) -> Bar:
    job = ended.get(bar.job)
    if job is not None:
        return replace(bar, end_s=min(now_s, seconds_of(job.ended_time)), outcome=str(job.job_state))
    return replace(bar, end_s=now_s, outcome="preempted" if bar.outcome == "preempted" else "ended")


def _of_ended(job: RecentlyEnded) -> Iterator[Bar]:
    if job.started_time is not None:
        for bar in _held(job, job.job_name, job.started_time, seconds_of(job.ended_time), str(job.job_state)):
            yield replace(bar, is_attempt=False)


def _held(
    job: RunningJob | RecentlyEnded, attempt: str, started: str, end_s: float | None, outcome: str, *, by: str = ""
) -> Iterator[Bar]:
    """The instances that an attempt, or a job whose attempts were not seen, held in each pool."""
    for pool, count in job.demand.items():
        yield Bar(
            job=job.job_name,
            attempt=attempt,
            pool=pool,
            count=count,
            team=job.team or "",
            priority=job.priority,
            start_s=seconds_of(started),
            end_s=end_s,
            outcome=outcome,
            by=by,
        )
