"""Which team is next: the one that uses least over its weight, now and, where past use counts, lately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from headway.model import Demand, Snapshot
from headway.past_use.averages import PastUse
from headway.scheduling.fair_share import largest_part

_BARELY_KNOWN = 0.999
"""A team of whose average more than this is unknown says nothing about the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lately:
    """What a team used lately beside the others.

    Attributes:
        used: the part that it used of what all teams used, 0 to 1.
        weight: its weight as a part of the weights of all teams, 0 to 1.
        unknown: the part of the time in which it was not known yet, 0 to 1.
    """

    used: float
    weight: float
    unknown: float


class TeamTurns:
    """The shares that teams are compared by.

    Where past use counts (decision 117), the share of a team is what it will have used on average one half-life from
    now if it goes on holding what it holds: half of it is past use, and half is what it holds. So a decision that gives
    a team instances sees its share rise at once. The part of the past in which the team was not known counts as the
    average of all teams, so that a newcomer neither owes anything nor is owed.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._policy = snapshot.policy
        self._pools = snapshot.pools
        self._now_ms = snapshot.now_ms
        self._past = snapshot.past_use

    def share(self, team: str, held: Demand) -> float:
        """The share of a team; the team with the lowest one is next.

        Args:
            held: instances per pool that it holds, or that are promised to its jobs.
        """
        weight = self._policy.team(team).weight
        if self._policy.fair_share is None:
            return self.part(held) / weight
        past = self._past.get(team) or PastUse(since_ms=self._now_ms)
        goes_on = {pool: held.get(pool, 0) / 2 + past.average.get(pool, 0.0) / 2 for pool in {*held, *past.average}}
        return self.part(goes_on) / weight + self._unknown(past) / 2 * self._usual_share

    def lately(self, team: str) -> Lately | None:
        """What a team used lately; None where past use does not count, or nobody used anything."""
        parts = {name: self.part(past.average) for name, past in self._past.items()}
        everything = sum(parts.values())
        if self._policy.fair_share is None or team not in parts or not everything:
            return None
        # Jobs without a team take part if there are any.
        others = {name for name, part in parts.items() if name or part}
        weights = {name: self._policy.team(name).weight for name in {*others, team}}
        return Lately(
            used=parts[team] / everything,
            weight=weights[team] / sum(weights.values()),
            unknown=self._unknown(self._past[team]),
        )

    def part(self, use: Mapping[str, float]) -> float:
        """The part of all pools that a use is: the largest of any pool, or what it is charged of what all are."""
        rules = self._policy.fair_share
        if rules is None or not rules.charges:
            return largest_part(use, self._pools)
        everything = sum(each * self._pools.get(pool, 0) for pool, each in rules.charges.items())
        charged = sum(each * use.get(pool, 0) for pool, each in rules.charges.items())
        return charged / everything if everything else 0.0

    @cached_property
    def _usual_share(self) -> float:
        """What teams used on average over their weight, each in the time in which it was known."""
        shares = [
            self.part(past.average) / self._policy.team(team).weight / (1 - self._unknown(past))
            for team, past in self._past.items()
            if self._unknown(past) < _BARELY_KNOWN
        ]
        return sum(shares) / len(shares) if shares else 0.0

    def _unknown(self, past: PastUse) -> float:
        rules = self._policy.fair_share
        return 0.0 if rules is None else past.unknown(self._now_ms, rules.half_life_ms)
