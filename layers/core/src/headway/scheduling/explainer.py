"""Why waiting jobs wait: one reason for each job that a scheduling pass leaves in the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway import reasons
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Wait
from headway.reasons import Reason
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination, ReservedStarts
from headway.vectors import minus, overlap, positive

Why = Callable[[], Reason]
"""Makes a reason. It is called only if the plan is to be explained."""


class Explainer:
    """Collects the waits of one pass.

    Attributes:
        waits: the waits, in rank order.
    """

    def __init__(
        self, snapshot: Snapshot, allocations: AllocationIndex, reserved_starts: ReservedStarts, *, enabled: bool
    ) -> None:
        """Start without waits.

        Args:
            snapshot: the state that is decided on.
            allocations: the attempts that hold instances.
            reserved_starts: the reserved starts of the pass.
            enabled: whether to collect anything.
        """
        self.waits: list[Wait] = []
        self._policy = snapshot.policy
        self._now_ms = snapshot.now_ms
        self._allocations = allocations
        self._reserved_starts = reserved_starts
        self._enabled = enabled
        #: Reasons that all jobs share that wait for the same thing behind the same job.
        self._shared: dict[tuple[str, ...], Reason] = {}
        #: By job, the spot pools that it is not decided on, each with its spot placement score.
        self._passed_over: dict[str, Sequence[tuple[str, int]]] = {}
        #: By pool, how many of the considered jobs continue to wait for it.
        self._ahead: dict[str, int] = {}

    def ahead_of(self, job: WaitingJob) -> int:
        """How many of the jobs that were considered so far continue to wait for one of the pools of a job."""
        return max(self._ahead.get(pool, 0) for pool in job.demand)

    def add(
        self,
        job: WaitingJob,
        why: Why,
        start: ReservedStart | None = None,
        *,
        in_line: bool = True,
        ahead: int | None = None,
    ) -> None:
        """Record that a job continues to wait.

        Args:
            job: the job.
            why: makes the reason.
            start: the start that is reserved for it, if there is one.
            in_line: whether jobs behind it wait for it; they do not for one that no free instances suffice for, or that
                is unlaunchable.
            ahead: the place of a job that others do not wait for; None if it has none.
        """
        if not self._enabled:
            return
        if in_line:
            ahead = self.ahead_of(job)
            for pool in job.demand:
                self._ahead[pool] = self._ahead.get(pool, 0) + 1
        start_ms = start.start_ms if start else None
        reason = self.with_passed_over(job, why())
        self.waits.append(Wait(job=job.name, reason=reason, ahead=ahead, start_by_ms=start_ms))

    def passes_over(self, job: WaitingJob, scores: Sequence[tuple[str, int]]) -> None:
        """Note that alternatives of a job are passed over for their spot placement scores.

        Args:
            job: the job.
            scores: their spot pools with low scores, each with its score.
        """
        self._passed_over[job.name] = scores

    def with_passed_over(self, job: WaitingJob, reason: Reason) -> Reason:
        """The reason why a job waits or starts, with what was passed over.

        Args:
            job: the job.
            reason: the reason.
        """
        return reasons.passing_over(reason, self._passed_over.get(job.name, ()))

    def behind(self, pools: Combination) -> Reason:
        """The job waits behind the first blocked job of its combination of pools. There must be one."""
        reason = self._shared.get(pools)
        if reason is None:
            head = self._reserved_starts.first(pools)
            assert head is not None  # noqa: S101 - called only behind a blocked job
            reason = self._shared[pools] = reasons.waits_behind(head.job, pools, head.start_ms, self._now_ms)
        return reason

    def would_delay(self, head: ReservedStart) -> Reason:
        """The job fits, but would delay this reserved start."""
        key = ("delays", head.job.name)
        reason = self._shared.get(key)
        if reason is None:
            reason = self._shared[key] = reasons.would_delay(head.job, head.start_ms, self._now_ms)
        return reason

    def at_team_limit(self, job: WaitingJob, lacking: Demand) -> Reason:
        """The job's team uses all that it may.

        Args:
            job: the job.
            lacking: what the limits lack, per limited pool.
        """
        holders = tuple(a for a in self._allocations.of(lacking) if a.terms.team == job.terms.team)
        return reasons.waits_for_limit(job, lacking, holders, self._now_ms, self._policy)

    def lacks_capacity(self, job: WaitingJob, lacking: Demand, start_ms: int | None) -> Reason:
        """The pools have too little for the job.

        Args:
            job: the job.
            lacking: the missing instances, per pool.
            start_ms: its reserved start, ms; None if that is not known.
        """
        lacking = {pool: min(count, job.demand[pool]) for pool, count in lacking.items()}
        holders = self._allocations.of(lacking)
        return reasons.waits_for_capacity(job, lacking, holders, start_ms, self._now_ms, self._policy)

    def awaits_freed(self, job: WaitingJob, meant: Sequence[Allocation], from_unclaimed: Demand) -> Reason:
        """Stopping attempts free all that the job lacks.

        Args:
            job: the job.
            meant: the attempts that stop for this job.
            from_unclaimed: the instances of other stopping attempts that it relies on.
        """
        return reasons.waits_for_freed(job, self._awaited(job, meant, from_unclaimed))

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
