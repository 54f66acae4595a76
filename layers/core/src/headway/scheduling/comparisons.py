"""How much work one decision may take, counted and not timed, so that the same snapshot gives the same plan."""

from __future__ import annotations

MAX_COMPARISONS = 2_000_000
"""Evaluations of reserved starts, ends of attempts and possible victims in one decision."""

MAX_COMPARISONS_BESIDE = 200_000
"""How many of these look for victims beside free instances that are kept for jobs ahead."""


class Comparisons:
    """The evaluations of a decision so far, and whether it may continue with the next job."""

    __slots__ = ("beside", "made")

    def __init__(self) -> None:
        self.made = 0
        #: Those that looked for victims beside free instances that are kept for jobs ahead.
        self.beside = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether no further job is looked at in this decision."""
        return self.made >= MAX_COMPARISONS
