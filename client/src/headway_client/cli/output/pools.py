"""Format pools and the use of their instances."""

from __future__ import annotations

from collections.abc import Iterable

from headway.sanitize import strip_control_characters
from headway_client.cli.output import values
from headway_client.cli.output.table import Table
from headway_client.models import Pause, PoolUse


def pool_rows(pools: Iterable[PoolUse]) -> Table:
    """Return the pools and the use of their instances as a table."""
    headers = ["Pool", "Size", "Allocated", "Stopping", "Reserved", "Rogue", "Free", "Waiting Jobs", "Paused"]
    rows = [
        [
            pool.pool,
            *map(str, (pool.size, pool.allocated, pool.stopping, pool.reserved, pool.rogue, pool.free, pool.waiting)),
            _why(pool.pause) if pool.pause else "",
        ]
        for pool in pools
    ]
    return Table(headers=headers, rows=rows)


def pool_sentence(pool: PoolUse) -> str:
    """Return a sentence about the pause of a pool and the use of its instances."""
    if pool.pause is None:
        state = "is open"
    else:
        state = f"{'is paused with everything' if pool.pause.everything else 'is paused'} {_why(pool.pause)}"
    stopping = f", {pool.stopping} of them stopping" if pool.stopping else ""
    use = f"{pool.allocated} of {pool.size} instances in use{stopping}; waiting jobs: {pool.waiting}"
    over = f"\nNothing is stopped, and nothing starts until {-pool.free} of them are free." if pool.free < 0 else ""
    return strip_control_characters(f"{pool.pool} {state}; {use}.") + over


def _why(pause: Pause) -> str:
    return f"since {values.time(pause.since)} by {pause.by}: {pause.reason}"
