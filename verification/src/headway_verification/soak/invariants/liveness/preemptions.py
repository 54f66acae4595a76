"""Nobody is preempted for a job that gets nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_verification.soak.invariants.liveness.launches import LaunchHistory
from headway_verification.soak.violations import require

DECIDED_BEFORE_S = 65
"""A decision may have been made this long before it is carried out: an invocation, and the clocks of two functions."""

_Items = Mapping[str, Mapping[str, Any]]


class PreemptionInvariants:
    """Checks for whom attempts are stopped.

    Args:
        launches: what has become of the launches of each job.
    """

    def __init__(self, launches: LaunchHistory) -> None:
        self._launches = launches
        self._seen: set[tuple[str, str]] = set()

    def check(self, attempts: _Items, now_s: float) -> None:
        """Check the attempts that are newly stopped for a job.

        Args:
            attempts: the attempts in the ledger, by name.

        Raises:
            Violated: one is stopped for a job whose last launches got no instances.
        """
        stopped = {(name, each["freedFor"]) for name, each in attempts.items() if each.get("freedFor")}
        for name, preemptor in stopped - self._seen:
            freed = _freed_for(preemptor, attempts) or attempts[name]["demand"].keys()
            for failed in self._launches.failed(preemptor):
                decided_s = now_s - DECIDED_BEFORE_S
                in_vain = failed.is_lasting(decided_s) and decided_s > failed.known_s
                require(
                    not (in_vain and failed.pools & freed),
                    f"{name} is preempted for {preemptor}, of which {failed.count} launches in a row got no instances",
                )
        self._seen = stopped


def _freed_for(preemptor: str, attempts: _Items) -> set[str]:
    """Return the pools in which instances are freed for a job.

    Of an attempt that is stopped as its pool has less than is in use, all may be for that, and none for the job.
    """
    return {pool for each in attempts.values() if each.get("freedFor") == preemptor for pool in each.get("freed") or {}}
