"""Which team a caller's job is charged to, and whether the caller may choose it: ``docs/reference/access.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headway_service.config.authorization import Caller, matches
from headway_service.config.document import DEFAULT_TEAM, Configuration
from headway_service.errors import FieldError

_MAX_NAMED_ROLES = 10

Named = Sequence[tuple[int, str]]
"""The teams that a request's tags name, each with its place among the tags."""


def default_team(caller: Caller | None, configuration: Configuration) -> str:
    """The team of a caller's jobs that name none; empty if that is open, as several list the caller.

    Args:
        caller: the caller.
        configuration: the configuration in effect.
    """
    mine = configuration.access_rules().teams_of(caller) if caller else []
    if len(mine) > 1:
        return ""
    return mine[0] if mine else DEFAULT_TEAM


def team_errors(named: Named, caller: Caller | None, home: str, configuration: Configuration) -> Iterator[FieldError]:
    """The errors in how a request names its team.

    Args:
        named: the teams that it names.
        caller: the caller; None for an unrestricted check.
        home: see :func:`default_team`.
        configuration: the rules in force.
    """
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
    if not named and home not in configuration.teams and (known := _possible(caller, configuration)):
        mine = configuration.access_rules().teams_of(caller) if caller else []
        belongs = ", and you belong to several" if mine else ""
        message = f"names no team{belongs}: add the tag 'team' with one of {', '.join(mine or known)}"
        yield FieldError(field="Tags", message=message)


def access_errors(
    role: str, named: Named, team: str, caller: Caller, configuration: Configuration
) -> Iterator[FieldError]:
    """The parts of a valid request that the caller is not allowed.

    Args:
        role: ARN of the role that the request names.
        named: the teams that it names.
        team: the team that is charged.
        caller: the caller.
        configuration: the rules in force.
    """
    access = configuration.access_rules()
    field = f"Tags[{named[0][0]}].Value" if named else "Tags"
    if configuration.teams and not _possible(caller, configuration):
        message = "names a team, but none takes your jobs: ask an administrator of the queue to make you a member"
        yield FieldError(field=field, message=f"{message} ({caller.name})")
    elif not access.may_submit(caller, team):
        message = (
            f"means the team {team}, which takes the jobs of its members only: ask a lead of it or an administrator of "
            f"the queue to make you one ({caller.name}), or use one of {', '.join(_possible(caller, configuration))}"
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
