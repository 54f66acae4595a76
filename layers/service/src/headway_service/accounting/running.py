"""What running attempts have used until now. It is computed when it is read: the sums have what has ended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from headway.accounting.differences import OTHER
from headway.days import split
from headway.jobpolicy.training_job import tags_in
from headway.lifecycle import AttemptState
from headway.pool_names import billed_pool
from headway_service.accounting.records import short
from headway_service.ports.table import Table
from headway_service.store.ledger import read_attempts
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job, find_request

MAX_TAGGED = 200
"""Running attempts whose requests are read for the value of a tag; further ones share one sum."""

_Shown = tuple[str, str]
"""The period of a row, and its name."""


@dataclass(kw_only=True, slots=True)
class RunningUse:
    """What running attempts have used in a period.

    Attributes:
        attempts: how many.
        used_ms: instances times ms, by pool.
        spot_ms: what of it spot instances have used, by day and by :func:`headway.pool_names.billed_pool`.
    """

    attempts: int = 0
    used_ms: Counter[str] = field(default_factory=Counter)
    spot_ms: defaultdict[date, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def read_running(
    table: Table,
    dimension: str,
    first: date,
    last: date,
    shown: Callable[[date], str],
    *,
    now_ms: int,
    tags: Callable[[], Sequence[str]],
) -> dict[tuple[str, str], RunningUse]:
    """What attempts have used that have not ended, by period and name.

    The sums have to be read before: an attempt leaves the ledger before it is added to them, so that no attempt is in
    both. One that ends while both are read, or whose end is not accounted for yet, is in neither for that moment.

    Args:
        dimension: ``team``, ``owner``, ``pool`` or ``tag:`` and a key.
        first: the first day.
        last: the last day.
        shown: the period of the row that a day belongs to.
        now_ms: the training time, ms.
        tags: returns the tags by which usage is summed up.
    """
    if dimension.startswith("tag:") and dimension.removeprefix("tag:") not in tags():
        return {}
    parts = [(each, _parts(each, first, last, now_ms)) for each in read_attempts(table)]
    running = [(attempt, days) for attempt, days in parts if days]
    names = _names(table, dimension, [attempt for attempt, _ in running])
    found: dict[_Shown, RunningUse] = {}
    for (attempt, days), name in zip(running, names, strict=True):
        counted = set[_Shown]()
        for pool, count in attempt.demand.items():
            for day, time_ms in days.items():
                row = shown(day), short(pool if dimension == "pool" else name)
                use = found.setdefault(row, RunningUse())
                use.used_ms[pool] += count * time_ms
                if attempt.spot:
                    use.spot_ms[day][billed_pool(pool, spot=True)] += count * time_ms
                if row not in counted:
                    use.attempts += 1
                    counted.add(row)
    return found


def _parts(attempt: AttemptRecord, first: date, last: date, now_ms: int) -> dict[date, int]:
    """How long an attempt has held each of its instances until now, by day of a range, ms."""
    # One that is never launched will have used nothing.
    if attempt.attempt_state is AttemptState.LAUNCHING:
        return {}
    return {day: ms for day, ms in split(attempt.since_ms, now_ms).items() if first <= day <= last}


def _names(table: Table, dimension: str, attempts: Sequence[AttemptRecord]) -> Iterator[str]:
    """The name of each attempt in a dimension; empty for pools, of which it may have several."""
    match dimension:
        case "pool":
            yield from ("" for _ in attempts)
        case "team":
            yield from (attempt.team for attempt in attempts)
        case "owner":
            owners = _owners(table, attempts)
            for attempt in attempts:
                if attempt.job_name not in owners:
                    # That read is eventually consistent.
                    job = find_job(table, attempt.job_name)
                    owners[attempt.job_name] = job.owner if job else None
                yield owners[attempt.job_name] or ""
        case _:
            key = dimension.removeprefix("tag:")
            for number, attempt in enumerate(attempts):
                yield _tag(table, attempt, key) if number < MAX_TAGGED else OTHER


def _owners(table: Table, attempts: Sequence[AttemptRecord]) -> dict[str, str | None]:
    jobs = dict.fromkeys(JobRecord.key(attempt.job_name) for attempt in attempts)
    return {item["jobName"]: item.get("owner") for item in table.get_listed([*jobs])}


def _tag(table: Table, attempt: AttemptRecord, key: str) -> str:
    request = find_request(table, attempt.job_name) or {}
    return tags_in(request.get("Tags")).get(key, "")
