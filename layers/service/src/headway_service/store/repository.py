"""Finds a job by its name, and the attempt that holds its instances; and a pool by its name."""

from __future__ import annotations

from collections.abc import Iterable

from headway_service.errors import JobNotFound, PoolNotFound
from headway_service.ports.table import Table
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord

MAX_TRIES = 5
"""How often a change is tried again after somebody else was faster."""


def job_named(table: Table, name: str) -> JobRecord:
    """The job of that name, strongly consistent.

    Raises:
        JobNotFound: there is none.
    """
    item = table.get(JobRecord.key(name))
    if item is None:
        raise JobNotFound(f"there is no job `{name}` in the queue: check the name, or list the queue")
    return JobRecord.parse(item)


def live_attempt_of(table: Table, job: JobRecord) -> AttemptRecord | None:
    """The attempt that holds a job's instances; None if it holds none."""
    if job.live_attempt is None:
        return None
    item = table.get(AttemptRecord.key(job.live_attempt))
    return AttemptRecord.parse(item) if item else None


def no_pool(pool: str, known: Iterable[str]) -> PoolNotFound:
    """The error that there is no pool of that name; ``known`` are those that there are."""
    there_are = ", ".join(sorted(known)) or "none"
    return PoolNotFound(f"there is no pool {pool}; there are: {there_are} (`headway config set` adds one)")
