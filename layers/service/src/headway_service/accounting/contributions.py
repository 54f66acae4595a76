"""What a job adds to the sums, and which of it they already have. Pure.

A contribution follows from the job's record alone, and records are cumulative: a later one has the ended attempts of
all earlier ones. So records may be repeated, skipped or out of order, as long as the mark is kept with the sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from headway.accounting.histogram import bucket_of
from headway.days import day_of, split
from headway.job_terms import owner_hash
from headway.lifecycle import TERMINAL, JobState
from headway.pool_names import billed_pool
from headway.prediction.kinds import RunKind
from headway.reasons import ReasonCode
from headway_service.accounting.records import (
    ATTEMPTS,
    BILLED,
    JOBS,
    LOST,
    LOST_BILLED,
    LOST_UNBILLED,
    PREEMPTIONS,
    REUSED,
    RUN,
    SAVED,
    UNBILLED,
    USED,
    WAIT,
    MarkRecord,
)
from headway_service.store.records.job import MAX_ENDED_ATTEMPTS, EndedAttempt, JobRecord

_PRICED = frozenset({BILLED, UNBILLED, LOST_BILLED, LOST_UNBILLED, SAVED})
"""Times by the pool that has their price; all others are by the pool that is charged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contribution:
    """What a job adds to the sums of one day.

    Attributes:
        day: the day.
        team: the team that is charged.
        shared: the figures that the sums of every dimension get.
        pools: the figures of each pool: those of a pool get its own, those of other dimensions all.
        mark: what is accounted for with this contribution and those before it.
        run_ms: how long the job has run, ms, if it ends with this contribution and counts for predictions.
    """

    day: date
    team: str
    shared: Mapping[str, int]
    pools: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    mark: MarkRecord
    run_ms: int | None = None


def contributions(job: JobRecord, mark: MarkRecord | None) -> list[Contribution]:
    """What a job adds that is not accounted for, in order.

    Args:
        mark: what is accounted for; None if nothing is.
    """
    if job.array is not None:
        # Its members are jobs.
        return []
    if mark is None or mark.accepted_ms < job.accepted_time:
        version = mark.version if mark else 0
        mark = MarkRecord(job_name=job.job_name, accepted_ms=job.accepted_time, version=version)
    elif mark.accepted_ms > job.accepted_time:
        # A record of an earlier job of that name, which the table has forgotten.
        return []
    return list(_missing(job, mark))


def accounted(job: JobRecord, mark: MarkRecord) -> list[Contribution]:
    """What of a job is accounted for, in order, as far as its attempts are kept.

    Args:
        mark: what is accounted for.
    """
    if mark.accepted_ms > job.accepted_time:
        # Of a later job of that name.
        return []
    every = contributions(job, None)
    # They are added in order, so what is missing is at the end.
    return every[: len(every) - len(contributions(job, mark))]


def _missing(job: JobRecord, mark: MarkRecord) -> Iterator[Contribution]:
    for ended in job.attempts:
        if ended.number <= mark.attempts or not ended.demand:
            continue
        days = list(_of_attempt(ended))
        done = mark.days if mark.partial == ended.number else 0
        for number, (day, shared, pools) in enumerate(days, start=1):
            if number <= done:
                continue
            changes = {"partial": ended.number, "days": number}
            if number == len(days):
                changes = {"attempts": ended.number, "partial": 0, "days": 0}
            mark = mark.model_copy(update=changes)
            team = job.team if ended.team is None else ended.team
            yield Contribution(day=day, team=team, shared=shared, pools=pools, mark=mark)
    if job.job_state in TERMINAL and job.ended_ms is not None and not mark.ended:
        mark = mark.model_copy(update={"ended": True})
        pools = {pool: {} for pool in job.demand}
        yield Contribution(
            day=day_of(job.ended_ms),
            team=job.team,
            shared=_of_job(job, job.ended_ms),
            pools=pools,
            mark=mark,
            run_ms=run_ms_of(job),
        )


def run_ms_of(job: JobRecord) -> int | None:
    """How long a completed job held its instances for what it has computed, ms; None if that is not known, or not kept.

    The lost time of its attempts is left out. So it is the run time of a job that is not interrupted.
    """
    if job.job_state is not JobState.COMPLETED or not job.source or job.reused_from:
        return None
    if not 0 < len(job.attempts) < MAX_ENDED_ATTEMPTS:
        # Older attempts may be missing.
        return None
    return sum(max(0, each.each_held_ms - each.lost_ms) for each in job.attempts)


def kind_of(job: JobRecord) -> RunKind:
    """The kind of a job that has ended: its instances are those that it ran on last."""
    demand = job.attempts[-1].demand if job.attempts else job.demand
    return RunKind.of(owner=owner_hash(job.owner), source=job.source, demand=demand, name=job.job_name)


def _of_attempt(ended: EndedAttempt) -> Iterator[tuple[date, dict[str, int], dict[str, dict[str, int]]]]:
    """The figures of an attempt by day: its time is split at midnight, and what was lost and billed was at its end."""
    shared = {ATTEMPTS: 1}
    if ended.reason.code is ReasonCode.RETURNED_TO_LINE:
        shared[PREEMPTIONS] = 1
    spans = {
        USED: split(ended.since_ms, ended.ended_ms),
        LOST: split(ended.ended_ms - ended.lost_ms, ended.ended_ms),
        BILLED: split(ended.ended_ms - ended.each_billed_ms, ended.ended_ms),
        UNBILLED: {} if ended.is_billed else split(ended.since_ms, ended.ended_ms),
        # As the billed time is the last part of an attempt, no day has more of this than is billed.
        LOST_BILLED: split(ended.ended_ms - ended.each_lost_billed_ms, ended.ended_ms),
        LOST_UNBILLED: {} if ended.is_billed else split(ended.ended_ms - ended.lost_ms, ended.ended_ms),
        SAVED: split(ended.ended_ms - ended.each_saved_ms, ended.ended_ms),
    }
    last = day_of(ended.ended_ms)
    for day in sorted({last, *(day for parts in spans.values() for day in parts)}):
        pools: dict[str, dict[str, int]] = {}
        for pool, count in ended.demand.items():
            priced = billed_pool(pool, spot=ended.spot)
            figures = {
                f"{kind}{priced if kind in _PRICED else pool}": count * parts[day]
                for kind, parts in spans.items()
                if parts.get(day)
            }
            pools[pool] = figures
        yield day, shared if day == last else {}, pools


def _of_job(job: JobRecord, ended_ms: int) -> dict[str, int]:
    figures = Counter({f"{JOBS}{job.job_state}": 1})
    if job.reused_from:
        figures[REUSED] = 1
    if job.usage.started_ms is not None:
        figures[f"{WAIT}{_bucket(job.usage.started_ms - job.entry_time)}"] += 1
        figures[f"{RUN}{_bucket(ended_ms - job.usage.started_ms)}"] += 1
    return dict(figures)


def _bucket(duration_ms: int) -> int:
    return bucket_of(max(0, duration_ms) / 1000)
