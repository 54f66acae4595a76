"""What a configuration would do to jobs, people and pools if it were in force."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from headway.api_documents.codec import ApiDocument, Member
from headway.api_documents.refusals import WrongField


class EffectCode(StrEnum):
    """The kinds of effects that somebody should know before a configuration is set."""

    #: Running jobs lose their instances to waiting ones.
    PREEMPTED = "Preempted"
    #: Running jobs are stopped, as their pools become smaller.
    STOPPED = "Stopped"
    #: A watch may stop running jobs.
    WATCHED = "Watched"
    #: Training jobs that did not come through the queue are stopped.
    OUTSIDE_STOPPED = "OutsideStopped"
    #: A pool becomes smaller than its use.
    BELOW_USE = "BelowUse"
    #: Waiting jobs can never start.
    NEVER_STARTS = "NeverStarts"
    #: Waiting jobs end as failed.
    GIVEN_UP = "GivenUp"
    #: Waiting jobs are stopped when they have started, as they break rules.
    BREAKS_RULES = "BreaksRules"
    #: Waiting jobs have a priority that no new request may have.
    ABOVE_MAXIMUM = "AboveMaximum"
    #: The team of jobs is removed.
    LOSES_TEAM = "LosesTeam"
    #: People lose a permission.
    LOSES_RIGHTS = "LosesRights"
    #: A pool has an instance type that is not known.
    UNKNOWN_TYPE = "UnknownType"


@dataclass(frozen=True, kw_only=True)
class ConfigurationEffect(ApiDocument):
    """One effect of a configuration."""

    code: EffectCode
    count: Annotated[int, Member("Of jobs, pools or permissions.")]
    message: Annotated[str, Member("A sentence.")]
    names: Annotated[tuple[str, ...], Member("The first 20 of them.")]


@dataclass(frozen=True, kw_only=True)
class ConfigurationEffects(ApiDocument):
    """What a configuration would do. Nothing was changed."""

    version: Annotated[int, Member("Of the newest configuration, which it was compared with, in force or not yet.")]
    changes: Annotated[tuple[WrongField, ...], Member("Each path that differs, such as `size: 2 → 3`.")]
    effects: Annotated[tuple[ConfigurationEffect, ...], Member("None if nobody has to be asked.")]
    note: Annotated[str, Member("What this rests on, and what was left out.")]
    is_whole: Annotated[bool, Member("Whether nothing was left out.")]
