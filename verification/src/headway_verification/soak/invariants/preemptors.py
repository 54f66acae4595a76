"""For whom attempts are stopped in which pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_service.store.records.capacity.attempt import StopCause
from headway_verification.soak.violations import require

_Items = Mapping[str, Mapping[str, Any]]


class PreemptorInvariants:
    """Follows the jobs of which SageMaker selects one pool."""

    def __init__(self) -> None:
        #: The pools in which jobs have been stopped for a job, while what they freed is reserved for it.
        self._stopped_in: dict[str, set[str]] = {}

    def check(self, jobs: _Items, attempts: _Items, reservations: _Items) -> None:
        """Check that jobs are stopped in one pool at most for a job of which SageMaker selects one pool.

        Warm pools may be released in all of them, and attempts without instances give way in all of them: that loses
        no work.

        Args:
            jobs: the jobs, by name.
            attempts: the attempts in the ledger, by name.
            reservations: the reservations, by job.

        Raises:
            Violated: jobs are stopped in several.
        """
        for name, job in jobs.items():
            if not job.get("summary", {}).get("oneOf"):
                continue
            stopped = (
                each
                for each in attempts.values()
                if each.get("freedFor") == name and each.get("stopCause") != StopCause.NO_INSTANCES
            )
            reserved = reservations.get(name, {}).get("demand", {}).keys()
            freed = self._stopped_in.get(name, set()) & reserved
            freed |= {pool for each in stopped for pool in each.get("freed", {})}
            self._stopped_in[name] = freed
            require(len(freed) <= 1, f"jobs are stopped for {name} in several pools: {sorted(freed)}")
