"""The permissions that people lose by a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from headway.api_documents.effects import EffectCode
from headway_service.config.authorization import Access, Details, People, matches
from headway_service.effects.effect import Effect, effect_on

_STRICTNESS = [Details.EVERYONE, Details.TEAM, Details.OWNER]


def lost_rights(before: Access, after: Access) -> list[Effect]:
    """The entries of the document that go and that no other entry covers."""
    return effect_on(EffectCode.LOSES_RIGHTS, _lost(before, after), "permission", "would be taken away")


def _lost(before: Access, after: Access) -> Iterator[str]:
    yield from (f"access.admins: {each}" for each in before.admins if not matches(each, after.admins))
    if _STRICTNESS.index(after.details) > _STRICTNESS.index(before.details):
        yield f"access.details: {before.details}"
    if _is_open(before) and not _is_open(after):
        yield "teams: callers who are in no team may no longer submit"
    for team in sorted(before.teams.keys() & after.teams.keys()):
        yield from _lost_in(team, before.teams[team], after.teams[team])
    for team in sorted(before.teams.keys() - after.teams.keys()):
        yield from (f"teams.{team}.leads: {each}" for each in before.teams[team].leads)
        yield from (f"teams.{team}.members: {each}" for each in before.teams[team].members)
    if not before.training_roles and after.training_roles:
        yield "access.trainingRoles: every job with every role"
    for index, grant in enumerate(before.training_roles):
        if after.training_roles and grant not in after.training_roles:
            yield f"access.trainingRoles.{index}: {', '.join(grant.roles)}"


def _lost_in(team: str, before: People, after: People) -> Iterator[str]:
    if not before.listed and after.listed:
        yield f"teams.{team}: every caller's submissions"
    yield from (f"teams.{team}.leads: {each}" for each in before.leads if not matches(each, after.leads))
    # Without a list the team is open to all.
    if after.listed:
        listed = [*after.members, *after.leads]
        yield from (f"teams.{team}.members: {each}" for each in before.members if not matches(each, listed))


def _is_open(access: Access) -> bool:
    """Whether every caller may submit for some team, or for none."""
    return not access.teams or not all(people.listed for people in access.teams.values())
