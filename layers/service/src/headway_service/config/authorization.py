"""Authorization: the rules on callers, teams and roles. Pure; ``docs/reference/access.md`` describes them.

IAM decides which calls a principal may make. This decides which jobs, teams and roles a call may be about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from headway_service.errors import NotAllowed

_ROOT = "root"


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """An IAM principal that calls."""

    arn: str
    #: The account of the queue.
    account: str

    @property
    def name(self) -> str:
        """The caller in the queue's account, as patterns see it; see :func:`name_of`."""
        return name_of(self.arn, self.account)


class Action(StrEnum):
    """An action on a job, in words."""

    STOP = "stop"
    HOLD = "hold"
    RELEASE = "release"
    REPRIORITISE = "reprioritise"
    COMMENT = "comment on"
    CHANGE = "change"


class Details(StrEnum):
    """Callers that see a job's hyperparameters and environment, beside its owner, its team's leads and the admins."""

    EVERYONE = "everyone"
    #: The members of its team.
    TEAM = "team"
    #: No other caller.
    OWNER = "owner"


@dataclass(frozen=True, kw_only=True, slots=True)
class People:
    """Patterns of the names of a team's callers."""

    members: Sequence[str] = ()
    #: They are members too.
    leads: Sequence[str] = ()

    @property
    def listed(self) -> bool:
        """Whether the team lists its callers; a team that does not is open to all."""
        return bool(self.members or self.leads)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRoles:
    """Training roles, and the callers and teams whose jobs may run with them."""

    #: Patterns of ARNs.
    roles: Sequence[str]
    #: Patterns of callers' names.
    callers: Sequence[str] = ()
    #: Teams whose jobs may run with them.
    teams: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """The rules of a configuration."""

    admins: Sequence[str] = ()
    details: Details = Details.EVERYONE
    teams: Mapping[str, People] = field(default_factory=dict)
    #: Empty if every job may run with every role.
    training_roles: Sequence[TrainingRoles] = ()

    def is_admin(self, caller: Caller) -> bool:
        """Whether a caller is an administrator. The root of the queue's own account always is."""
        return caller.name == _ROOT or matches(caller.name, self.admins)

    def leads(self, caller: Caller, team: str) -> bool:
        """Whether a caller is a lead of a team."""
        return team in self.teams and matches(caller.name, self.teams[team].leads)

    def belongs(self, caller: Caller, team: str) -> bool:
        """Whether a team lists a caller, as a member or a lead."""
        return team in self.teams and (
            matches(caller.name, self.teams[team].members) or matches(caller.name, self.teams[team].leads)
        )

    def teams_of(self, caller: Caller) -> list[str]:
        """The teams that list a caller."""
        return [team for team in sorted(self.teams) if self.belongs(caller, team)]

    def may_submit(self, caller: Caller, team: str) -> bool:
        """Whether a team takes jobs from a caller."""
        return not self._people(team).listed or self.belongs(caller, team) or self.is_admin(caller)

    def may_change(self, caller: Caller, owner: str | None, team: str) -> bool:
        """Whether a caller may stop, hold, release, change or reprioritise a job of that owner (ARN) and that team.

        Args:
            owner: the ARN of the job's owner.
            team: the job's team; empty without one.
        """
        return caller.arn == owner or self.leads(caller, team) or self.is_admin(caller)

    def may_see_details(self, caller: Caller, owner: str | None, team: str) -> bool:
        """Whether a caller may see the hyperparameters and the environment of a job.

        Args:
            owner: the ARN of the job's owner.
            team: the job's team; empty without one.
        """
        return (
            self.details is Details.EVERYONE
            or self.may_change(caller, owner, team)
            or (self.details is Details.TEAM and self.belongs(caller, team))
        )

    def roles_for(self, caller: Caller, team: str) -> list[str] | None:
        """Patterns of the roles that a caller's jobs of a team may run with; None for every role.

        Args:
            team: the job's team; empty without one.
        """
        if not self.training_roles:
            return None
        return [
            role
            for grant in self.training_roles
            if team in grant.teams or matches(caller.name, grant.callers)
            for role in grant.roles
        ]

    def require_change(self, caller: Caller, action: Action, job: str, owner: str | None, team: str) -> None:
        """Refuse a caller who may not change a job.

        Args:
            action: the action, for the message.
            job: the name of the job.
            owner: the ARN of the job's owner.
            team: the job's team; empty without one.

        Raises:
            NotAllowed: the message names who may.
        """
        if self.may_change(caller, owner, team):
            return
        lead = f", a lead of the team {team}" if self._people(team).leads else ""
        of_owner = f" ({name_of(owner, caller.account)})" if owner else ""
        raise NotAllowed(
            f"{caller.name} may not {action} `{job}`: only its owner{of_owner}{lead} or an administrator of the queue "
            "may; ask one of them"
        )

    def _people(self, team: str) -> People:
        return self.teams.get(team, _ANYBODY)


_ANYBODY = People()


def known_caller(arn: str, account: str) -> Caller:
    """The caller.

    Args:
        arn: the ARN of the IAM principal, from API Gateway.
        account: of the queue.

    Raises:
        NotAllowed: API Gateway names no caller.
    """
    if not arn:
        raise NotAllowed("the caller is unknown: sign the call with AWS credentials (SigV4), through API Gateway")
    return Caller(arn=arn, account=account)


def name_of(arn: str, account: str) -> str:
    """A principal in words: its ARN without the account, e.g. ``user/ada``.

    A principal of another account has that account in front, ``210987654321:user/ada``, so that it is not confused with
    a namesake in the queue's own account. Paths of users may hold colons (IAM API reference, User), hence the bound.

    Args:
        arn: the principal's ARN.
        account: the account of the queue.
    """
    *_, of_account, name = ["", *arn.split(":", 5)]
    return name if of_account == account else f"{of_account}:{name}"


def matches(text: str, patterns: Sequence[str]) -> bool:
    """Whether a text is like one of some patterns as IAM writes them.

    ``*`` matches any text and ``?`` one character; the rest, brackets too, matches itself.
    """
    return any(fnmatchcase(text, pattern.replace("[", "[[]")) for pattern in patterns)
