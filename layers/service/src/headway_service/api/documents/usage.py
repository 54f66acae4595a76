"""Ended jobs, and sums of usage."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from headway.accounting.histogram import quantile
from headway.accounting.prices import Cost, Prices
from headway.api_documents.usage import Durations, EndedJob, HistoryPage, PredictionQuality, Usage, UsageSum
from headway.lifecycle import TERMINAL
from headway_service.accounting.reader import Step, UsageRow
from headway_service.accounting.records import (
    ATTEMPTS,
    BILLED,
    IDLE,
    IDLE_RESERVED,
    JOBS,
    LOST,
    PREEMPTIONS,
    REUSED,
    RUN,
    SAVED,
    UNBILLED,
    USED,
    WAIT,
)
from headway_service.accounting.run_times import MonthsQuality
from headway_service.api.documents.costs import (
    cost_members,
    cost_of,
    estimated_cost_of,
    lost_cost_of,
    price_members,
    saved_cost_of,
    seconds,
)
from headway_service.api.times import time_text
from headway_service.store.records.listed_job import ListedJob


def history_document(jobs: list[ListedJob], following: str | None, prices: Prices) -> HistoryPage:
    """A page of ended jobs.

    Args:
        following: the token of the next page; None at the end.
        prices: what instances cost.
    """
    return HistoryPage(jobs=tuple(ended_job_document(job, prices) for job in jobs), next_token=following)


def ended_job_document(job: ListedJob, prices: Prices) -> EndedJob:
    """A job that has ended, and what it used.

    Args:
        prices: what instances cost.
    """
    cost, estimated = cost_of(job, prices), estimated_cost_of(job, prices)
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
        used_seconds=seconds(usage.instance_ms),
        lost_seconds=usage.lost_ms // 1000,
        billed_seconds=seconds(usage.billed_ms),
        unbilled_seconds=seconds(usage.unbilled_ms),
        saved_seconds=seconds(usage.saved_ms),
        **cost_members(cost, lost_cost_of(job, prices), saved_cost_of(job, prices), estimated),
        **price_members([cost, estimated], prices),
    )


def usage_document(
    by: str, first: date, last: date, step: Step, rows: list[UsageRow], prices: Prices, now_ms: int
) -> Usage:
    """Sums of usage.

    Args:
        by: what the rows are by.
        first: the first day.
        last: the last day.
        step: the periods of the rows.
        rows: the sums.
        prices: what instances cost.
        now_ms: until when running attempts are counted, ms.
    """
    costs = [(row.cost(prices), row.estimated_cost(prices)) for row in rows]
    return Usage(
        by=by,
        first=first.isoformat(),
        last=last.isoformat(),
        step=step,
        rows=tuple(_sum(row, *of_row, prices) for row, of_row in zip(rows, costs, strict=True)),
        running_until=time_text(now_ms) if any(row.running.attempts for row in rows) else None,
        **price_members([each for of_row in costs for each in of_row], prices),
    )


def quality_document(found: MonthsQuality) -> PredictionQuality | None:
    """How good predictions were; None if no run time was kept."""
    if not found.kept:
        return None
    quality = found.quality
    error, coverage = quality.median_error, quality.coverage
    return PredictionQuality(
        kept=found.kept,
        predicted=quality.predicted,
        median_error=None if error is None else round(error, 3),
        coverage=None if coverage is None else round(coverage, 3),
    )


def _sum(row: UsageRow, cost: Cost, estimated: Cost, prices: Prices) -> UsageSum:
    figures = row.figures
    return UsageSum(
        name=row.name or None,
        period=row.period or None,
        jobs={state: count for state in sorted(TERMINAL) if (count := figures[f"{JOBS}{state}"])},
        attempts=figures[ATTEMPTS],
        preemptions=figures[PREEMPTIONS],
        reused=figures[REUSED],
        used_seconds=seconds(row.times(USED)),
        lost_seconds=seconds(row.times(LOST)),
        billed_seconds=seconds(row.times(BILLED)),
        unbilled_seconds=seconds(row.times(UNBILLED)),
        wait=_durations(row.histogram(WAIT)),
        run=_durations(row.histogram(RUN)),
        running=row.running.attempts,
        running_seconds=seconds(dict(sorted(row.running.used_ms.items()))),
        saved_seconds=seconds(row.times(SAVED)),
        **cost_members(cost, row.lost_cost(prices), row.saved_cost(prices), estimated),
        idle_seconds=seconds(row.times(IDLE)),
        idle_reserved_seconds=seconds(row.times(IDLE_RESERVED)),
    )


def _durations(histogram: Mapping[int, int]) -> Durations:
    p50, p90 = (quantile(histogram, part) for part in (0.5, 0.9))
    return Durations(
        count=sum(histogram.values()),
        p50_seconds=None if p50 is None else round(p50),
        p90_seconds=None if p90 is None else round(p90),
    )
