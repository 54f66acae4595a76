"""The invariants of paused pools."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_verification.soak.violations import require

LONGEST_INVOCATION_S = 60
"""The longest time that an invocation can run."""

_Items = Mapping[str, Mapping[str, Any]]


class PauseInvariants:
    """Checks the pauses of one queue, and that nothing starts in a paused pool."""

    def __init__(self) -> None:
        #: The pauses observed by the last check.
        self._pauses: _Items = {}
        #: When each pause was first observed, s; "*" pauses all pools.
        self._paused_s: dict[str, float] = {}
        #: Attempts observed stopping because of a drain.
        self._drained: set[str] = set()
        #: Attempts whose intent was observed, and training jobs that the queue launched.
        self._intended: set[str] = set()
        self._launched: set[str] = set()
        #: Resume requests, with their times; "*" for all pools.
        self._resumes: list[tuple[str, float]] = []

    def resume_requested(self, pool: str, now_s: float) -> None:
        """Record a request to resume a pool, or all pools ("*").

        Args:
            pool: the pool; "*" for all.
            now_s: the virtual time, s.
        """
        self._resumes.append((pool, now_s))

    def check_changes(self, pauses: _Items, now_s: float) -> None:
        """Check that a pause is new when first observed, and that a further pause request does not weaken it.

        Args:
            pauses: the pauses by pool; "*" for all.
            now_s: the virtual time, s.

        Raises:
            Violated: an invariant does not hold.
        """
        for pool in self._pauses.keys() - pauses.keys():
            since_s = self._pauses[pool]["sinceMs"] / 1000
            # A resume in progress when a pause begins may end it.
            asked = any(each == pool and at_s > since_s - LONGEST_INVOCATION_S for each, at_s in self._resumes)
            restored = "restoredMs" in self._pauses[pool] and not self._pauses[pool].get("stays")
            require(asked or restored, f"the pause of {pool} ended without a request")
        for pool, pause in pauses.items():
            before = self._pauses.get(pool)
            if before is None:
                fresh = pause["sinceMs"] / 1000 > now_s - LONGEST_INVOCATION_S
                require(fresh, f"the ended pause of {pool} reappeared")
            else:
                same = pause["sinceMs"] == before["sinceMs"] or "restoredMs" in before
                require(same, f"the pause of {pool} was replaced")
                require(pause.get("stops") or not before.get("stops"), f"the drain of {pool} became a pause")
        self._pauses = pauses

    def check_starts(self, pauses: _Items, attempts: _Items, launched: Iterable[TrainingJob], now_s: float) -> None:
        """Check that nothing starts in a paused pool, except launches of invocations that began before the pause.

        Args:
            pauses: the pauses by pool; "*" for all.
            attempts: the attempts by name.
            launched: the training jobs that the queue launched.
            now_s: the virtual time, s.

        Raises:
            Violated: an invariant does not hold.
        """
        self._paused_s = {pool: self._paused_s.get(pool, now_s) for pool in pauses}
        for name, attempt in attempts.items():
            if "drains" in attempt.get("stopReason", "") and name not in self._drained:
                self._drained.add(name)
                drained = any(pauses.get(pool, {}).get("stops") for pool in attempt["demand"])
                require(drained, f"{name} is stopped for a drain that has ended")
        for name, attempt in attempts.items():
            # An attempt that is live when first observed was adopted, so nothing was started.
            if name not in self._intended and attempt["attemptState"] != "live":
                since_s = self.paused_since_s(attempt["demand"])
                require(since_s is None, f"{name} was started in a paused pool")
        self._intended = set(attempts)
        for training_job in launched:
            if training_job.name not in self._launched:
                self._launched.add(training_job.name)
                demand = attempts.get(training_job.name, {}).get("demand", training_job.instances)
                since_s = self.paused_since_s(demand)
                late = since_s is not None and now_s > since_s + LONGEST_INVOCATION_S
                require(not late, f"{training_job.name} was launched in a paused pool")

    def paused_since_s(self, pools: Collection[str]) -> float | None:
        """Return when the first pause of these pools, or of all pools, was observed."""
        return min((self._paused_s[each] for each in ("*", *pools) if each in self._paused_s), default=None)
