"""How much work one decision may take, counted and not timed, so that the same snapshot gives the same plan."""

from __future__ import annotations

MAX_LOOKS = 2_000_000
"""Looks at reserved starts, at ends of attempts and at possible victims that one decision takes."""


class Looks:
    """What a decision has looked at so far, job by job, and whether it may go on to the next one."""

    __slots__ = ("taken",)

    def __init__(self) -> None:
        self.taken = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether no further job is looked at in this decision."""
        return self.taken >= MAX_LOOKS
