"""What teams use, may use and are entitled to.

A team's limit on a pool is treated as one more pool, which only jobs of that team demand. So all that holds for
pools (all or nothing, reserved starts, victims) holds for limits, and a team at its limit holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.model import Allocation, Demand, Snapshot
from headway.policy import Policy

_MARK = "@"


def charge(demand: Demand, team: str, policy: Policy) -> Demand:
    """A demand together with what it takes of its team's limits."""
    limit = policy.team(team).limit
    if not limit:
        return demand
    return {**demand, **{f"{pool}{_MARK}{team}": count for pool, count in demand.items() if pool in limit}}


def sizes(snapshot: Snapshot) -> dict[str, int]:
    """Sizes of all pools, and of the limits of all teams as pools of their own."""
    result = dict(snapshot.pools)
    for name, team in snapshot.policy.teams.items():
        result |= {f"{pool}{_MARK}{name}": count for pool, count in team.limit.items()}
    return result


def is_limit(pool: str) -> bool:
    """Whether this is a team's limit rather than a pool."""
    return _MARK in pool


def limited_pool(limit: str) -> tuple[str, str]:
    """The pool and the team of a limit."""
    pool, _, team = limit.partition(_MARK)
    return pool, team


class TeamUse(dict[str, dict[str, int]]):
    """Instances per pool that each team holds.

    Attributes:
        changed: teams whose use has changed since somebody emptied this.
    """

    def __init__(self, holdings: Iterable[tuple[str, Demand]] = ()) -> None:
        super().__init__()
        self.changed: set[str] = set()
        for team, demand in holdings:
            self.add(team, demand)

    def add(self, team: str, demand: Demand, times: int = 1) -> None:
        """A team takes something, or gives it back (-1 times)."""
        mine = self.setdefault(team, {})
        for pool, count in demand.items():
            mine[pool] = mine.get(pool, 0) + times * count
        self.changed.add(team)


def weighted_dominant_use(use: Demand, pools: Mapping[str, int], weight: float) -> float:
    """The largest part of a pool that a team uses, divided by its weight (dominant resource fairness, NSDI'11)."""
    return max((count / pools[pool] for pool, count in use.items() if pools.get(pool)), default=0.0) / weight


def within_guarantee(use: Demand, takes: Demand, guaranteed: Demand) -> bool:
    """Whether a team that uses ``use`` borrows nothing of these pools once it has taken ``takes`` (which may be 0)."""
    return all(use.get(pool, 0) + count <= guaranteed.get(pool, 0) for pool, count in takes.items())


def gives_borrowed(use: Demand, victim: Allocation, guaranteed: Demand) -> bool:
    """Whether stopping this attempt leaves its team with all of its guarantee that it uses."""
    return all(
        use.get(pool, 0) - victim.demand[pool] >= count for pool, count in guaranteed.items() if pool in victim.demand
    )
