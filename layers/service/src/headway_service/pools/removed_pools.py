"""Removes pools from the ledger that have left the configuration, as soon as nothing uses them any more."""

from __future__ import annotations

from headway_service.errors import Conflict
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, require_in_force
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger


def forget_removed_pools(table: Table, in_force: EffectiveConfig, ledger: Ledger) -> bool:
    """Remove the pools that the configuration no longer has, and of which no instance is held.

    Each removal is conditional on the configuration and on what it removes, so it is safe beside another tick, and
    beside a configuration that has the pool again.

    Args:
        table: the table.
        in_force: the configuration in effect.
        ledger: the ledger.

    Returns:
        Whether anything was removed, or tried, so that the ledger has to be read again.
    """
    if in_force.queue_teams is None:
        # Pools are still being updated.
        return False
    unused = [pool for pool in ledger.pools if pool.pool not in in_force.configuration.pools and pool.free == 0]
    still = require_in_force(in_force.version)
    try:
        for pool in unused:
            table.write([*transitions.remove_pool(pool), still])
            logger.info("a removed pool is no longer in use", extra={"pool": pool.pool})
    except Conflict:
        logger.info("another call changes a removed pool at the same time")
    return bool(unused)
