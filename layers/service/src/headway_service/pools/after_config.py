"""The ledger as a configuration will leave it: once it has been applied, and a tick has followed its calendars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headway.vectors import minus, total
from headway_service.config.document import Configuration
from headway_service.pools.follow_schedules import new_calendar
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.ledger import CalendarRecord, PoolRecord
from headway_service.store.records.capacity.rogue_job import RogueJobRecord


def ledger_under(configuration: Configuration, ledger: Ledger, now_ms: int) -> Ledger:
    """A ledger with the sizes and the calendars that a configuration gives the pools, and what rogue jobs are charged.

    A pool that the configuration does not have stays, without instances. Records that cannot be read stay as they are,
    and so do their pools.

    Args:
        ledger: as it is now.
        now_ms: the training time, ms.
    """
    unreadable = ledger.names_of_unreadable("pool")
    known = {pool.pool: pool for pool in ledger.pools}
    added = sorted(configuration.pools.keys() - known.keys() - unreadable)
    calendars = {each.pool: each for each in _calendars(configuration, ledger, now_ms)}

    def size(name: str) -> int:
        if name not in configuration.pools:
            return 0
        return calendars[name].size_at(now_ms) if name in calendars else configuration.pools[name].size

    pools = (*known.values(), *(PoolRecord(pool=name, size=0, free=0) for name in added))
    rogues = tuple(_charged(each, configuration) for each in ledger.rogues)
    more = minus(total(each.charged for each in rogues), total(each.charged for each in ledger.rogues))
    return replace(
        ledger,
        pools=tuple(_resized(pool, size(pool.pool), more.get(pool.pool, 0)) for pool in pools),
        calendars=tuple(calendars.values()),
        rogues=rogues,
    )


def _charged(rogue: RogueJobRecord, configuration: Configuration) -> RogueJobRecord:
    """A rogue job once the patrol has judged it again. One with the mark of an attempt is charged in any case."""
    charges = configuration.rogues.charge or rogue.marked
    charged = {pool: count for pool, count in rogue.demand.items() if charges and pool in configuration.pools}
    return rogue.model_copy(update={"charged": charged})


def _calendars(configuration: Configuration, ledger: Ledger, now_ms: int) -> Iterator[CalendarRecord]:
    unreadable = ledger.names_of_unreadable("calendar") | ledger.names_of_unreadable("plan")
    for name, pool in sorted(configuration.pools.items()):
        known = ledger.calendar_of(name)
        if not pool.follows:
            continue
        changed = None if name in unreadable else new_calendar(name, pool, known, ledger.plan_of(name), now_ms)
        if (calendar := changed or known) is not None:
            yield calendar


def _resized(pool: PoolRecord, size: int, charged: int) -> PoolRecord:
    return pool.model_copy(update={"size": size, "free": pool.free + size - pool.size - charged})
