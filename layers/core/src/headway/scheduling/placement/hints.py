"""What would let a job start now that waits, in the words of its request."""

from __future__ import annotations

from dataclasses import replace

from headway.model import WaitingJob
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.kinds import Kind, kind_of
from headway.scheduling.placement.obstacles import Obstacle, OutlastsSize, WouldDelay
from headway.scheduling.placement.placements import StartNow
from headway.scheduling.placement.trying import start_now, want_of
from headway.vectors import positive


class Hints:
    """The run times with which jobs would start now, and whether they would if they wrote checkpoints.

    A hint is tried, so it is true: other claims may keep a job from starting that runs into one of them no more. It
    does not depend on the job's own limit, so jobs alike share it until the ground changes.

    Args:
        ground: what the jobs are placed on.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[tuple[Kind, str, bool, int], int | None] = {}
        self._known_to_fill: dict[tuple[Kind, str, int | None], bool] = {}

    def forget(self) -> None:
        """The ground changes."""
        self._known.clear()
        self._known_to_fill.clear()

    def shorter_s(self, obstacle: Obstacle) -> int | None:
        """The longest MaxRuntimeInSeconds with which a job would start now; None if it would with none.

        Args:
            obstacle: what keeps the job from its instances.
        """
        if not isinstance(obstacle, WouldDelay | OutlastsSize):
            return None
        job = obstacle.job
        allowance_ms = job.terms.allowance_ms
        if allowance_ms is None or job.name in self._ground.capacity.owners:
            # Starts ahead of a job that something is promised to count on when that comes back, by its limit.
            return None
        key = (kind_of(job, self._ground.capacity.limits), job.terms.warm_key, job.terms.stops_for_size, allowance_ms)
        if key not in self._known:
            self._known[key] = self._tried(job, allowance_ms)
        return self._known[key]

    def would_fill(self, obstacle: Obstacle) -> bool:
        """Whether a job would start now if it wrote checkpoints, as it would be stopped in time for those ahead.

        Args:
            obstacle: what keeps the job from its instances.
        """
        job = obstacle.job
        # Where no gap is filled the try would only take time.
        if not self._ground.fills_gaps or not isinstance(obstacle, WouldDelay):
            return False
        key = (kind_of(job, self._ground.capacity.limits), job.terms.warm_key, job.terms.limit_ms)
        if key not in self._known_to_fill:
            writes = replace(job, terms=replace(job.terms, checkpoints=True))
            self._known_to_fill[key] = isinstance(start_now(want_of(writes, self._ground), self._ground), StartNow)
        return self._known_to_fill[key]

    def _tried(self, job: WaitingJob, allowance_ms: int) -> int | None:
        ground = self._ground
        unlimited = want_of(_limited(job, None), ground)
        ends_ms = [unlimited.exceeded.change.at_ms] if unlimited.exceeded is not None else []
        counted = positive(unlimited.takes)
        if ground.reserved_starts.delayed_by(counted, None) is not None:
            room_ms = ground.reserved_starts.room_until_ms(counted)
            if room_ms is None:
                return None
            ends_ms.append(room_ms)
        run_s = (min(ends_ms, default=ground.now_ms) - ground.now_ms - allowance_ms) // 1000
        if run_s <= 0:
            return None
        placed = start_now(want_of(_limited(job, run_s * 1000 + allowance_ms), ground), ground)
        return run_s if isinstance(placed, StartNow) else None


def _limited(job: WaitingJob, limit_ms: int | None) -> WaitingJob:
    return replace(job, terms=replace(job.terms, limit_ms=limit_ms))
