"""How many members of an array should be in the queue or run, by the rule of :mod:`headway.sweeps.room`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from headway.model import Demand
from headway.pool_names import on_demand_pool
from headway.sweeps import room
from headway_service.store.ledger import Ledger
from headway_service.store.records.job import JobRecord

MAX_UNLAUNCHABLE_MEMBERS = 50
"""Members that SageMaker does not launch in whose places an array makes others: one that is denied as a whole must not
become as many jobs as it has members. If SageMaker launches them after all, so many more than ``atOnce`` may run."""


def largest_sizes(ledger: Ledger) -> dict[str, int]:
    """The largest size of each pool that is known: now, or by its calendar."""
    sizes = {pool.pool: pool.size for pool in ledger.pools}
    later = ((calendar.pool, size) for calendar in ledger.calendars for _, size in calendar.sizes)
    return room.largest_sizes(sizes, later)


def wanted_members(array: JobRecord, sizes: Mapping[str, int], reserved_heads: int, unlaunchable: int = 0) -> int:
    """How many members of an array should be in the queue or run.

    Args:
        sizes: the largest size of each pool.
        reserved_heads: how many blocked jobs of a queue get a reserved start.
        unlaunchable: how many of those that are there fill no place.
    """
    wanted = room.wanted_members(
        member_demands(array),
        sizes,
        at_once=array.array.at_once if array.array is not None else None,
        reserved_heads=reserved_heads,
    )
    return wanted + unlaunchable


def member_demands(array: JobRecord) -> list[Demand]:
    """What a member of an array can run on, in instances per pool: it runs on one of these."""
    demands: list[Demand] = [each.demand for each in array.choices] if array.choices else [array.demand]
    if array.on_demand_limit_ms is not None:
        # Those that leave spot instances run elsewhere, while others may start in their place.
        demands += [{on_demand_pool(pool): count for pool, count in each.items()} for each in demands]
    return demands


def unlaunchable_members(array: JobRecord, ledger: Ledger, now_ms: int) -> list[int]:
    """The members of an array that are in the queue, or tried again, and unlaunchable: others are made in their places.

    Args:
        now_ms: the training time, ms.
    """
    members = array.members
    if not ledger.unlaunchable or members is None:
        return []
    has_instances = {each.job_name for each in ledger.attempts if each.is_provisioned}
    places = {*members.live} - {*members.set_aside}
    found = [
        each.index
        for each in ledger.unlaunchable
        if each.array == array.job_name
        and each.from_ms <= now_ms
        and each.index in places
        and each.job_name not in has_instances
    ]
    return found[:MAX_UNLAUNCHABLE_MEMBERS]
