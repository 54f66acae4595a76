"""Transitions of what the ledger keeps beside attempts: pools, pauses, teams and reservations."""

from __future__ import annotations

from collections.abc import Sequence

from headway_service.ports.table import Absent, AllEqual, Delete, Equals, Put, Update, Write
from headway_service.store.records.capacity.ledger import (
    CalendarRecord,
    PauseRecord,
    PoolRecord,
    ReservationRecord,
    TeamRecord,
)
from headway_service.store.records.capacity.start_count import StartCountRecord
from headway_service.store.records.capacity.training_plan import PlanRecord
from headway_service.store.transitions.shared import return_instances


def free(reservation: ReservationRecord) -> list[Write]:
    """A reservation ends; its instances become free."""
    return [reservation.delete(), *return_instances(reservation.demand)]


def add_pool(pool: str, size: int) -> list[Write]:
    """A pool was added to the configuration. Fails if the ledger has it.

    Args:
        pool: the instance type of the pool.
        size: the number of instances.
    """
    return [Put(item=PoolRecord(pool=pool, size=size, free=size).put().item, requires=Absent())]


def resize_pool(pool: PoolRecord, size: int) -> list[Write]:
    """A pool gets another size. Instances in use stay in use, so ``free`` may become negative.

    Args:
        pool: the instance type of the pool.
        size: the new number of instances.
    """
    key = PoolRecord.key(pool.pool)
    return [Update(key=key, sets={"size": size}, adds={"free": size - pool.size}, requires=Equals("size", pool.size))]


def set_calendar(known: CalendarRecord | None, calendar: CalendarRecord) -> list[Write]:
    """A pool gets a calendar, or another one. Fails if a start by the known one is counted meanwhile.

    Args:
        known: the calendar as it was read; None if the pool has none.
        calendar: the calendar; its version does not matter.
    """
    if known is None:
        return [calendar.put(requires=Absent())]
    changed = calendar.model_copy(update={"version": known.version + 1})
    return [changed.put(requires=Equals("version", known.version))]


def remove_calendar(calendar: CalendarRecord) -> list[Write]:
    """A pool has neither a schedule nor a plan any more. Fails if its calendar has changed."""
    return [Delete(key=CalendarRecord.key(calendar.pool), requires=Equals("version", calendar.version))]


def set_plan(known: PlanRecord | None, found: PlanRecord | None) -> list[Write]:
    """The training plan of a pool is described again, or no longer followed. Fails if it has changed.

    Args:
        known: the plan as it was read; None if the ledger has none.
        found: the plan as it is now; its version does not matter. None if no pool follows it.
    """
    if known is None:
        return [found.put(was=None)] if found is not None else []
    if found is None:
        return [known.delete()]
    return [found.model_copy(update={"version": known.version + 1}).put(was=known.version)]


def back_off(pool: PoolRecord) -> list[Write]:
    """The back-off of a pool, and the row that it belongs to, change. Fails if the pool was removed."""
    sets = {
        "backoffUntilMs": pool.backoff_until_ms,
        "backoffSinceMs": pool.backoff_since_ms,
        "answeredMs": pool.answered_ms,
        "backoffs": pool.backoffs,
        "backoffCause": pool.backoff_cause,
        "unclearJob": pool.unclear_job,
    }
    return [Update(key=PoolRecord.key(pool.pool), sets=sets, requires=Equals("pool", pool.pool))]


def begin_to_count_pauses(pool: PoolRecord, from_ms: int) -> list[Write]:
    """Count the pauses of a pool, as a condition of starts from a time on. Fails if the pool was removed.

    Args:
        from_ms: from when on all functions count them, machine time, ms.
    """
    # A pool that is removed and added again does not come back to numbers that it had.
    sets, adds = {"pausesFromMs": from_ms}, {"pauses": from_ms}
    return [Update(key=PoolRecord.key(pool.pool), sets=sets, adds=adds, requires=Equals("pool", pool.pool))]


def pause(record: PauseRecord, counted: Sequence[str] = ()) -> list[Write]:
    """A pool, or all pools, are paused. Fails if they are already, or if a pool was removed.

    Args:
        record: the pause.
        counted: the paused pools whose pauses are counted: starts that were decided before fail.
    """
    return [record.put(requires=Absent()), *(_count_pause(pool) for pool in counted)]


def _count_pause(pool: str) -> Write:
    return Update(key=PoolRecord.key(pool), adds={"pauses": 1}, requires=Equals("pool", pool))


def change_pause(record: PauseRecord, changed: PauseRecord) -> list[Write]:
    """A pause gets other contents. Fails if it has ended, or another one has begun.

    Args:
        record: the pause as it was read.
        changed: the pause as it shall be.
    """
    return [changed.put(requires=Equals("sinceMs", record.since_ms))]


def resume(record: PauseRecord) -> list[Write]:
    """The pause of a pool, or of all pools, ends. Fails if another one has begun."""
    return [Delete(key=PauseRecord.key(record.pool), requires=Equals("sinceMs", record.since_ms))]


def end_restore(record: PauseRecord) -> list[Write]:
    """The pause since a restore of the table ends, but for one that a user had set. Fails if it has ended already."""
    # A user may have paused all pools meanwhile, so that the pause stays.
    restored = AllEqual((("restoredMs", record.restored_ms or 0), ("sinceMs", record.since_ms)))
    if not record.stays:
        return [Delete(key=PauseRecord.key(record.pool), requires=restored)]
    return [record.model_copy(update={"restored_ms": None, "stays": False}).put(requires=restored)]


def remove_pool(pool: PoolRecord) -> list[Write]:
    """An empty pool of size 0 leaves the ledger. Fails if it is in use.

    The condition compares both numbers: if the pool was added again with as many instances as are still held, it has no
    free instances either.
    """
    return [
        Delete(key=PoolRecord.key(pool.pool), requires=AllEqual((("size", 0), ("free", 0)))),
        StartCountRecord.forget(pool.pool),
    ]


def add_team(team: str, known: TeamRecord | None) -> list[Write]:
    """A team was added to the configuration, or returns to it.

    Fails if a start of one of its jobs is counted meanwhile: if the count went back, a decision from before could pass.

    Args:
        team: its name.
        known: the team in the ledger, if it had left; None for a new team.
    """
    if known is None:
        return [TeamRecord(team=team).put(requires=Absent())]
    return [known.model_copy(update={"left_ms": None}).put(requires=Equals("starts", known.starts))]


def retire_team(team: TeamRecord, now_ms: int) -> list[Write]:
    """A team was removed from the configuration; the queues of its waiting jobs are still read.

    Fails if a start of one of its jobs is counted meanwhile, as :func:`add_team`.

    Args:
        team: the name of the team.
    """
    return [team.model_copy(update={"left_ms": now_ms}).put(requires=Equals("starts", team.starts))]


def remove_team(team: TeamRecord) -> list[Write]:
    """A team that has left, and has empty queues, leaves the ledger. Fails if it has returned."""
    return [Delete(key=TeamRecord.key(team.team), requires=Equals("leftMs", team.left_ms or 0))]
