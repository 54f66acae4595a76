"""What jobs can be placed on at one moment of a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

from headway.budgets.budget import spent
from headway.model import LATE_MS, STOP_MS, Demand, Snapshot, WaitingJob
from headway.scheduling.backfill.claims import CapacityChange, ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination, PreemptibleFrom, ReservedStarts, StartTerms
from headway.scheduling.backfill.size_changes import SizeChanges
from headway.scheduling.capacity_state import CapacityState
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.preemption import Preemption
from headway.scheduling.warm_pools import claimable
from headway.vectors import positive


@dataclass(frozen=True, kw_only=True, slots=True)
class TakeOver:
    """What a job takes that is reserved or being freed for jobs of lower rank: all of it, from each of these jobs."""

    #: Jobs whose reservation it takes, in the order in which it takes them.
    reservations: tuple[str, ...] = ()
    #: Jobs for which instances are being freed that it counts on, the same way.
    earmarks: tuple[WaitingJob, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reservations or self.earmarks)


NOTHING = TakeOver()


class Ground:
    """Capacity, attempts and claims at one moment of a decision.

    Trying a placement reads it. Only :mod:`headway.scheduling.placement.commit` changes that of the decision.
    """

    def __init__(self, snapshot: Snapshot, *, fills_gaps: bool = False) -> None:
        self.snapshot = snapshot
        #: Whether jobs may start in gaps before reserved starts (:mod:`headway.scheduling.placement.gaps`).
        self.fills_gaps = fills_gaps
        self.policy = policy = snapshot.policy
        self.now_ms = snapshot.now_ms
        self.spent = spent(policy.budgets, snapshot.budget_use, snapshot.now_ms)
        self.comparisons = comparisons = Comparisons()
        self.capacity = capacity = CapacityState(snapshot, comparisons)
        self.size_changes = SizeChanges(snapshot, comparisons, capacity.limits)
        self.reserved_starts = ReservedStarts(
            capacity.allocations, policy, snapshot.now_ms, comparisons, self.size_changes
        )
        self.preemption = Preemption(snapshot, capacity, comparisons, self.reserved_starts.rely_on_end_of)

    def after(self, taken: TakeOver) -> Ground:
        """This ground as it would be after a take-over."""
        if not taken:
            return self
        other = copy(self)
        other.capacity = self.capacity.after(taken.reservations, taken.earmarks)
        other.preemption = self.preemption.on(other.capacity)
        return other

    def until_ms(self, job: WaitingJob) -> int | None:
        """When a job has ended at the latest if it starts now, ms; None if nothing limits it."""
        return None if job.terms.limit_ms is None else self.now_ms + job.terms.limit_ms

    def until_after_stops_ms(self, job: WaitingJob, stop_ms: int) -> int | None:
        """The same if it starts only when attempts have stopped, which takes time.

        Args:
            stop_ms: when they are stopped, ms.
        """
        until_ms = self.until_ms(job)
        return None if until_ms is None else until_ms + stop_ms - self.now_ms + STOP_MS

    def start_terms(self, job: WaitingJob, need: Demand, *, stops_others: bool) -> StartTerms:
        """What a reserved start of a job depends on.

        Args:
            need: what it needs beyond what is promised to it.
            stops_others: whether attempts may be stopped, or warm pools be released, for it. Otherwise it may start in
                a warm pool, but releases none.
        """
        capacity = self.capacity
        if self.policy.backfill:
            # A pool that was shrunk below its use has to shrink first, even if the job needs no more of it.
            need = {**dict.fromkeys(capacity.overcommitted(job), 0), **need}
        available = {pool: capacity.spare[pool] + capacity.unclaimed.get(pool, 0) for pool in need}
        preemptible_from = self.preemption.preemptible_from if stops_others else self._claimable_from
        return StartTerms(
            need=need,
            available=available,
            returned=tuple(self._returned(job)),
            preemptible_from_ms=preemptible_from(job),
        )

    def _returned(self, job: WaitingJob) -> Iterator[CapacityChange]:
        """What is promised to jobs behind a job: they start as soon as they have it, or the job takes it over."""
        for owner in self.capacity.owners.values():
            until_ms = self.until_ms(owner)
            if owner.name != job.name and until_ms is not None and owner.not_before_ms <= self.now_ms:
                yield until_ms + STOP_MS + LATE_MS, self.capacity.promised_to(owner), 1

    def _claimable_from(self, job: WaitingJob) -> PreemptibleFrom | None:
        pools = {each.attempt for each in claimable(job, self.capacity.allocations, self.now_ms, self.policy)}
        return (lambda each: self.now_ms if each.attempt in pools else None) if pools else None

    def told_ms(self, start: ReservedStart) -> int | None:
        """When a job with a reserved start is said to start at the latest, ms; None if that is not known.

        What stopping attempts free is kept for it from now on, and is free when they have stopped.
        """
        capacity, stopped_ms = self.capacity, self.now_ms + STOP_MS
        if start.start_ms is None or start.start_ms >= stopped_ms:
            return start.start_ms
        lacking = (pool for pool, count in start.need.items() if count > capacity.spare[pool])
        is_being_freed = bool(capacity.freed_for(start.job)) or any(capacity.unclaimed.get(pool) for pool in lacking)
        return stopped_ms if is_being_freed else start.start_ms

    def would_start_ms(self, job: WaitingJob, *, stops_others: bool = True) -> int | None:
        """When a job that nothing is promised to starts at the latest, ms, if a start is reserved for it.

        Args:
            stops_others: whether attempts may be stopped, or warm pools be released, for it.

        Returns:
            The time; None if that is not known, or none is reserved.
        """
        if self.reserved_starts.is_at_depth(combination(job.demand)):
            return None
        terms = self.start_terms(job, positive(self.capacity.charged(job)), stops_others=stops_others)
        return self.reserved_starts.would_start_ms(job, terms)


def combination(demand: Demand | Sequence[str]) -> Combination:
    """The pools, or limits of teams, of a demand."""
    return tuple(demand) if len(demand) == 1 else tuple(sorted(demand))
