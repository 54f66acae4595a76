"""What a digest has: sums by team, the jobs that lost the most, and advice that needs no metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice, pairwise

from headway.accounting.histogram import quantile
from headway.accounting.prices import Cost, Prices
from headway.advice.figures import JobFigures
from headway.advice.outcome import Advice
from headway.advice.rules.preemption import lost_work
from headway.advice.rules.run_limit import loose_limit
from headway.lifecycle import TERMINAL, JobState
from headway.reasons import ReasonCode
from headway_service.accounting.reader import UsageRow
from headway_service.accounting.records import ATTEMPTS, JOBS, LOST, PREEMPTIONS, USED, WAIT
from headway_service.events.job_events import DigestAdvice, DigestJob, DigestPrice, DigestTeam, WeeklyDigest
from headway_service.store.records.job import JobRecord
from headway_service.store.records.listed_job import ListedJob

MAX_TEAMS_SHOWN = 25
"""Teams in a digest: those with the most hours. Sums of removed teams are kept, so there may be more than teams."""

MAX_JOBS_SHOWN = 5
"""Jobs in a digest, those that lost the most; and pieces of advice of each kind."""

MAX_PRICES_SHOWN = 20
"""Prices in a digest."""

COMPARED_FROM = 10
"""Jobs that started in a week, from which on its waits are compared with those of other weeks."""

GROWTH_PERCENT, LONG_WAIT_S = 125, 3600
"""Waits grow if nine of ten jobs of each week waited for this part of the time of the week before, and for an hour at
last."""

_LOOSE_READ = 4 * MAX_JOBS_SHOWN
"""Jobs whose requests are read for advice on their limits."""

_HOUR_MS = 3_600_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Week:
    """What a digest is made of.

    Attributes:
        day: the day on which it is sent.
        first: the first day of the week.
        last: the last one.
        rows: the sums by team.
        before: those of the two weeks before, the earlier one first.
        wasteful: the jobs that lost the most, with all of their attempts.
        loose: completed jobs that might have run the longest in proportion to their run time, each with the
            MaxRuntimeInSeconds of its request, s.
        prices: what instances cost.
    """

    day: date
    first: date
    last: date
    rows: Sequence[UsageRow]
    before: Sequence[Sequence[UsageRow]]
    wasteful: Sequence[JobRecord]
    loose: Sequence[tuple[ListedJob, int]]
    prices: Prices


def digest_of(week: Week, now_ms: int) -> WeeklyDigest:
    """The digest of a week.

    Args:
        week: what it is made of.
        now_ms: the training time, ms.
    """
    rows = sorted(week.rows, key=_hours, reverse=True)
    costs = [row.cost(week.prices) for row in rows]
    teams = tuple(
        _team(row, cost, row.lost_cost(week.prices), _waits_before(row.name, week))
        for row, cost in zip(rows, costs, strict=True)
    )
    applied = sorted({price for cost in costs for price in cost.prices}, key=lambda each: (each.pool, each.first))
    return WeeklyDigest(
        id=f"digest/{week.day.isoformat()}/1",
        version=1,
        time=datetime.fromtimestamp(now_ms / 1000, UTC),
        code=ReasonCode.WEEKLY_DIGEST,
        message=_sentence(week, teams),
        remedy=None,
        team=None,
        first=week.first,
        last=week.last,
        teams=teams[:MAX_TEAMS_SHOWN],
        more_teams=max(0, len(teams) - MAX_TEAMS_SHOWN),
        jobs=tuple(map(_job, week.wasteful)),
        advice=tuple(_advice(week)),
        currency=week.prices.currency if applied else None,
        prices=tuple(
            DigestPrice(pool=each.pool, since=each.first, per_hour=each.per_hour) for each in applied[:MAX_PRICES_SHOWN]
        ),
    )


def most_lost(jobs: Iterable[ListedJob]) -> list[ListedJob]:
    """The jobs that lost the most, the worst first."""
    losing = [job for job in jobs if job.usage.lost_ms]
    return sorted(losing, key=lambda job: (-job.usage.lost_ms, job.job_name))[:MAX_JOBS_SHOWN]


def loosest(jobs: Iterable[ListedJob]) -> list[ListedJob]:
    """The jobs that completed in their first attempt, and had the highest limits in proportion to their run time.

    These limits have the time to wait for instances in them, so there are more jobs than there is advice.
    """
    found = [
        ((job.limit_ms or 0) / run_ms, job.job_name, job)
        for job in jobs
        if job.job_state is JobState.COMPLETED and job.attempt_count == 1 and (run_ms := _run_ms(job)) > 0
    ]
    return [job for _, _, job in sorted(found, key=lambda each: (-each[0], each[1]))[:_LOOSE_READ]]


def _run_ms(job: ListedJob) -> int:
    return (job.ended_ms or 0) - (job.usage.started_ms or job.ended_ms or 0)


def _hours(row: UsageRow) -> int:
    return sum(row.times(USED).values()) + sum(row.running.used_ms.values())


def _waits_before(team: str, week: Week) -> tuple[Mapping[int, int], ...]:
    """How long jobs of a team waited in the weeks before, as histograms."""
    return tuple(next((row.histogram(WAIT) for row in rows if row.name == team), {}) for rows in week.before)


def _grow(waits: Sequence[Mapping[int, int]]) -> bool:
    """Whether waits have grown from each week to the next, so that this is neither chance nor a few jobs."""
    long_s = [quantile(each, 0.9) or 0.0 for each in waits]
    enough = all(sum(each.values()) >= COMPARED_FROM for each in waits)
    return enough and long_s[-1] >= LONG_WAIT_S and all(100 * b >= GROWTH_PERCENT * a > 0 for a, b in pairwise(long_s))


def _team(row: UsageRow, cost: Cost, lost: Cost, before: Sequence[Mapping[int, int]]) -> DigestTeam:
    figures, waits = row.figures, row.histogram(WAIT)
    p50, p90 = (quantile(waits, part) for part in (0.5, 0.9))
    return DigestTeam(
        team=row.name or None,
        jobs=sum(figures[f"{JOBS}{state}"] for state in TERMINAL),
        attempts=figures[ATTEMPTS],
        preemptions=figures[PREEMPTIONS],
        used_hours=_rounded(sum(row.times(USED).values())),
        lost_hours=_rounded(sum(row.times(LOST).values())),
        running_hours=_rounded(sum(row.running.used_ms.values())),
        wait_p50_seconds=None if p50 is None else round(p50),
        wait_p90_seconds=None if p90 is None else round(p90),
        waits_grow=_grow([*before, waits]),
        wait_p90_before_seconds=tuple(round(quantile(each, 0.9) or 0) for each in before),
        cost=_amount(cost),
        lost_cost=_amount(lost),
        unpriced_hours=_rounded(sum(cost.unpriced_ms.values())),
    )


def _job(job: ListedJob) -> DigestJob:
    return DigestJob(
        job_name=job.job_name,
        team=job.team or None,
        job_state=job.job_state,
        lost_hours=_rounded(job.usage.lost_ms),
        preemptions=job.preemption_count,
    )


def _advice(week: Week) -> Iterator[DigestAdvice]:
    for job in week.wasteful:
        preempted = (each for each in job.attempts if each.reason.code is ReasonCode.RETURNED_TO_LINE)
        times_s = tuple(each.each_held_ms / 1000 for each in preempted)
        yield from _given(job, lost_work(JobFigures(preempted_s=times_s, checkpoints=job.checkpoints), _unpriced))
    limits = (
        advice
        for loose, limit_s in week.loose
        for advice in _given(
            loose, loose_limit(JobFigures(limit_s=limit_s, completed_s=_run_ms(loose) / 1000), _unpriced)
        )
    )
    yield from islice(limits, MAX_JOBS_SHOWN)


def _given(job: ListedJob, advice: Advice | None) -> Iterator[DigestAdvice]:
    if advice is not None:
        yield DigestAdvice(
            job_name=job.job_name,
            code=advice.code,
            finding=advice.finding,
            remedy=advice.remedy,
            figures=advice.figures,
        )


def _unpriced(_: str) -> None:
    """No rule of a digest needs a price."""


def _amount(cost: Cost) -> float | None:
    return None if cost.amount is None else round(cost.amount, 2)


def _rounded(time_ms: int) -> float:
    return round(time_ms / _HOUR_MS, 2)


def _sentence(week: Week, teams: Sequence[DigestTeam]) -> str:
    span = f"from {week.first} to {week.last}"
    if not any(each.used_hours or each.running_hours or each.jobs for each in teams):
        return f"{span}, nothing was used: no attempt ended or ran, and no job ended"
    used, lost, running = (
        sum(getattr(each, name) for each in teams) for name in ("used_hours", "lost_hours", "running_hours")
    )
    growing = ", ".join(f"`{each.team}`" if each.team else "jobs without a team" for each in teams if each.waits_grow)
    return (
        f"{span}, attempts that have ended used {used:.2f} instance hours, {lost:.2f} of them lost, and running ones "
        f"{running:.2f}" + (f"; waits grow from week to week for {growing}" if growing else "")
    )
