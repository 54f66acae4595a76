"""Spot placement scores without AWS."""

from __future__ import annotations

from collections.abc import Mapping


class MemorySpotScores:
    """A :class:`headway_service.ports.spot_scores.SpotScores` in memory.

    Args:
        scores: by pool and number of instances; without any, there are no scores.

    Attributes:
        scores: as given.
        asked: what was asked for.
    """

    def __init__(self, scores: Mapping[tuple[str, int], int] | None = None) -> None:
        self.scores = dict(scores or {})
        self.asked: list[tuple[str, int]] = []

    def find(self, pool: str, count: int) -> int | None:
        """See :class:`headway_service.ports.spot_scores.SpotScores`."""
        self.asked.append((pool, count))
        return self.scores.get((pool, count))
