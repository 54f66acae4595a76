"""Pools and how they are used."""

from __future__ import annotations

from collections.abc import Iterable

from headway_client.documents import PoolUse
from headway_client.tables import Table


def pool_rows(pools: Iterable[PoolUse]) -> Table:
    """Return the pools and how their instances are used."""
    headers = ["Pool", "Size", "Allocated", "Stopping", "Reserved", "Rogue", "Free", "Waiting Jobs"]
    rows = [
        [
            pool.pool,
            *map(str, (pool.size, pool.allocated, pool.stopping, pool.reserved, pool.rogue, pool.free, pool.waiting)),
        ]
        for pool in pools
    ]
    return Table(headers=headers, rows=rows)
