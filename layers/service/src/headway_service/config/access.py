"""The notation of permissions in the configuration document."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, Strict, StringConstraints, model_validator

from headway_service.config import authorization
from headway_service.config.authorization import Details
from headway_service.config.base import ConfigModel, Name

MAX_PEOPLE = 50
"""Patterns of one list of callers."""

MAX_GRANTS = 20
"""Entries of ``access.trainingRoles``."""

MAX_GRANTED = 20
"""Roles, and teams, of one entry of ``access.trainingRoles``."""

MAX_NAME_CHARS = 256
"""The longest pattern of a caller: more than a role's and a session's name together (64 each, IAM API reference)."""

MAX_ROLE_CHARS = 256
"""The longest pattern of a training role: longer than RoleArn may be without a path (API reference of SageMaker)."""

# The whole name, or a pattern that fixes the kind of principal: with `*/ada`, any caller could name a session `ada`.
_NAME = re.compile(r"(\d{12}:)?(user|assumed-role|federated-user)/.|\*\Z")
_ROLE = re.compile(r"arn:|\*\Z")


def _a_name(pattern: str) -> str:
    if not _NAME.match(pattern):
        raise ValueError(
            f"{pattern!r:.80} is not a pattern of callers: write the part of the ARN after the account, such as "
            "user/ada, assumed-role/Research/* or, of another account, 210987654321:user/ada; * alone matches every "
            "caller"
        )
    return pattern


def _a_role(pattern: str) -> str:
    if not _ROLE.match(pattern):
        raise ValueError(f"{pattern!r:.80} is no pattern of a role's ARN, such as arn:aws:iam::*:role/Training-*")
    return pattern


_Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_CHARS), AfterValidator(_a_name)]
_Role = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ROLE_CHARS), AfterValidator(_a_role)]

Callers = Annotated[list[_Name], Field(max_length=MAX_PEOPLE)]
"""Patterns of callers' names."""


class TrainingRoles(ConfigModel):
    """Roles, and the callers and teams whose jobs may run with them."""

    roles: list[_Role] = Field(min_length=1, max_length=MAX_GRANTED)
    callers: Callers = Field(default_factory=list)
    teams: list[Name] = Field(default_factory=list, max_length=MAX_GRANTED)

    @model_validator(mode="after")
    def _granted_to_somebody(self) -> TrainingRoles:
        if not (self.callers or self.teams):
            raise ValueError("is granted to no one: name callers or teams")
        return self

    def grant(self) -> authorization.TrainingRoles:
        """It as it is decided on."""
        return authorization.TrainingRoles(roles=self.roles, callers=self.callers, teams=self.teams)


class Access(ConfigModel):
    """Permissions, e.g. ``{"admins": ["user/ada"], "details": "team"}``."""

    #: They may change every job, and submit for every team.
    admins: Callers = Field(default_factory=list)
    #: The other callers that see the hyperparameters and the environment of a job.
    details: Annotated[Details, Strict(strict=False)] = Details.EVERYONE
    #: If there is any, a job may only run with a role that is granted here.
    training_roles: list[TrainingRoles] = Field(default_factory=list, max_length=MAX_GRANTS)
