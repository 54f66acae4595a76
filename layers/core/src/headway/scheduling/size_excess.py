"""The attempts that are stopped as their pool has become smaller than its use."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model import Allocation, Snapshot
from headway.scheduling.ordering import victim_order


def excess(snapshot: Snapshot) -> Iterator[tuple[str, Allocation]]:
    """The attempts to stop and the warm pools to release, each with the pool of instances that it is for.

    They are chosen in the order of preemption, as few as suffice; where only some jobs may run into a change, these are
    chosen first. That a job is marked as not preemptible, or was preempted often, does not matter: the instances go in
    any case. Rogue jobs and jobs that end as soon as a stop would end them are not stopped.
    """
    stopped: set[str] = set()
    for pool, calendar in sorted(snapshot.calendars.items()):
        if not calendar.stops:
            continue
        live = [each for each in snapshot.allocations if pool in each.demand and not each.stopping]
        stays = [each for each in live if each.attempt not in stopped and not each.ends_as_soon(snapshot.now_ms)]
        over = sum(each.demand[pool] for each in stays) - snapshot.pools.get(pool, 0)
        chosen: list[Allocation] = []
        order = sorted(
            (
                calendar.limits(stops_for_size=each.terms.stops_for_size),
                victim_order(each, snapshot.now_ms, snapshot.policy),
                each,
            )
            for each in stays
        )
        for _, _, each in order:
            if over <= 0:
                break
            if not each.outside:
                chosen.append(each)
                over -= each.demand[pool]
        for each in reversed(chosen[:-1]):
            if over + each.demand[pool] <= 0:
                chosen.remove(each)
                over += each.demand[pool]
        for each in chosen:
            stopped.add(each.attempt)
            yield pool, each
