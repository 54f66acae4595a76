"""The average use of each team, from the spans in which its attempts have held instances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

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
        since_ms: since when what the team holds counts.
        unknown: the part of the average of which nothing is known, 0 to 1: that of the time before.
    """

    average: Mapping[str, float] = field(default_factory=dict)
    since_ms: int
    unknown: float = 0.0


def later(
    past: Mapping[str, PastUse], at_ms: int, now_ms: int, spans: Iterable[Span], half_life_ms: int
) -> dict[str, PastUse]:
    """The averages at a later moment, with further spans of the same teams.

    What a team held before it counts is a part of what is unknown of it.

    Args:
        past: by team, at ``at_ms``.
        at_ms: the moment that they are of.
        now_ms: the later moment, ms.
        spans: what was held and is not in them. A span may begin and end before ``at_ms``.
        half_life_ms: the time in which use fades to a half, ms.
    """
    fades = faded(now_ms - at_ms, half_life_ms)
    averages = {team: {pool: value * fades for pool, value in each.average.items()} for team, each in past.items()}
    for span in spans:
        if span.team in past:
            begin_ms = max(past[span.team].since_ms, span.begin_ms)
            part, mine = part_of_average(begin_ms, span.end_ms, now_ms, half_life_ms), averages[span.team]
            for pool, count in span.demand.items():
                mine[pool] = mine.get(pool, 0.0) + count * part
    return {
        team: PastUse(average=averages[team], since_ms=each.since_ms, unknown=each.unknown * fades)
        for team, each in past.items()
    }


def known(past: Mapping[str, PastUse], teams: Collection[str], now_ms: int) -> dict[str, PastUse]:
    """The averages of these teams: a new one counts from now on, and one that is not here any more is forgotten.

    Args:
        teams: the teams of the configuration, and the empty name.
    """
    return {team: past.get(team) or PastUse(since_ms=now_ms, unknown=1.0) for team in teams}


def counted_until(past: Mapping[str, PastUse], now_ms: int) -> dict[str, PastUse]:
    """The same averages, for spans that are in them up to a moment, ms: only what comes after it counts then.

    So what fades afterwards in another time has faded until then in its own.
    """
    return {team: replace(each, since_ms=max(each.since_ms, now_ms)) for team, each in past.items()}
