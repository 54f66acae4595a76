"""An effect of a configuration, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.api_documents.effects import EffectCode
from headway.jobpolicy.rules import OnStart, Rule
from headway_service.config.document import Configuration
from headway_service.errors import FieldError

MAX_NAMES = 20
"""Names that an effect lists."""

MAX_REQUESTS = 200
"""Running jobs whose requests are read to try changed watches, and waiting jobs to try changed rules."""

WITHIN_MS = 3_600_000
"""Time for which the effects on jobs are computed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """One effect that somebody should know before the configuration is set."""

    code: EffectCode
    #: How many jobs, pools or permissions it concerns, and the first of them.
    count: int
    names: Sequence[str]
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Effects:
    """What a configuration would do."""

    #: Of the newest configuration, which the document is compared with.
    version: int
    changes: Sequence[FieldError]
    effects: Sequence[Effect]
    note: str
    #: Whether all jobs and the whole hour were looked at.
    is_whole: bool = True


def stopping_rules(configuration: Configuration) -> list[Rule]:
    """The rules for which jobs are stopped that break them."""
    return [rule for rule in configuration.job_rules() if rule.on_start is OnStart.STOP]


def effect_on(code: EffectCode, names: Iterable[str], noun: str, what: str) -> list[Effect]:
    """The effect on some things; none if there are none.

    Args:
        names: of the things, in the order of interest.
        noun: for one of them, such as ``running job``.
        what: what becomes of them, the rest of the sentence.
    """
    all_names = list(names)
    if not all_names:
        return []
    things = noun if len(all_names) == 1 else f"{noun}s"
    return [
        Effect(
            code=code, count=len(all_names), names=all_names[:MAX_NAMES], message=f"{len(all_names)} {things} {what}"
        )
    ]
