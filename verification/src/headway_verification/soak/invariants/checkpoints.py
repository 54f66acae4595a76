"""The invariants of checkpoints that are seen in S3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.violations import require


class CheckpointInvariants:
    """Checks when the checkpoints of running attempts were written, as the queue knows it."""

    def __init__(self) -> None:
        #: The newest time that was known of each attempt, ms. Two jobs may have attempts of one name.
        self._known: dict[tuple[str, int], int] = {}

    def table_restored(self) -> None:
        """Record a restore of the table, which may have an earlier time."""
        self._known.clear()

    def check(self, attempts: Mapping[str, Mapping[str, Any]], now_ms: int) -> None:
        """Check that each was written in the training of its attempt, and that no newer one is forgotten.

        Args:
            attempts: the attempts in the ledger, by name.

        Raises:
            Violated: one was not.
        """
        for name, attempt in attempts.items():
            seen_ms = attempt.get("checkpointSeenMs")
            since_ms = attempt["sinceMs"]
            known_ms = self._known.get((name, since_ms), 0)
            if seen_ms is None:
                require(not known_ms, f"the checkpoint of {name} at {known_ms} is forgotten")
                continue
            # The start of the training is known only while it trains.
            began_ms = attempt.get("trainingSinceMs", since_ms)
            require(
                began_ms < seen_ms <= now_ms,
                f"a checkpoint of {name}, which began at {began_ms}, is seen at {seen_ms}, and it is {now_ms}",
            )
            require(known_ms <= seen_ms, f"of {name} a checkpoint at {seen_ms} takes the place of one at {known_ms}")
            self._known[name, since_ms] = seen_ms
