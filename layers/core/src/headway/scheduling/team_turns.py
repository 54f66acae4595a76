"""Which team is next: the one that uses least over its weight now, or, where past use counts, used least lately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from headway.model import Demand, Snapshot
from headway.past_use.averages import PastUse
from headway.scheduling.fair_share import largest_part
from headway.vectors import minus, positive

_BARELY_KNOWN = 0.999
"""A team of whose past more than this is unknown says nothing about the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lately:
    """What a team used lately beside the others.

    Attributes:
        used: the part that it used of what all teams used, 0 to 1.
        weight: its weight as a part of the weights of all teams, 0 to 1.
        unknown: the part of its past of which nothing is known, 0 to 1.
    """

    used: float
    weight: float
    unknown: float


class TeamTurns:
    """The shares that teams are compared by.

    Where past use counts (decision 117), the share of a team is its average use, in which what runs grows as it runs.
    What a team holds plays no part beside that: it falls while the team drains, and the turn of a job that instances
    are kept for must not fall to others meanwhile. What this decision gives counts as if it had been held for a
    half-life, so that one decision does not give all to one team. The part of the past of which nothing is known counts
    as what is usual, so that a newcomer neither owes anything nor is owed.

    Args:
        snapshot: pools, policy, past use.
        held: what a team holds, or is promised to its jobs, when the decision begins.
    """

    def __init__(self, snapshot: Snapshot, held: Callable[[str], Demand] = lambda _: {}) -> None:
        self._policy = snapshot.policy
        self._past = snapshot.past_use if snapshot.policy.fair_share is not None else {}
        self._sizes: Mapping[str, float] = snapshot.pools
        #: A pool that became smaller may have been used more than there is now.
        used = _total_average(self._past.values())
        self._had = {pool: max(size, used.get(pool, 0.0)) for pool, size in snapshot.pools.items()}
        self._began_with = {team: dict(held(team)) for team in self._past}

    def share(self, team: str, held: Demand) -> float:
        """The share of a team; the team with the lowest one is next.

        Args:
            held: instances per pool that it holds now, or that are promised to its jobs.
        """
        weight = self._policy.team(team).weight
        if self._policy.fair_share is None:
            return self._part(held, self._sizes) / weight
        past = self._past.get(team) or PastUse(since_ms=0, unknown=1.0)
        given = positive(minus(held, self._began_with.get(team, {})))
        mine = self._part(past.average, self._had) + self._part(given, self._sizes) / 2
        return mine / weight + past.unknown * self._usual_share

    def lately(self, team: str) -> Lately | None:
        """What a team used lately; None where past use does not count, or of a team of which nothing is known."""
        parts = {name: self._used(name) for name in self._past}
        everything = sum(parts.values())
        if team not in parts or not everything:
            return None
        weights = {name: self._policy.team(name).weight for name in self._compared}
        if team not in weights:
            return None
        return Lately(
            used=parts[team] / everything,
            weight=weights[team] / sum(weights.values()),
            unknown=self._past[team].unknown,
        )

    def _part(self, use: Mapping[str, float], sizes: Mapping[str, float]) -> float:
        """The part of the pools that a use is: the largest of any pool, or what it is charged of what all are."""
        rules = self._policy.fair_share
        if rules is None or not rules.charges:
            return largest_part(use, sizes)
        everything = sum(each * sizes.get(pool, 0.0) for pool, each in rules.charges.items())
        charged = sum(each * use.get(pool, 0.0) for pool, each in rules.charges.items())
        return charged / everything if everything else 0.0

    def _used(self, team: str) -> float:
        return self._part(self._past[team].average, self._had)

    @cached_property
    def _compared(self) -> list[str]:
        """The teams of the configuration, and jobs without a team if there were any."""
        return [team for team in self._past if team in self._policy.teams or self._used(team)]

    @cached_property
    def _usual_share(self) -> float:
        """What teams used over their weights, each in the time in which it was known."""
        known = [team for team in self._compared if self._past[team].unknown < _BARELY_KNOWN]
        used = sum(self._used(team) / (1 - self._past[team].unknown) for team in known)
        return used / sum(self._policy.team(team).weight for team in known) if known else 0.0


def _total_average(past: Iterable[PastUse]) -> dict[str, float]:
    """What all teams used on average."""
    found: dict[str, float] = {}
    for each in past:
        for pool, value in each.average.items():
            found[pool] = found.get(pool, 0.0) + value
    return found
