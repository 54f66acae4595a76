"""Has pauses counted in the items of their pools, so that starts need not check for pauses (decision 88)."""

from __future__ import annotations

from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.ports.table import MAX_TRANSACTION_WRITES, Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_pools
from headway_service.store.records.capacity.ledger import PauseRecord

OLDER_CODE_MS = 3_600_000
"""For this long, ms, after newer code runs, other functions may run older code, which does not count pauses."""

MAX_COUNTED = MAX_TRANSACTION_WRITES - 2
"""Pools whose pauses are counted: a pause of all pools counts in one transaction with itself and its record."""


def begin_to_count(table: Table, ledger: Ledger, machine_ms: int) -> None:
    """Have the pauses of all pools counted. Starts rely on it when no function runs older code any more."""
    new = [pool for pool in ledger.pools if pool.pauses_from_ms is None]
    for pool in new[: max(0, MAX_COUNTED - (len(ledger.pools) - len(new)))]:
        try:
            table.write(transitions.begin_to_count_pauses(pool, machine_ms + OLDER_CODE_MS))
        except Conflict:
            logger.info("a pool was removed before its pauses are counted", extra={"pool": pool.pool})


def counted_pools(table: Table, paused: str) -> list[str]:
    """The pools that a pause is counted in.

    Args:
        paused: the paused pool; :attr:`PauseRecord.EVERYTHING` for all.
    """
    pools = [pool.pool for pool in read_pools(table) if pool.pauses_from_ms is not None]
    return [pool for pool in pools if paused in {pool, PauseRecord.EVERYTHING}]
