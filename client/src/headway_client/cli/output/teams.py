"""Format teams and their use of the pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headway_client.cli.output import values
from headway_client.cli.output.table import NONE, Table
from headway_client.models import TeamUse


def team_rows(teams: Iterable[TeamUse], *, wide: bool = False) -> Table:
    """Return a table with a row for each team and each pool that concerns it.

    Args:
        wide: also show their limits.
    """
    shown = list(teams)
    remembers = any(team.used_lately is not None for team in shown)
    headers = [
        "Team",
        "Weight",
        *(["Lately"] if remembers else []),
        "Pool",
        "Guaranteed",
        "Used",
        "Borrowed",
        "Waiting",
    ]
    if wide:
        headers.append("Limit")
    return Table(headers=headers, rows=[row for team in shown for row in _rows(team, remembers=remembers, wide=wide)])


def _rows(team: TeamUse, *, remembers: bool, wide: bool) -> Iterator[list[str]]:
    lately = [NONE if team.used_lately is None else f"{team.used_lately:.0%}"] if remembers else []
    pools = sorted({*team.guaranteed, *team.limit, *team.used, *team.waiting}) or [NONE]
    for pool in pools:
        counts = (counted.get(pool, 0) for counted in (team.guaranteed, team.used, team.borrowed, team.waiting))
        row = [team.team or NONE, f"{team.weight:g}", *lately, pool, *map(str, counts)]
        yield [*row, values.optional(team.limit.get(pool))] if wide else row
