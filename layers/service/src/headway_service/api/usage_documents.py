"""The documents of the HTTP API on ended jobs and on sums of usage."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from headway.accounting.histogram import quantile
from headway.api_documents.usage import Durations, EndedJob, Usage, UsageSum
from headway.lifecycle import TERMINAL
from headway_service.accounting.reader import Step, UsageRow
from headway_service.accounting.records import (
    ATTEMPTS,
    BILLED,
    JOBS,
    LOST,
    PREEMPTIONS,
    REUSED,
    RUN,
    UNBILLED,
    USED,
    WAIT,
)
from headway_service.api.serializers import time_text
from headway_service.store.records.job import JobRecord


def ended_job_document(job: JobRecord) -> EndedJob:
    """A job that has ended, and what it used."""
    usage, ended_ms = job.usage, job.ended_ms or 0
    started_ms = usage.started_ms
    return EndedJob(
        name=job.job_name,
        state=job.job_state,
        team=job.team or None,
        owner=job.owner,
        priority=job.priority,
        entry_time=time_text(job.entry_time),
        started_time=time_text(started_ms),
        ended_time=time_text(ended_ms),
        wait_seconds=None if started_ms is None else max(0, started_ms - job.entry_time) // 1000,
        run_seconds=None if started_ms is None else max(0, ended_ms - started_ms) // 1000,
        attempt_count=job.attempt_count,
        preemptions=job.preemption_count,
        reused_from=job.reused_from or None,
        used_seconds=_seconds(usage.instance_ms),
        lost_seconds=usage.lost_ms // 1000,
        billed_seconds=_seconds(usage.billed_ms),
        unbilled_seconds=_seconds(usage.unbilled_ms),
    )


def usage_document(by: str, first: date, last: date, step: Step, rows: list[UsageRow]) -> Usage:
    """Sums of usage.

    Args:
        by: what the rows are by.
        first: the first day.
        last: the last day.
        step: the periods of the rows.
        rows: the sums.
    """
    return Usage(
        by=by, first=first.isoformat(), last=last.isoformat(), step=step, rows=tuple(_sum(row) for row in rows)
    )


def _sum(row: UsageRow) -> UsageSum:
    figures = row.figures
    return UsageSum(
        name=row.name or None,
        period=row.period or None,
        jobs={state: count for state in sorted(TERMINAL) if (count := figures[f"{JOBS}{state}"])},
        attempts=figures[ATTEMPTS],
        preemptions=figures[PREEMPTIONS],
        reused=figures[REUSED],
        used_seconds=_of_pools(figures, USED),
        lost_seconds=_of_pools(figures, LOST),
        billed_seconds=_of_pools(figures, BILLED),
        unbilled_seconds=_of_pools(figures, UNBILLED),
        wait=_durations(figures, WAIT),
        run=_durations(figures, RUN),
    )


def _of_pools(figures: Mapping[str, int], kind: str) -> dict[str, int]:
    return _seconds({name.removeprefix(kind): ms for name, ms in sorted(figures.items()) if name.startswith(kind)})


def _durations(figures: Mapping[str, int], kind: str) -> Durations:
    histogram = {int(name.removeprefix(kind)): count for name, count in figures.items() if name.startswith(kind)}
    p50, p90 = (quantile(histogram, part) for part in (0.5, 0.9))
    return Durations(
        count=sum(histogram.values()),
        p50_seconds=None if p50 is None else round(p50),
        p90_seconds=None if p90 is None else round(p90),
    )


def _seconds(times_ms: Mapping[str, int]) -> dict[str, int]:
    return {pool: time_ms // 1000 for pool, time_ms in times_ms.items()}
