"""Whose a job is, and which jobs a rule is for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Payer:
    """Who is charged for a job.

    Attributes:
        team: the team; empty without one.
        owner: the mark of its owner (:func:`headway.job_terms.owner_hash`).
        tags: those of its tags that rules are by, such as ``project=thesis``.
    """

    team: str
    owner: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Whose:
    """The jobs that a rule is for: those that are of all that it names; None for any."""

    team: str | None = None
    #: As in :class:`Payer`.
    owner: str | None = None
    tag: str | None = None

    def covers(self, payer: Payer) -> bool:
        """Whether it is for these jobs."""
        return (
            self.team in {None, payer.team}
            and self.owner in {None, payer.owner}
            and (self.tag is None or self.tag in payer.tags)
        )
