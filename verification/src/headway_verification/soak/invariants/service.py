"""What must hold of the service that jobs attain in the order ``shared``: it only grows, and with it their turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.violations import require


class ServiceInvariants:
    """Compares the jobs of one queue with what they were before."""

    def __init__(self) -> None:
        #: The service, the entry time and the handicap of each job that has a service, in ms.
        self._last: dict[str, tuple[int, int, int]] = {}

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
            entered_ms, handicap_ms = job["entryTime"], summary.get("handicapMs", 0)
            self._last[name] = attained_ms, entered_ms, handicap_ms
            before_ms, entered_before_ms, least_ms = last.get(name, (0, 0, 0))
            require(attained_ms >= before_ms, f"the service of {name} falls from {before_ms} to {attained_ms}")
            # A job that asks for more enters again, and its bound may be another one.
            kept = entered_ms == entered_before_ms
            require(not kept or handicap_ms >= least_ms, f"the turn of {name} falls from {least_ms} to {handicap_ms}")

    def table_restored(self) -> None:
        """The jobs are those of an earlier state."""
        self._last.clear()
