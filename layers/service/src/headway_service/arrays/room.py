"""How many members of an array should be in the queue or run. Pure.

A decision starts no more jobs in a pool than fit into it. So it decides as if all members waited, if as many as fit,
and those that may get a reserved start, are in the queue; the others are no jobs yet, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.pool_names import on_demand_pool
from headway_service.store.ledger import Ledger
from headway_service.store.records.job import JobRecord


def largest_sizes(ledger: Ledger) -> dict[str, int]:
    """The largest size of each pool that is known: now, or by its calendar.

    Args:
        ledger: the ledger.
    """
    sizes = {pool.pool: pool.size for pool in ledger.pools}
    for calendar in ledger.calendars:
        later = [size for _, size in calendar.sizes]
        sizes[calendar.pool] = max([sizes.get(calendar.pool, 0), *later])
    return sizes


def wanted_members(array: JobRecord, sizes: Mapping[str, int], reserved_heads: int) -> int:
    """How many members of an array should be in the queue or run.

    Args:
        array: the array.
        sizes: the largest size of each pool.
        reserved_heads: how many blocked jobs of a queue get a reserved start.
    """
    demands = [each.demand for each in array.choices] if array.choices else [array.demand]
    if array.on_demand_limit_ms is not None:
        # Those that leave spot instances run elsewhere, while others may start in their place.
        demands += [{on_demand_pool(pool): count for pool, count in each.items()} for each in demands]
    fitting = sum(_fitting(each, sizes, one_of=array.one_of) for each in demands)
    wanted = fitting + max(1, reserved_heads)
    at_once = array.array.at_once if array.array is not None else None
    return wanted if at_once is None else min(wanted, at_once)


def _fitting(demand: Mapping[str, int], sizes: Mapping[str, int], *, one_of: bool) -> int:
    """How many jobs with a demand fit into the pools at once."""
    fitting = [sizes.get(pool, 0) // count for pool, count in demand.items()]
    return sum(fitting) if one_of else min(fitting)
