"""Why waiting jobs wait: one reason for each job that a scheduling pass leaves in the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway import reasons
from headway.model import Allocation, Demand, WaitingJob
from headway.plan import Wait
from headway.reasons import Reason
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination
from headway.scheduling.limits import is_limit
from headway.scheduling.placement.ground import Ground
from headway.scheduling.placement.obstacles import (
    AtLimit,
    BacksOff,
    Behind,
    Ineligible,
    Lacking,
    Obstacle,
    OutlastsSize,
    Paused,
    Unlaunchable,
    WaitsForBetter,
    WouldDelay,
)
from headway.vectors import minus, overlap, positive

Why = Callable[[], Reason]
"""Makes a reason. It is called only if the plan is to be explained."""


class Explainer:
    """Collects the waits of one pass.

    Attributes:
        enabled: whether it collects anything.
        waits: the waits, in rank order.
    """

    def __init__(self, ground: Ground, *, enabled: bool) -> None:
        """Start without waits.

        Args:
            ground: what the jobs of the pass are placed on.
            enabled: whether to collect anything.
        """
        self.waits: list[Wait] = []
        self._policy = ground.policy
        self._now_ms = ground.now_ms
        self._ground = ground
        self._allocations = ground.capacity.allocations
        self._reserved_starts = ground.reserved_starts
        self.enabled = enabled
        #: Reasons that all jobs share that wait for the same thing behind the same job.
        self._shared: dict[tuple[str, ...], Reason] = {}
        #: By job, the spot pools that it is not decided on, each with its spot placement score.
        self._passed_over: dict[str, Sequence[tuple[str, int]]] = {}
        #: By pool, how many of the considered jobs continue to wait for it.
        self._ahead: dict[str, int] = {}

    def ahead_of(self, job: WaitingJob) -> int:
        """How many of the jobs that were considered so far continue to wait for one of the pools of a job."""
        return max(self._ahead.get(pool, 0) for pool in job.demand)

    def add(self, job: WaitingJob, why: Why) -> None:
        """Record that a job waits for instances that nobody takes from it.

        Args:
            why: makes the reason.
        """
        if self.enabled:
            self._note(job, why(), None, in_queue=True, ahead=None)

    def _note(
        self, job: WaitingJob, reason: Reason, start: ReservedStart | None, *, in_queue: bool, ahead: int | None
    ) -> None:
        if in_queue:
            ahead = self.ahead_of(job)
            for pool in job.demand:
                self._ahead[pool] = self._ahead.get(pool, 0) + 1
        start_ms = start.told_ms if start else None
        if self._passed_over:
            reason = self.with_passed_over(job, reason)
        self.waits.append(Wait(job=job.name, reason=reason, ahead=ahead, start_by_ms=start_ms))

    def explain(
        self,
        obstacle: Obstacle,
        start: ReservedStart | None = None,
        *,
        shorter_s: int | None = None,
        would_fill: bool = False,
        ahead: int | None = None,
    ) -> None:
        """Record that a job continues to wait, and what for.

        Args:
            obstacle: what keeps it from its instances.
            start: the start that is reserved for it, if there is one.
            shorter_s: the longest MaxRuntimeInSeconds with which it would start now; None if it would with none.
            would_fill: whether it would start now if it wrote checkpoints.
            ahead: the place of a job that is tried after all others; None for other jobs.
        """
        if not self.enabled:
            return
        in_queue = ahead is None and not isinstance(obstacle, Ineligible)
        if isinstance(obstacle, Ineligible):
            ahead = None
        if isinstance(obstacle, AtLimit) or (isinstance(obstacle, WouldDelay) and obstacle.is_after_stops):
            # It may start sooner, as others of its team end, or later, as what stops takes its time.
            told = None
        else:
            told = start
        reason = self._reason(obstacle, start, shorter_s, would_fill=would_fill)
        self._note(obstacle.job, reason, told, in_queue=in_queue, ahead=ahead)

    def _reason(
        self, obstacle: Obstacle, start: ReservedStart | None, shorter_s: int | None, *, would_fill: bool
    ) -> Reason:
        match obstacle:
            case Ineligible():
                return obstacle.why()
            case Paused():
                return reasons.paused(obstacle.pool, self._ground.snapshot.pauses[obstacle.pool], self._now_ms)
            case Behind():
                return self._behind(obstacle.pools)
            case Unlaunchable():
                return reasons.unlaunchable(obstacle.tried, obstacle.next_ms, self._now_ms)
            case WouldDelay():
                return self._would_delay(obstacle.head, shorter_s, would_fill=would_fill)
            case _:
                return self._why_blocked(obstacle, start, shorter_s)

    def _why_blocked(
        self,
        obstacle: BacksOff | Lacking | OutlastsSize | WaitsForBetter,
        start: ReservedStart | None,
        shorter_s: int | None,
    ) -> Reason:
        now_ms, job = self._now_ms, obstacle.job
        match obstacle:
            case BacksOff():
                return reasons.backs_off(-(-(job.not_before_ms - now_ms) // 1000), job.held_by)
            case AtLimit():
                return self._at_limit(job, obstacle.limits)
            case Lacking():
                return self._lacks(obstacle, start)
            case OutlastsSize():
                claim = obstacle.claim
                if is_limit(claim.pool):
                    limit = self._ground.capacity.limits.of(claim.pool)
                    return reasons.outlasts_limit(limit, claim.change, now_ms, shorter_s=shorter_s)
                of_plan = bool(self._ground.snapshot.calendars[claim.pool].about)
                return reasons.outlasts_size(claim.pool, claim.change, now_ms, of_plan=of_plan, shorter_s=shorter_s)
            case WaitsForBetter():
                start_ms = start.told_ms if start is not None else None
                return reasons.waits_for_better(job, obstacle.instead_of, start_ms, obstacle.until_ms, now_ms)

    def _lacks(self, obstacle: Lacking, start: ReservedStart | None) -> Reason:
        job = obstacle.job
        if start is None:
            return self._behind(obstacle.combination)
        for pool in obstacle.combination:
            growth = self._ground.size_changes.growth(pool, job.demand[pool])
            if growth is not None:
                size = self._ground.snapshot.pools[pool]
                return reasons.waits_for_growth(job, pool, growth, size, self._now_ms, start.told_ms)
        return self._lacks_capacity(job, obstacle.lacking, start.told_ms)

    def passes_over(self, job: WaitingJob, scores: Sequence[tuple[str, int]]) -> None:
        """Note that alternatives of a job are passed over for their spot placement scores.

        Args:
            scores: their spot pools with low scores, each with its score; empty for none.
        """
        if scores:
            self._passed_over[job.name] = scores

    def with_passed_over(self, job: WaitingJob, reason: Reason) -> Reason:
        """The reason why a job waits or starts, with what was passed over."""
        return reasons.passing_over(reason, self._passed_over.get(job.name, ()))

    def _behind(self, pools: Combination) -> Reason:
        """The job waits behind the first blocked job of its combination of pools. There must be one."""
        reason = self._shared.get(pools)
        if reason is None:
            head = self._reserved_starts.first(pools)
            assert head is not None  # noqa: S101 - called only behind a blocked job
            reason = self._shared[pools] = reasons.waits_behind(head.job, pools, head.told_ms, self._now_ms)
        return reason

    def _would_delay(self, head: ReservedStart, shorter_s: int | None, *, would_fill: bool) -> Reason:
        """The job fits, but would delay this reserved start."""
        key = ("delays", head.job.name, str(shorter_s), str(would_fill))
        reason = self._shared.get(key)
        if reason is None:
            reason = self._shared[key] = reasons.would_delay(
                head.job, head.told_ms, self._now_ms, shorter_s, would_fill=would_fill
            )
        return reason

    def _at_limit(self, job: WaitingJob, lacking: Demand) -> Reason:
        """Limits of the job have too little left.

        Args:
            lacking: what they lack, by limit.
        """
        limits = self._ground.capacity.limits
        told = [(limits.of(key), count) for key, count in sorted(lacking.items())]
        holders = self._allocations.of(lacking)
        return reasons.waits_for_limit(job, told, holders, self._protected_from(job), self._now_ms, self._policy)

    def _lacks_capacity(self, job: WaitingJob, lacking: Demand, start_ms: int | None) -> Reason:
        """The pools have too little for the job.

        Args:
            lacking: the missing instances, per pool.
            start_ms: its reserved start, ms; None if that is not known.
        """
        lacking = {pool: min(count, job.demand[pool]) for pool, count in lacking.items()}
        holders = self._allocations.of(lacking)
        return reasons.waits_for_capacity(
            job, lacking, holders, self._protected_from(job), start_ms, self._now_ms, self._policy
        )

    def awaits_freed(self, job: WaitingJob, meant: Sequence[Allocation], from_unclaimed: Demand) -> Reason:
        """Stopping attempts free all that the job lacks.

        Args:
            meant: the attempts that stop for this job.
            from_unclaimed: the instances of other stopping attempts that it relies on.
        """
        return reasons.waits_for_freed(job, self._awaited(job, meant, from_unclaimed))

    def _protected_from(self, job: WaitingJob) -> reasons.ProtectedFrom:
        return self._ground.preemption.protected_from(job)

    def _awaited(self, job: WaitingJob, meant: Sequence[Allocation], from_unclaimed: Demand) -> tuple[Allocation, ...]:
        attempts = {each.attempt for each in meant}
        # The job itself may lack nothing while a pool that was shrunk below its use has to shrink first.
        wanted = from_unclaimed or ({} if meant else dict(job.demand))
        awaited = list(meant)
        # Enough attempts, the last to be stopped first: which of them frees the job's instances is not known.
        for other in reversed(self._allocations.stopping):
            if not wanted:
                break
            frees = self._allocations.charged(other)
            if other.attempt not in attempts and overlap(wanted, frees):
                awaited.append(other)
                wanted = positive(minus(wanted, overlap(wanted, frees)))
        return tuple(awaited)
