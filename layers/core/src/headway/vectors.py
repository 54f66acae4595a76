"""Arithmetic on demands: vectors of instances per pool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.model import Demand, Snapshot


def plus(left: Demand, right: Demand) -> dict[str, int]:
    """The sum of two vectors.

    Args:
        left: a vector.
        right: a vector.
    """
    result = dict(left)
    for pool, count in right.items():
        result[pool] = result.get(pool, 0) + count
    return result


def minus(left: Demand, right: Demand) -> dict[str, int]:
    """The difference; may be negative.

    Args:
        left: a vector.
        right: a vector.
    """
    result = dict(left)
    for pool, count in right.items():
        result[pool] = result.get(pool, 0) - count
    return result


def total(demands: Iterable[Demand]) -> dict[str, int]:
    """The sum of many vectors."""
    result: dict[str, int] = {}
    for demand in demands:
        for pool, count in demand.items():
            result[pool] = result.get(pool, 0) + count
    return result


def shortfall(need: Demand, available: Demand) -> dict[str, int]:
    """What ``need`` lacks in ``available``: only the pools that lack something, all positive.

    Args:
        need: the needed instances.
        available: the available instances.
    """
    return positive({pool: count - available.get(pool, 0) for pool, count in need.items()})


def positive(demand: Demand) -> dict[str, int]:
    """Only the pools with a positive count."""
    return {pool: count for pool, count in sorted(demand.items()) if count > 0}


def overlap(left: Demand, right: Demand) -> dict[str, int]:
    """What two vectors have in common: only positive counts.

    Args:
        left: a vector.
        right: a vector.
    """
    return positive({pool: min(count, right.get(pool, 0)) for pool, count in left.items()})


def free(snapshot: Snapshot) -> dict[str, int]:
    """Instances neither held nor reserved; negative where a pool was shrunk below its use."""
    used = total(allocation.demand for allocation in snapshot.allocations)
    reserved = total(reservation.demand for reservation in snapshot.reservations)
    return {pool: size - used.get(pool, 0) - reserved.get(pool, 0) for pool, size in sorted(snapshot.pools.items())}


def describe(demand: Mapping[str, int]) -> str:
    """A demand in words, e.g. ``2 ml.p5.48xlarge and 1 ml.c5.4xlarge``."""
    return " and ".join(f"{count} {pool}" for pool, count in sorted(demand.items()))
