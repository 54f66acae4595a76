"""Compares the sums of a day with the jobs that are kept: what do these have in it, by their marks? Nothing is written.

Each page has what some jobs have in the day; the reader adds the pages up, and compares the result with the sums of the
last page. So each request is bounded, whatever the number of jobs. The pages are those of a scan of the table, in which
a job does not move: if the sums do not change meanwhile, the result is exact.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from headway.days import DAY_MS, DAYS_KEPT, Period, begin_ms, day_of, month_of
from headway.lifecycle import TERMINAL
from headway_service.accounting.contributions import accounted
from headway_service.accounting.records import (
    MAX_NAMES,
    MarkRecord,
    RepairRecord,
    figures_in,
    is_of_jobs,
    name_in,
    partition,
    prefix,
    short,
)
from headway_service.errors import InvalidRequest, NewerSchema, UnreadableRecord
from headway_service.ports.table import Item, Key, Table
from headway_service.store.records.job import JobRecord

MAX_SCANNED = 1000
"""Items of the table that one request reads; those of a job are its record, its mark, its request and others."""

_JOB, _MARK = JobRecord.key("").sk, MarkRecord.key("").sk

Figures = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScannedJob:
    """What a job has in a day.

    Attributes:
        job: its name.
        sums: its figures by name of the dimension, as the sums have to have them.
        complete: whether all of its attempts that may be in the day are kept.
    """

    job: str
    sums: Mapping[str, Figures]
    complete: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedPage:
    """A page of the comparison.

    Attributes:
        scanned: how many jobs were read.
        jobs: those that have something in the day; a job is in one page.
        unreadable: the names of damaged jobs, which may have something in the day.
        keeps_earlier: whether one of the jobs that were read ended before the day, and is still to be kept.
        stored: the sums of the day, on the last page.
        revision: how many repairs of the sums of its month there are, on the last page.
        changed: whether these have changed since the first page, so that the comparison is of no use.
        token: where the next page begins; None at the end.
    """

    scanned: int
    jobs: tuple[ScannedJob, ...]
    unreadable: tuple[str, ...]
    keeps_earlier: bool
    stored: Mapping[str, Figures] | None
    revision: int | None
    changed: bool
    token: str | None


def compare_day(
    table: Table, by: str, day: date, token: str | None, *, now_ms: int, machine_ms: int, retention_s: int
) -> ComparedPage:
    """A page of the comparison of the sums of a day with the jobs.

    Args:
        by: ``team``, ``owner`` or ``pool``.
        day: a day that is over, and whose jobs are all kept.
        token: where to continue, from the page before.
        now_ms: the training time, ms.
        retention_s: for how long ended jobs are kept, s.

    Raises:
        InvalidRequest: the day is not over, or some of its jobs may have been forgotten; or the token is not valid.
    """
    check_day(day, now_ms, retention_s)
    after, digest = _parse(token, by, day) if token else (None, _digest(*_stored(table, by, day)))
    page = table.scan((_JOB, _MARK), after=after, limit=MAX_SCANNED)
    marks = {item["pk"]: item for item in page.items if item["sk"] == _MARK}
    jobs: list[JobRecord] = []
    found: list[ScannedJob] = []
    unreadable: list[str] = []
    for item in page.items:
        if item["sk"] != _JOB:
            continue
        try:
            job = JobRecord.parse(item)
            scanned = _compare(table, job, marks, by, day)
        except NewerSchema:
            # Newer code reads it, and compares it.
            raise
        except UnreadableRecord:
            unreadable.append(item["pk"].removeprefix(JobRecord.key("").pk))
        else:
            jobs.append(job)
            found += [scanned] if scanned is not None else []
    following = None
    if page.after is not None:
        text = json.dumps([*page.after, digest, by, day.isoformat()], ensure_ascii=False)
        following = base64.urlsafe_b64encode(text.encode()).decode()
    stored, revision = _stored(table, by, day) if following is None else (None, None)
    return ComparedPage(
        scanned=len(jobs),
        jobs=tuple(found),
        unreadable=tuple(unreadable),
        keeps_earlier=any(_is_kept(job, machine_ms) and (job.ended_ms or 0) < begin_ms(day) for job in jobs),
        stored=stored,
        revision=revision,
        changed=following is None and _digest(stored, revision) != digest,
        token=following,
    )


def check_day(day: date, now_ms: int, retention_s: int) -> None:
    """Refuse a day whose sums cannot be compared with the jobs.

    Args:
        now_ms: the training time, ms.
        retention_s: for how long ended jobs are kept, s.

    Raises:
        InvalidRequest: the day is not over, or some of its jobs may have been forgotten.
    """
    if day >= day_of(now_ms):
        raise InvalidRequest(f"{day} is not over yet: choose an earlier day")
    # The table forgets a job no earlier than its retention after its end, and a sum a known time after its day.
    first = day_of(now_ms - min(retention_s * 1000, (DAYS_KEPT - 1) * DAY_MS) + DAY_MS)
    if day < first:
        raise InvalidRequest(f"jobs of {day} may have been forgotten: choose {first} or a later day")


def _is_kept(job: JobRecord, machine_ms: int) -> bool:
    """Whether a job has ended and the table must not have forgotten it yet. It forgets jobs some time after it may."""
    return job.job_state in TERMINAL and job.expires_at is not None and job.expires_at * 1000 > machine_ms


def _compare(table: Table, job: JobRecord, marks: Mapping[str, Item], by: str, day: date) -> ScannedJob | None:
    """What a job has in a day, as its mark says; None if that is nothing."""
    if (job.ended_ms is None and not job.attempts) or (job.ended_ms is not None and job.ended_ms < begin_ms(day)):
        return None
    key = MarkRecord.key(job.job_name)
    # The mark is in the page before if this page begins with the job.
    item = marks.get(key.pk) or table.get(key)
    if item is None:
        return None
    sums: dict[str, dict[str, int]] = {}
    for part in accounted(job, MarkRecord.parse(item)):
        if part.day != day:
            continue
        for pool, figures in part.pools.items() if by == "pool" else _together(part.pools):
            name = short({"team": part.team, "owner": job.owner or "", "pool": pool}[by])
            kept = sums.setdefault(name, {})
            for figure, value in (*part.shared.items(), *figures.items()):
                kept[figure] = kept.get(figure, 0) + value
    complete = _is_complete(job, day)
    return ScannedJob(job=job.job_name, sums=sums, complete=complete) if sums or not complete else None


def _together(pools: Mapping[str, Figures]) -> list[tuple[str, Figures]]:
    every: dict[str, int] = {}
    for figures in pools.values():
        for figure, value in figures.items():
            every[figure] = every.get(figure, 0) + value
    return [("", every)]


def _is_complete(job: JobRecord, day: date) -> bool:
    """Whether no attempt that is not kept any more may have ended on the day, or after it."""
    first = job.attempts[0] if job.attempts else None
    return first is None or first.number == 1 or first.since_ms < begin_ms(day)


def _stored(table: Table, by: str, day: date) -> tuple[dict[str, dict[str, int]], int]:
    """The sums of a day, and how many repairs of its month there are."""
    period = Period(month=month_of(day), day=day)
    items = table.query(partition(by, period.month), prefix=prefix(period), limit=MAX_NAMES + 1)
    repaired = table.get(RepairRecord.key(by, period.month))
    sums = {name_in(item): _of_jobs(figures_in(item)) for item in items}
    return sums, 0 if repaired is None else RepairRecord.parse(repaired).version


def _of_jobs(figures: Figures) -> dict[str, int]:
    return {name: value for name, value in figures.items() if is_of_jobs(name)}


def _digest(stored: Mapping[str, Figures] | None, revision: int | None) -> str:
    return hashlib.sha256(json.dumps([stored, revision], sort_keys=True, default=int).encode()).hexdigest()[:16]


def _parse(token: str, by: str, day: date) -> tuple[Key, str]:
    try:
        pk, sk, digest, *of = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        pk = sk = digest = None
        of = []
    if of != [by, day.isoformat()] or not all(isinstance(each, str) and each for each in (pk, sk, digest)):
        raise InvalidRequest("nextToken is not valid: take it from the answer before, with the same day and `by`")
    return Key(pk, sk), digest
