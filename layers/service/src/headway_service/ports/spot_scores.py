"""EC2's spot placement scores, as the service needs them."""

from __future__ import annotations

from typing import Protocol


class SpotScores(Protocol):
    """EC2's spot placement scores."""

    def find(self, pool: str, count: int) -> int | None:
        """GetSpotPlacementScores for so many instances of the type of a pool, in the own region.

        Args:
            pool: the name of a pool of spot instances.
            count: the number of instances.

        Returns:
            1 to 10; None if EC2 gives no score, for whatever reason: without a score nothing is passed over.
        """
