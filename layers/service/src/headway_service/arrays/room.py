"""How many members of an array should be in the queue or run. Pure.

A decision starts no more jobs in a pool than fit into it. So it decides as if all members waited, if as many as fit,
and those that may get a reserved start, are in the queue; the others are no jobs yet, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.pool_names import on_demand_pool
from headway_service.store.ledger import Ledger
from headway_service.store.records.job import JobRecord

MAX_UNLAUNCHABLE_MEMBERS = 50
"""Members that SageMaker does not launch in whose places an array makes others: one that is denied as a whole must not
become as many jobs as it has members. If SageMaker launches them after all, so many more than ``atOnce`` may run."""


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


def wanted_members(array: JobRecord, sizes: Mapping[str, int], reserved_heads: int, unlaunchable: int = 0) -> int:
    """How many members of an array should be in the queue or run.

    Args:
        array: the array.
        sizes: the largest size of each pool.
        reserved_heads: how many blocked jobs of a queue get a reserved start.
        unlaunchable: how many of those that are there fill no place.
    """
    demands = [each.demand for each in array.choices] if array.choices else [array.demand]
    if array.on_demand_limit_ms is not None:
        # Those that leave spot instances run elsewhere, while others may start in their place.
        demands += [{on_demand_pool(pool): count for pool, count in each.items()} for each in demands]
    fitting = sum(_fitting(each, sizes, one_of=array.one_of) for each in demands)
    wanted = fitting + max(1, reserved_heads)
    at_once = array.array.at_once if array.array is not None else None
    return (wanted if at_once is None else min(wanted, at_once)) + unlaunchable


def unlaunchable_members(array: JobRecord, ledger: Ledger, now_ms: int) -> int:
    """How many members of an array are in the queue, or tried again, and unlaunchable: others are made in their places.

    Args:
        array: the array.
        ledger: the ledger.
        now_ms: the training time, ms.
    """
    members = array.members
    if not ledger.unlaunchable or members is None:
        return 0
    has_instances = {each.job_name for each in ledger.attempts if each.is_provisioned}
    places = {*members.live} - {*members.set_aside}
    found = sum(
        each.array == array.job_name
        and each.from_ms <= now_ms
        and each.index in places
        and each.job_name not in has_instances
        for each in ledger.unlaunchable
    )
    return min(found, MAX_UNLAUNCHABLE_MEMBERS)


def _fitting(demand: Mapping[str, int], sizes: Mapping[str, int], *, one_of: bool) -> int:
    """How many jobs with a demand fit into the pools at once."""
    fitting = [sizes.get(pool, 0) // count for pool, count in demand.items()]
    return sum(fitting) if one_of else min(fitting)
