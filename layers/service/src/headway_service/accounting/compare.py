"""Compares the sums of a day with the jobs that are kept: what do these have in it, by their marks? Nothing is written.

Each page has what some jobs have in the day; the reader adds the pages up, and compares the result with the sums of the
last page. So each request is bounded, whatever the number of jobs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from headway.accounting.days import DAY_MS, Period, begin_ms, day_of, month_of
from headway.lifecycle import ACTIVE, TERMINAL, WAITING
from headway_service.accounting.contributions import accounted
from headway_service.accounting.records import (
    DAYS_KEPT,
    IDLE,
    IDLE_RESERVED,
    MAX_NAMES,
    MarkRecord,
    figures_in,
    name_in,
    partition,
    prefix,
    short,
)
from headway_service.errors import InvalidRequest
from headway_service.ports.table import Table
from headway_service.store.job_listing import JobFilter, list_ended, list_jobs
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job

MAX_SCANNED = 50
"""Jobs that one request reads, each with its mark."""

_LIVE = (ACTIVE, WAITING, ACTIVE)
"""The listings of jobs that have not ended, in the order in which they are read. A job that starts meanwhile was seen
among the waiting ones or is among the second active ones, and one that is preempted was among the first."""

_MAX_TIME_MS = 10**13 - 1

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
class ScanPage:
    """A page of the comparison.

    Attributes:
        scanned: how many jobs were read.
        jobs: those that have something in the day. A job may be in several pages.
        stored: the sums of the day, on the last page.
        changed: whether these have changed since the first page, so that the comparison is of no use.
        token: where the next page begins; None at the end.
    """

    scanned: int
    jobs: tuple[ScannedJob, ...]
    stored: Mapping[str, Figures] | None
    changed: bool
    token: str | None


def scan_day(table: Table, by: str, day: date, token: str | None, *, now_ms: int, retention_s: int) -> ScanPage:
    """A page of the comparison of the sums of a day with the jobs.

    Args:
        table: the table.
        by: ``team``, ``owner`` or ``pool``.
        day: a day that is over, and whose jobs are all kept.
        token: where to continue, from the page before.
        now_ms: the training time, ms.
        retention_s: for how long ended jobs are kept, s.

    Raises:
        InvalidRequest: the day is not over, or some of its jobs may have been forgotten; or the token is not valid.
    """
    _check_day(day, now_ms, retention_s)
    phase, inner, digest = _parse(token, by, day) if token else (0, None, _digest(_stored(table, by, day)))
    if phase < len(_LIVE):
        listed, following = list_jobs(table, JobFilter(states=_LIVE[phase]), MAX_SCANNED, inner)
    else:
        wanted = JobFilter(states=TERMINAL)
        listed, following = list_ended(table, wanted, begin_ms(day), _MAX_TIME_MS, MAX_SCANNED, inner)
    found = [scanned for each in listed if (scanned := _scan(table, each, by, day)) is not None]
    if following is None:
        phase += 1
    if phase <= len(_LIVE):
        text = json.dumps([phase, following, digest, by, day.isoformat()])
        following = base64.urlsafe_b64encode(text.encode()).decode()
    stored = _stored(table, by, day) if following is None else None
    return ScanPage(
        scanned=len(listed),
        jobs=tuple(found),
        stored=stored,
        changed=stored is not None and _digest(stored) != digest,
        token=following,
    )


def _check_day(day: date, now_ms: int, retention_s: int) -> None:
    if day >= day_of(now_ms):
        raise InvalidRequest(f"{day} is not over yet: choose an earlier day")
    # The table forgets a job no earlier than its retention after its end, and a sum a known time after its day.
    first = day_of(now_ms - min(retention_s * 1000, (DAYS_KEPT - 1) * DAY_MS) + DAY_MS)
    if day < first:
        raise InvalidRequest(f"jobs of {day} may have been forgotten: choose {first} or a later day")


def _scan(table: Table, listed: JobRecord, by: str, day: date) -> ScannedJob | None:
    """What a job has in a day, as its mark says; None if that is nothing."""
    if listed.ended_ms is None and not listed.attempt_count:
        return None
    # A listing does not have the ended attempts. The mark is read first: what it has is in a later record, too.
    item = table.get(MarkRecord.key(listed.job_name))
    job = find_job(table, listed.job_name)
    if job is None or item is None:
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


def _stored(table: Table, by: str, day: date) -> dict[str, dict[str, int]]:
    period = Period(month=month_of(day), day=day)
    items = table.query(partition(by, period.month), prefix=prefix(period), limit=MAX_NAMES + 1)
    return {name_in(item): _of_jobs(figures_in(item)) for item in items}


def _of_jobs(figures: Figures) -> dict[str, int]:
    """Those of the figures that jobs have: idle time is the pools'."""
    return {name: value for name, value in figures.items() if value and not name.startswith((IDLE, IDLE_RESERVED))}


def _digest(stored: Mapping[str, Figures]) -> str:
    return hashlib.sha256(json.dumps(stored, sort_keys=True, default=int).encode()).hexdigest()[:16]


def _parse(token: str, by: str, day: date) -> tuple[int, str | None, str]:
    try:
        phase, inner, digest, *of = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError, TypeError):
        phase, inner, digest, of = -1, None, "", []
    if of != [by, day.isoformat()] or phase not in range(len(_LIVE) + 1) or not isinstance(digest, str):
        raise InvalidRequest("nextToken is not valid: take it from the answer before, with the same day and `by`")
    if inner is not None and not isinstance(inner, str):
        raise InvalidRequest("nextToken is not valid: take it from the answer before")
    return int(phase), inner, digest
