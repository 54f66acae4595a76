"""How many members of an array should be in the queue or run, and which are made next.

A decision starts no more jobs in a pool than fit into it. So it decides as if all members waited, if as many as fit,
and those that may get a reserved start, are in the queue; the others are no jobs yet, and cost nothing. Ticks and
forecasts make members by this rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping


def largest_sizes(sizes: Mapping[str, int], later: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The largest size of each pool that is known: now, or later.

    Args:
        sizes: the size of each pool now.
        later: pools with sizes that they get later, in any order.
    """
    largest = dict(sizes)
    for pool, size in later:
        largest[pool] = max(largest.get(pool, 0), size)
    return largest


def wanted_members(
    demands: Iterable[Mapping[str, int]],
    sizes: Mapping[str, int],
    *,
    at_once: int | None,
    reserved_heads: int,
) -> int:
    """How many members of an array should be in the queue or run.

    Args:
        demands: what one member can run on, in instances per pool; it runs on one of these.
        sizes: the largest size of each pool.
        at_once: how many may be in the queue or run at once; None for any number.
        reserved_heads: how many blocked jobs of a queue get a reserved start.
    """
    wanted = sum(_fitting(each, sizes) for each in demands) + max(1, reserved_heads)
    return wanted if at_once is None else min(wanted, at_once)


def members_in_turn(next_index: int, count: int, early: Collection[int]) -> Iterator[int]:
    """The members that are no jobs yet, in the order in which they are made.

    Args:
        next_index: the members before this one have been made.
        count: how many members there are.
        early: members after that, which have been made before their turn.
    """
    return (index for index in range(next_index, count) if index not in early)


def _fitting(demand: Mapping[str, int], sizes: Mapping[str, int]) -> int:
    """How many jobs with a demand fit into the pools at once."""
    return min(sizes.get(pool, 0) // count for pool, count in demand.items())
