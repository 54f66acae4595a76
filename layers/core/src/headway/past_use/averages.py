"""The average use of each team, from the spans in which its attempts have held instances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from headway.past_use.fading import faded, part_of_average


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Instances that a team has held for a time.

    Attributes:
        team: the team; empty without one.
        demand: instances per pool.
        begin_ms: since when.
        end_ms: until when.
    """

    team: str
    demand: Mapping[str, int]
    begin_ms: int
    end_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PastUse:
    """What a team used on average until a moment.

    Attributes:
        average: instances per pool, averaged over all time, of which the past fades.
        since_ms: since when the team is known. Of the time before nothing is known.
    """

    average: Mapping[str, float] = field(default_factory=dict)
    since_ms: int

    def unknown(self, now_ms: int, half_life_ms: int) -> float:
        """The part of the average that is of the time before the team was known, 0 to 1."""
        return faded(now_ms - self.since_ms, half_life_ms)


def later(
    past: Mapping[str, PastUse], at_ms: int, now_ms: int, spans: Iterable[Span], half_life_ms: int
) -> dict[str, PastUse]:
    """The averages at a later moment, with further spans. A team that has none yet is known from now on.

    What a team held before it was known is a part of what is unknown of it, and does not count.

    Args:
        past: by team, at ``at_ms``.
        at_ms: the moment that they are of.
        now_ms: the later moment, ms.
        spans: what was held and is not in them. A span may begin and end before ``at_ms``.
        half_life_ms: the time in which use fades to a half, ms.
    """
    fades = faded(now_ms - at_ms, half_life_ms)
    averages = {team: {pool: value * fades for pool, value in each.average.items()} for team, each in past.items()}
    since_ms = {team: each.since_ms for team, each in past.items()}
    for span in spans:
        mine, begin_ms = averages.setdefault(span.team, {}), since_ms.setdefault(span.team, now_ms)
        part = part_of_average(max(begin_ms, span.begin_ms), span.end_ms, now_ms, half_life_ms)
        for pool, count in span.demand.items():
            mine[pool] = mine.get(pool, 0.0) + count * part
    return {team: PastUse(average=average, since_ms=since_ms[team]) for team, average in averages.items()}


def known(past: Mapping[str, PastUse], teams: Collection[str], now_ms: int) -> dict[str, PastUse]:
    """The averages of these teams: a new one is known from now on, and one that is not here any more is forgotten.

    Args:
        teams: the teams of the configuration, and the empty name.
    """
    return {team: past.get(team) or PastUse(since_ms=now_ms) for team in teams}
