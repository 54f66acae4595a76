"""Which team a caller's job is charged to, and whether the caller may choose it: ``docs/reference/access.md``."""

from __future__ import annotations

from collections.abc import Iterator

from headway_service.admission.checks.draft import Draft
from headway_service.config.authorization import Caller, matches
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.errors import FieldError

_MAX_NAMED_ROLES = 10


def default_team(caller: Caller | None, configuration: Configuration) -> str:
    """The team of a caller's jobs that name none; empty if that is open, as several list the caller.

    Args:
        configuration: the configuration in effect.
    """
    mine = configuration.access_rules().teams_of(caller) if caller else []
    if len(mine) > 1:
        return ""
    return mine[0] if mine else DEFAULT_TEAM


def named_errors(draft: Draft) -> Iterator[FieldError]:
    """What is wrong with how a request names its team."""
    configuration, caller, named = draft.configuration, draft.caller, draft.request.named_teams
    if not configuration.teams:
        return
    # Which teams accept a caller's jobs is computed only for the message, as it tries all callers of all teams.
    for i, value in named:
        if value not in configuration.teams:
            known = _possible(caller, configuration)
            use = f": use one of {', '.join(known)}" if known else ""
            yield FieldError(field=f"Tags[{i}].Value", message=f"is {value!r:.80}, which is no team{use}")
    if len({value for _, value in named}) > 1:
        yield FieldError(field="Tags", message="names two different teams: keep one of 'team', 'headway:team'")
    if not named and draft.home not in configuration.teams and (known := _possible(caller, configuration)):
        mine = configuration.access_rules().teams_of(caller) if caller else []
        belongs = ", and you belong to several" if mine else ""
        message = f"names no team{belongs}: add the tag 'team' with one of {', '.join(mine or known)}"
        yield FieldError(field="Tags", message=message)


def access_errors(draft: Draft) -> Iterator[FieldError]:
    """What of a request without other errors the caller may not do."""
    configuration, caller, team, role = draft.configuration, draft.caller, draft.team, draft.request.role
    if caller is None:
        return
    access, named = configuration.access_rules(), draft.request.named_teams
    field = f"Tags[{named[0][0]}].Value" if named else "Tags"
    if configuration.teams and not _possible(caller, configuration):
        none = "names a team, but none" if named else "names no team, and none"
        message = f"{none} takes your jobs: ask an administrator of the queue to make you a member ({caller.name})"
        yield FieldError(field=field, message=message)
    elif not access.may_submit(caller, team):
        message = (
            f"{caller.name} is not a member of team {team}: use one of "
            f"{', '.join(_possible(caller, configuration))}, or ask a lead of {team} or an administrator of the queue"
        )
        yield FieldError(field=field, message=message)
    roles = access.roles_for(caller, team)
    if roles is not None and not matches(role, roles):
        of_team = f" of the team {team}" if team else ""
        use = f": use one of {', '.join(roles[:_MAX_NAMED_ROLES])}" if roles else ""
        message = f"is {role!r:.120}, which your jobs{of_team} may not run with{use}"
        yield FieldError(field="RoleArn", message=f"{message}; an administrator of the queue can allow it")


def _possible(caller: Caller | None, configuration: Configuration) -> list[str]:
    """The teams that take a caller's jobs."""
    access = configuration.access_rules()
    return [team for team in sorted(configuration.teams) if caller is None or access.may_submit(caller, team)]
