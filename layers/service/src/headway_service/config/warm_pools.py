"""The notation of the rules on warm pools (KeepAlivePeriodInSeconds)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Discriminator, Field, Strict, Tag

from headway_service.config.base import ConfigModel, Name

MAX_KEEP_ALIVE_S = 21_600
"""The longest keep-alive period that a document may allow (service model, KeepAlivePeriodInSeconds)."""

_DEFAULT_KEEP_ALIVE_S = 3600
"""The longest one by default: the guide says that SageMaker keeps no pool longer ("Use SageMaker AI managed warm
pools"). If it is right, SageMaker refuses the launch of a job that asks for more."""


class WarmPools(StrEnum):
    """The action on requests with a warm pool, if none is kept."""

    #: The job is launched without it.
    LEAVE_OUT = "leaveOut"
    REFUSE = "refuse"


class KeptWarmPools(ConfigModel):
    """Warm pools are kept, within these limits."""

    #: The longest keep-alive period of a request.
    max_seconds: int = Field(default=_DEFAULT_KEEP_ALIVE_S, ge=1, le=MAX_KEEP_ALIVE_S)
    #: The teams whose jobs may keep their instances; null for all jobs.
    teams: list[Name] | None = None
    #: How many instances of a pool may be warm at once; no limit for a pool that is not named.
    max_instances: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    #: Whether a job may start in the warm pool of another team.
    across_teams: bool = False


def _tag(written: Any) -> str:
    return "[object]" if isinstance(written, dict | KeptWarmPools) else "[word]"


WarmPoolRules = Annotated[
    Annotated[WarmPools, Strict(strict=False), Tag("[word]")] | Annotated[KeptWarmPools, Tag("[object]")],
    Discriminator(_tag),
]
"""A word if no warm pool is kept, or an object."""
