"""Removes pools from the ledger that have left the configuration, as soon as nothing uses them any more."""

from __future__ import annotations

from functools import partial

from headway_service.observability.isolation import Isolation
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, require_in_force
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.ledger import PoolRecord


def forget_removed_pools(table: Table, in_force: EffectiveConfig, ledger: Ledger, isolation: Isolation) -> bool:
    """Remove the pools that the configuration no longer has, and of which no instance is held.

    Each removal is conditional on the configuration and on what it removes, so it is safe beside another tick, and
    beside a configuration that has the pool again.

    Args:
        in_force: the configuration in effect.
        isolation: does the work on each pool by itself.

    Returns:
        Whether anything was removed, or has changed meanwhile, so that the ledger has to be read again.
    """
    if in_force.queue_teams is None:
        # Pools are still being updated.
        return False
    unused = [pool for pool in ledger.pools if pool.pool not in in_force.configuration.pools and pool.free == 0]
    still = require_in_force(in_force.version)

    def remove(pool: PoolRecord) -> bool:
        table.write([*transitions.remove_pool(pool), still])
        logger.info("a removed pool is no longer in use", extra={"pool": pool.pool})
        return True

    outcomes = [isolation.do("a removed pool", each.pool, partial(remove, each)) for each in unused]
    return any(each.reads_again for each in outcomes)
