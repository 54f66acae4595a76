"""The notation of notifications in the configuration document."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from headway.reasons.remedies import NOTIFIED_BY_DEFAULT, REMEDIES
from headway_service.config.base import ConfigModel, Name

MAX_TOLD_TEAMS = 20
"""Teams that messages may be limited to: as many as there can be."""


def _of_a_change(code: str) -> str:
    if code not in REMEDIES:
        raise ValueError(f"no job changes for the reason {code!r:.80}; the reasons are {', '.join(sorted(REMEDIES))}")
    return code


class Notifications(ConfigModel):
    """Of which changes a message is sent, e.g. ``{"codes": ["Preempted", "Failed"], "teams": ["research"]}``."""

    #: The reasons of the changes. An empty list switches messages off.
    codes: list[Annotated[str, AfterValidator(_of_a_change)]] = Field(
        default_factory=lambda: [str(code) for code in NOTIFIED_BY_DEFAULT], max_length=len(REMEDIES)
    )
    #: Only of jobs of these teams; None for all jobs.
    teams: list[Name] | None = Field(default=None, min_length=1, max_length=MAX_TOLD_TEAMS)

    def tell(self, code: str, team: str | None) -> bool:
        """Whether a message is sent of a change for that reason, of a job of that team.

        Args:
            code: the code of the event's reason.
            team: the team of the job.
        """
        return code in self.codes and (self.teams is None or team in self.teams)
