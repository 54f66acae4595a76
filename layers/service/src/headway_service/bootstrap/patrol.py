"""The search for rogue training jobs."""

from __future__ import annotations

from headway_service.bootstrap.tracking import TrackingContainer
from headway_service.tracking.rogue_scan import scan_rogue_jobs


class PatrolContainer(TrackingContainer):
    """For the function `patrol`."""

    def scan_rogue_jobs(self, remaining_ms: int) -> int:
        """Find and handle rogue training jobs.

        Args:
            remaining_ms: how long this invocation may live.

        Returns:
            How many were checked.
        """
        return scan_rogue_jobs(
            table=self.table,
            training_jobs=self.training_jobs,
            rogues=self._rogue_jobs(stops=True),
            clocks=self.clocks,
            sleep=self.sleep,
            wake=self.wake,
            after_s=self.settings.reconcile_after_s,
            deadline_ms=self.clocks.machine_ms() + remaining_ms,
        )
