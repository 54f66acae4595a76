"""The jobs whose team a configuration removes."""

from __future__ import annotations

from collections.abc import Iterable

from headway.api_documents.effects import EffectCode
from headway_service.config.document import Configuration
from headway_service.effects.effect import Effect, effect_on


def leaving_teams(before: Configuration, after: Configuration, jobs: Iterable[tuple[str, str]]) -> list[Effect]:
    """The jobs, waiting or running, whose team is removed.

    Args:
        jobs: the name and the team of each.
    """
    gone = before.teams.keys() - after.teams.keys()
    found = [(name, team) for name, team in jobs if team in gone]
    teams = ", ".join(sorted({team for _, team in found}))
    what = f"would lose the guarantee, the weight and the limit of a team that is removed ({teams})"
    return effect_on(EffectCode.LOSES_TEAM, (name for name, _ in found), "job", what)
