"""How each pool is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.vectors import total
from headway_service.config.document import Configuration
from headway_service.ports.table import Table
from headway_service.store.ledger import Ledger, read_ledger_for_display
from headway_service.store.queue_tail import MAX_PLACE
from headway_service.store.records.ledger import PauseRecord
from headway_service.store.records.queue_entry import QueueEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolUse:
    """How a pool is used, in instances; ``waiting`` in jobs.

    Attributes:
        pool: the pool.
        size: its size.
        allocated: held by attempts.
        stopping: the part of ``allocated`` whose attempts are stopping.
        reserved: reserved for waiting jobs.
        rogue: taken by training jobs that did not come through the queue.
        free: the rest.
        waiting: how many jobs wait for it.
        pause: its pause, or the pause of all pools.
    """

    pool: str
    size: int
    allocated: int
    stopping: int
    reserved: int
    rogue: int
    free: int
    waiting: int
    pause: PauseRecord | None = None


def read_capacity(table: Table, configuration: Callable[[], Configuration]) -> list[PoolUse]:
    """How each pool is used now, strongly consistent except for the number of waiting jobs.

    Args:
        table: the table.
        configuration: the configuration in effect.
    """
    # Before the first tick or submission, this puts the configured pools into the ledger.
    configuration()
    ledger = read_ledger_for_display(table)
    allocated = total(attempt.demand for attempt in ledger.attempts)
    stopping = total(attempt.demand for attempt in ledger.attempts if attempt.stop_cause)
    reserved = total(reservation.demand for reservation in ledger.reservations)
    rogue = total(rogue.charged for rogue in ledger.rogues)
    return [
        PoolUse(
            pool=pool.pool,
            size=pool.size,
            allocated=allocated.get(pool.pool, 0),
            stopping=stopping.get(pool.pool, 0),
            reserved=reserved.get(pool.pool, 0),
            rogue=rogue.get(pool.pool, 0),
            free=pool.size - sum(used.get(pool.pool, 0) for used in (allocated, reserved, rogue)),
            waiting=_waiting(table, pool.pool, ledger),
            pause=ledger.pause_of(pool.pool),
        )
        for pool in ledger.pools
    ]


def _waiting(table: Table, pool: str, ledger: Ledger) -> int:
    """How many jobs of all teams wait for a pool, counted up to :data:`MAX_PLACE`."""
    found = 0
    for team in ledger.queue_teams:
        if found < MAX_PLACE:
            found += table.count_before(QueueEntry.partition(pool, team), "~", limit=MAX_PLACE - found)
    return found
