"""What must hold of the service that jobs attain in the order ``shared``: it only grows, and with it their turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.violations import require


class ServiceInvariants:
    """Compares the jobs of one queue with what they were before."""

    def __init__(self) -> None:
        #: The service and the turn of each job that has some, in ms.
        self._last: dict[str, tuple[int, int]] = {}

    def check(self, jobs: Mapping[str, Mapping[str, Any]]) -> None:
        """Check that no service falls, and no turn unless the job entered again.

        Args:
            jobs: the jobs as stored, by name.

        Raises:
            Violated: one has fallen.
        """
        last, self._last = self._last, {}
        for name, job in jobs.items():
            summary = job.get("summary", {})
            attained_ms = summary.get("attainedMs")
            if attained_ms is None:
                continue
            turn_ms = job["entryTime"] + summary.get("handicapMs", 0)
            self._last[name] = attained_ms, turn_ms
            before_ms, turn_before_ms = last.get(name, (0, 0))
            require(attained_ms >= before_ms, f"the service of {name} falls from {before_ms} to {attained_ms}")
            require(turn_ms >= turn_before_ms, f"the turn of {name} falls from {turn_before_ms} to {turn_ms}")

    def table_restored(self) -> None:
        """The jobs are those of an earlier state."""
        self._last.clear()
