"""Reads one record by its name, strongly consistent, and repeats a change that conflicts with others.

``find_*`` answer None if there is no such record; ``get_*`` raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from headway.errors import HeadwayError
from headway.sweeps import member_name, parse_member
from headway_service.errors import Conflict, JobNotFound, NewerSchema, PoolNotFound, UnreadableRecord
from headway_service.ports.table import Item, Key, Table
from headway_service.store.records.base import Record
from headway_service.store.records.capacity.attempt import AttemptRecord, GivenUpRecord
from headway_service.store.records.capacity.ledger import PauseRecord, PoolRecord, ReservationRecord, TeamRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.store.records.job import JobRecord, StoredRequest, request_key
from headway_service.store.records.member import described_member, is_made
from headway_service.store.records.scan import ScanRecord

MAX_TRIES = 5
"""How often a change is tried while it conflicts with others."""

_T = TypeVar("_T")
_R = TypeVar("_R", bound=Record)


def retry_on_conflict(change: Callable[[], _T], *, otherwise: HeadwayError) -> _T:
    """Make a change, again from its reads as long as it conflicts with others, up to :data:`MAX_TRIES` times.

    Args:
        change: reads, decides, and writes; raises ``Conflict`` if a record that it read has changed.
        otherwise: the error if every try conflicts.

    Returns:
        What the change returns.
    """
    for _ in range(MAX_TRIES):
        try:
            return change()
        except Conflict:
            continue
    raise otherwise


def get_job(table: Table, name: str) -> JobRecord:
    """The job of that name. A member of an array that is no job yet is described.

    Args:
        name: the name of the job. The index of a member needs no leading zeros.

    Raises:
        JobNotFound: there is none.
    """
    job = find_job(table, name) or find_member(table, name)
    if job is None:
        raise JobNotFound(f"there is no job `{name}` in the queue: check the name, or list the queue")
    return job


def find_job(table: Table, name: str) -> JobRecord | None:
    """The job of that name.

    Args:
        name: the name of the job.
    """
    return _find(table, JobRecord, JobRecord.key(name))


def find_readable_jobs(table: Table, names: Sequence[str]) -> tuple[list[JobRecord], list[str]]:
    """The jobs of these names that exist, and the names of those that are damaged, which concerns no other job.

    Raises:
        NewerSchema: one was written by newer code.
    """
    found: list[JobRecord] = []
    unreadable: list[str] = []
    for name in names:
        try:
            job = find_job(table, name)
        except NewerSchema:
            # Newer code reads it: nothing may pass it by.
            raise
        except UnreadableRecord:
            unreadable.append(name)
        else:
            found += [job] if job is not None else []
    return found, unreadable


def find_job_items(table: Table, names: Sequence[str]) -> dict[str, Item]:
    """The items of the jobs of these names that exist, by name, with one read of the table for up to a hundred.

    An item that cannot be read concerns its job alone, so each is parsed by itself.

    Args:
        names: the names, each once.
    """
    by_key = {JobRecord.key(name): name for name in names}
    return {by_key[Key(item["pk"], item["sk"])]: item for item in table.get_all(list(by_key))}


def find_member(table: Table, name: str) -> JobRecord | None:
    """The member of an array of that name, described if it is no job yet; None if there is no such array.

    Args:
        name: the name of the member. Its index needs no leading zeros.

    Raises:
        JobNotFound: the array does not have so many members.
    """
    parsed = parse_member(name)
    array = find_job(table, parsed[0]) if parsed is not None else None
    if parsed is None or array is None or array.array is None:
        return None
    (_, index), count = parsed, array.array.count
    if index >= count:
        raise JobNotFound(
            f"there is no member {index} in `{array.job_name}`, which has {count}: use an index from 0 to {count - 1}"
        )
    made = find_job(table, member_name(array.job_name, index, count)) if is_made(array, index) else None
    return made or described_member(array, index)


def find_request(table: Table, job: str, accepted_ms: int | None = None) -> dict[str, Any] | None:
    """The CreateTrainingJob request of a job: what it prefers.

    Args:
        job: the name of the job.
        accepted_ms: see :func:`find_stored_request`.
    """
    stored = find_stored_request(table, job, accepted_ms)
    return None if stored is None else stored.first


def find_stored_request(table: Table, job: str, accepted_ms: int | None = None) -> StoredRequest | None:
    """The CreateTrainingJob request of a job, with its alternatives.

    Args:
        job: the name of the job.
        accepted_ms: when it was accepted, ms, if it may be a member that has ended: the table forgets an array and its
            members in any order, and the name of the array may be in use again. None for a member of the present one.
    """
    item = table.get(request_key(job))
    own = StoredRequest.parse(item) if item is not None else None
    member = parse_member(job)
    if member is None:
        return own
    name, index = member
    of_array = table.get(request_key(name))
    shared = StoredRequest.parse(of_array) if of_array is not None else None
    if accepted_ms is None and shared is not None:
        accepted_ms = shared.accepted_ms
    # What is left of a forgotten array of that name is not this member's.
    if own is not None and accepted_ms in {None, own.accepted_ms}:
        return own
    return shared.of_member(job, index) if shared is not None and shared.accepted_ms == accepted_ms else None


def find_request_of(table: Table, attempt: AttemptRecord) -> dict[str, Any] | None:
    """The CreateTrainingJob request of an attempt: of the alternative that it runs on."""
    stored = find_stored_request(table, attempt.job_name)
    return None if stored is None else stored.of(attempt.alternative)


def find_attempt(table: Table, name: str) -> AttemptRecord | None:
    """The attempt of that name.

    Args:
        name: the name of the attempt.
    """
    return _find(table, AttemptRecord, AttemptRecord.key(name))


def find_live_attempt(table: Table, job: JobRecord) -> AttemptRecord | None:
    """The attempt that holds a job's instances; None if the job holds none.

    Args:
        job: the name of the job.
    """
    return find_attempt(table, job.live_attempt) if job.live_attempt is not None else None


def find_given_up(table: Table, attempt: str) -> GivenUpRecord | None:
    """The note that the launch of an attempt was given up.

    Args:
        attempt: the name of the attempt.
    """
    return _find(table, GivenUpRecord, GivenUpRecord.key(attempt))


def find_plans(table: Table, pools: Iterable[str]) -> list[PlanRecord]:
    """The training plans of pools, as far as SageMaker has described them."""
    found = (_find(table, PlanRecord, PlanRecord.key(pool)) for pool in pools)
    return [plan for plan in found if plan is not None]


def find_reservation(table: Table, job: str) -> ReservationRecord | None:
    """The reservation of a job.

    Args:
        job: the name of the job.
    """
    return _find(table, ReservationRecord, ReservationRecord.key(job))


def find_pool(table: Table, name: str) -> PoolRecord | None:
    """The pool of that name in the ledger.

    Args:
        name: the instance type of the pool.
    """
    return _find(table, PoolRecord, PoolRecord.key(name))


def pools_size(table: Table, pools: Iterable[str]) -> int:
    """The sizes of these pools together; those that the ledger does not have count for nothing."""
    found = (find_pool(table, pool) for pool in pools)
    return sum(pool.size for pool in found if pool is not None)


def find_pause(table: Table, pool: str) -> PauseRecord | None:
    """The pause of a pool, or of all pools (:attr:`PauseRecord.EVERYTHING`).

    Args:
        pool: the instance type of the pool.
    """
    return _find(table, PauseRecord, PauseRecord.key(pool))


def find_team(table: Table, name: str) -> TeamRecord | None:
    """The team of that name in the ledger.

    Args:
        name: the name of the team.
    """
    return _find(table, TeamRecord, TeamRecord.key(name))


def find_rogue_job(table: Table, name: str) -> RogueJobRecord | None:
    """The training job of that name, if it is known not to have come through the queue.

    Args:
        name: the name of the training job.
    """
    return _find(table, RogueJobRecord, RogueJobRecord.key(name))


def find_scan(table: Table) -> ScanRecord | None:
    """The progress of the scan of all training jobs."""
    return _find(table, ScanRecord, ScanRecord.KEY)


def pool_not_found(pool: str, known: Iterable[str]) -> PoolNotFound:
    """The error that there is no pool of that name; ``known`` are those that there are.

    Args:
        pool: the instance type of the pool.
        known: the names of the existing pools.
    """
    there_are = ", ".join(sorted(known)) or "none"
    return PoolNotFound(f"there is no pool {pool}; there are: {there_are} (`headway config set` adds one)")


def _find(table: Table, kind: type[_R], key: Key) -> _R | None:
    item = table.get(key)
    return kind.parse(item) if item is not None else None
