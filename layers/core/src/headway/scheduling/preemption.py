"""The victims for one waiting job: the cheapest sufficient set, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import takewhile

from headway.model import STOP_MS, Allocation, Demand, Snapshot, WaitingJob
from headway.protected import Protected
from headway.scheduling.capacity_state import CapacityState
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.equals.victims import least_measure, takes_part
from headway.scheduling.fair_share import within_guarantee
from headway.scheduling.lost_work.moment import MAX_MOMENTS, stop_together_ms, wait_ends_ms
from headway.scheduling.ordering import capped_priority, running_priority
from headway.scheduling.victims.borrowing import Borrowing
from headway.scheduling.victims.protection import (
    is_preemptible,
    not_outranked,
    outranks,
    protected_now,
    protected_until_ms,
    yields_to_equal,
)
from headway.scheduling.victims.targets import Targets
from headway.scheduling.warm_pools import foreign
from headway.vectors import minus, shortfall, total


def _has_ended(allocation: Allocation, at_ms: int) -> bool:
    """Whether the attempt has reached its limit by then."""
    return allocation.terms.limit_ms is not None and allocation.since_ms + allocation.terms.limit_ms <= at_ms


class Preemption:
    """The attempts that waiting jobs may preempt, at the current state of a decision.

    Args:
        snapshot: the snapshot of the decision.
        capacity: the attempts that hold instances, what each team holds, and which waiting jobs are covered by what
            their team is guaranteed; kept up to date by the decision.
        comparisons: the evaluations of the decision so far.
        relies_on_end_of: whether a reserved start relies on the end of an attempt.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        capacity: CapacityState,
        comparisons: Comparisons,
        relies_on_end_of: Callable[[Allocation], bool],
    ) -> None:
        self._snapshot = snapshot
        self._comparisons = comparisons
        self._policy = snapshot.policy
        self._now_ms = snapshot.now_ms
        self._index = capacity.allocations
        self._use: Mapping[str, Demand] = capacity.use
        self._guarantees = capacity.guarantees
        self._relies_on_end_of = relies_on_end_of

    def on(self, capacity: CapacityState) -> Preemption:
        """The same for another capacity."""
        return Preemption(self._snapshot, capacity, self._comparisons, self._relies_on_end_of)

    def is_possible_for(self, job: WaitingJob) -> bool:
        """Whether any attempt could be stopped for the job, or anything unused released."""
        if self._index.unused:
            return True
        if not job.preempts or not self._outranks_or_reclaims(job):
            return False
        return self._has_lower(job) or self._is_small(job)

    def _has_lower(self, job: WaitingJob) -> bool:
        """Whether the job could outrank any attempt that is not an equal."""
        if not self._policy.preemption or not self._index.live:
            return False
        lowest = self._index.lowest_priority
        return capped_priority(job.terms.priority, job.terms.team, self._policy) > lowest or self.reclaims(job)

    def may_preempt_from(self, job: WaitingJob) -> bool:
        """Whether the rank of the job could let it, or any job behind it, preempt an attempt or release a warm pool.

        A job that compares neither what is left of it nor its level gives way to no equal, and preempts none. But jobs
        behind it may compare it. What is left of a job, or its level, does not follow from its rank.
        """
        if self._index.unused or self._outranks_or_reclaims(job):
            return True
        if not self._policy.preemption or not self._index.live:
            return False
        mine = capped_priority(job.terms.priority, job.terms.team, self._policy)
        return mine == self._index.lowest_priority and job.terms.turn_ms < self._index.equals[0]

    def _outranks_or_reclaims(self, job: WaitingJob) -> bool:
        if not self._policy.preemption or not self._index.live:
            return False
        return self._outranks_any(job) or self.reclaims(job)

    def _outranks_any(self, job: WaitingJob) -> bool:
        mine, lowest = capped_priority(job.terms.priority, job.terms.team, self._policy), self._index.lowest_priority
        if not takes_part(job, self._policy) or mine != lowest:
            return mine > lowest
        last_turn_ms, _ = self._index.equals
        return job.terms.turn_ms < last_turn_ms

    def _is_small(self, job: WaitingJob) -> bool:
        """Whether little enough is left of the job, or its level low enough, that any equal could give way to it."""
        _, largest = self._index.equals
        return least_measure(job, self._policy) <= largest

    def reclaims(self, job: WaitingJob) -> bool:
        """Whether the job may reclaim borrowed instances: the criterion by which it ranks before their jobs."""
        return bool(self._policy.teams) and self._guarantees.covers(job)

    def victims(
        self, job: WaitingJob, lacking: Demand, spared: Collection[str] = (), at_ms: int | None = None
    ) -> tuple[Allocation, ...]:
        """The attempts to stop so that the job fits; empty if no set suffices.

        Args:
            job: the waiting job.
            lacking: instances per pool (and per limit of its team) that the victims have to free.
            spared: attempts that are no victims.
            at_ms: when they would be preempted, ms; None for now. What is cheapest then may differ.
        """
        at_ms = self._now_ms if at_ms is None else at_ms
        if not self._index.live:
            return ()
        reclaims = self.reclaims(job)
        stops = self._policy.preemption and job.preempts and (reclaims or self._outranks_any(job))
        if not stops and not self._index.unused:
            return ()
        # SageMaker may launch the job in these, so they have to go in any case.
        gone = tuple(each for each in self._kept_foreign(job) if each.attempt not in spared)
        if gone and not (lacking := shortfall(lacking, total(map(self._index.charged, gone)))):
            return gone
        spared = {*spared, *(each.attempt for each in gone)}
        until_ms = self._waits_until_ms(job, at_ms)
        while True:
            candidates = self._candidates(job, lacking, at_ms, until_ms, stops=stops, reclaims=reclaims)
            victims = self._targets(job, lacking, spared, at_ms, reclaims=reclaims).choose(candidates)
            ahead = self._ahead_again(job, victims)
            if not ahead:
                return (*gone, *victims) if victims else ()
            spared |= ahead

    def _outranks(
        self, job: WaitingJob, allocation: Allocation, use: Mapping[str, Demand], at_ms: int, *, reclaims: bool
    ) -> bool:
        """See :func:`headway.scheduling.victims.protection.outranks`."""
        in_gap = self._is_in_gap(allocation)
        return outranks(job, allocation, use, at_ms, self._policy, reclaims=reclaims, in_gap=in_gap)

    def _is_in_gap(self, allocation: Allocation) -> bool:
        return allocation.beyond_budget or (allocation.opportunistic and self._relies_on_end_of(allocation))

    def _candidates(
        self, job: WaitingJob, lacking: Demand, at_ms: int, until_ms: int | None, *, stops: bool, reclaims: bool
    ) -> Iterable[Allocation]:
        """Those that hold something that is lacking, up to the priority of the job unless it reclaims."""
        in_order = self._index.in_victim_order(lacking, at_ms, until_ms)
        if not stops:
            return (each for each in in_order if each.is_unused)
        if reclaims:
            return in_order
        bound = self._priority_bound(job)
        return takewhile(lambda each: running_priority(each, self._policy) < bound, in_order)

    def _targets(
        self, job: WaitingJob, lacking: Demand, spared: Collection[str], at_ms: int, *, reclaims: bool
    ) -> Targets:
        borrowing = Borrowing(job, self._use, self._snapshot.pools, self._policy, counts=reclaims)

        def may_stop(candidate: Allocation) -> bool:
            # With what is left: attempts of one team may be borrowed one by one, but not all together.
            return (
                candidate.attempt not in spared
                and is_preemptible(candidate, at_ms, self._policy)
                and (
                    self._outranks(job, candidate, borrowing.left, at_ms, reclaims=reclaims)
                    or yields_to_equal(candidate, job, at_ms, self._policy)
                )
            )

        return Targets(
            lacking=lacking,
            borrowing=borrowing,
            charged=self._index.charged,
            may_stop=may_stop,
            comparisons=self._comparisons,
        )

    def _priority_bound(self, job: WaitingJob) -> int:
        """The priority below which attempts may be stopped for the job by theirs; equals that give way are below it."""
        mine = capped_priority(job.terms.priority, job.terms.team, self._policy)
        return mine + 1 if takes_part(job, self._policy) else mine

    def _kept_foreign(self, job: WaitingJob) -> Iterator[Allocation]:
        """The warm pools of other teams that are kept, and have to be gone before the job starts."""
        warm = self._index.warm
        return (each for each in foreign(job, self._index, self._policy) if each.attempt in warm)

    def protected_from(self, job: WaitingJob) -> Callable[[Allocation], Protected | None]:
        """Why attempts that are not stopping are not stopped for a job now; None for one that may be a victim."""
        bound, is_by_priority = self._priority_bound(job), not self.reclaims(job)

        def why(allocation: Allocation) -> Protected | None:
            # Of most attempts this tells.
            if is_by_priority and running_priority(allocation, self._policy) >= bound:
                return Protected.NOT_LOWER
            return self._protected_from(job, allocation)

        return why

    def _protected_from(self, job: WaitingJob, allocation: Allocation) -> Protected | None:
        if allocation.is_unused:
            return None
        policy, now_ms = self._policy, self._now_ms
        in_gap, reclaims = self._is_in_gap(allocation), self.reclaims(job)
        by_rank = not_outranked(job, allocation, self._use, now_ms, policy, reclaims=reclaims, in_gap=in_gap)
        if by_rank is not None and yields_to_equal(allocation, job, now_ms, policy):
            by_rank = None
        if by_rank is Protected.NOT_LOWER:
            return by_rank
        why = protected_now(allocation, now_ms, policy) or by_rank
        if why is None and self._ahead_again(job, [allocation]):
            return Protected.WOULD_RANK_BEFORE
        return why

    def _waits_until_ms(self, job: WaitingJob, at_ms: int) -> int | None:
        """Until when a preemption for a job may wait for a checkpoint, ms; None if it may not wait any more."""
        until_ms = wait_ends_ms(job, self._policy)
        return until_ms if until_ms > at_ms else None

    def stop_ms(self, job: WaitingJob, victims: Collection[Allocation]) -> int:
        """When to stop the victims of a job, ms: now, or after the next checkpoint of one of them.

        They are stopped together: what an attempt frees sooner would be idle until the last one has stopped.

        Args:
            victims: its victims now.
        """
        until_ms = self._waits_until_ms(job, self._now_ms)
        # The job has waited for opportunistic attempts already: its start may be promised.
        if until_ms is None or all(each.opportunistic for each in victims):
            return self._now_ms
        self._comparisons.made += len(victims) * (1 + min(len(victims), MAX_MOMENTS))
        reclaims = self.reclaims(job)

        def may_stop(at_ms: int) -> bool:
            return all(
                is_preemptible(each, at_ms, self._policy)
                and not _has_ended(each, at_ms)
                and (
                    self._outranks(job, each, self._use, at_ms, reclaims=reclaims)
                    or yields_to_equal(each, job, at_ms, self._policy)
                )
                for each in victims
            )

        return stop_together_ms(victims, self._now_ms, until_ms, self._policy, may_stop)

    def _ahead_again(self, job: WaitingJob, victims: Collection[Allocation]) -> set[str]:
        """Of these attempts, those that the guarantee of the job's own team would cover once all of them have stopped.

        If it does not cover the job itself, they would rank before it, and take the instances back.
        """
        own = [victim for victim in victims if victim.terms.team == job.terms.team and not victim.is_unused]
        guaranteed = self._policy.team(job.terms.team).guaranteed
        counted = [victim.demand for victim in own if victim.counts_for_team]
        if not own or not guaranteed or self._guarantees.covers_without(job, counted):
            return set()
        left = minus(self._use.get(job.terms.team, {}), total(counted))
        return {victim.attempt for victim in own if within_guarantee(left, victim.demand, guaranteed)}

    def may_wait_at(self, job: WaitingJob, time_ms: int) -> bool:
        """Whether a preemption for the job may still wait for a checkpoint at a time, ms."""
        until_ms = self._waits_until_ms(job, self._now_ms)
        return until_ms is not None and time_ms <= until_ms

    def preemptible_from(self, job: WaitingJob) -> Callable[[Allocation], int | None] | None:
        """From when on an attempt may be preempted for the job at its reserved start, ms; None for never.

        That is one of lower rank; an opportunistic one has stopped by then. What is left of an equal may become less
        until then, so it may give way no more. As long as preemptions for the job may wait for a checkpoint, which one
        waits for which is not known before.

        Returns:
            None if there is no such attempt.
        """
        if not self._index.unused and not (job.preempts and self._has_lower(job)):
            return None
        reclaims = self.reclaims(job)
        waited_ms = self._waits_until_ms(job, self._now_ms) or 0

        def from_ms(allocation: Allocation) -> int | None:
            since_ms = protected_until_ms(allocation, self._policy) if job.preempts or allocation.is_unused else None
            if since_ms is not None and allocation.opportunistic:
                # It is stopped before the start, which does not wait for a checkpoint.
                since_ms = max(self._now_ms, since_ms) + STOP_MS
            elif since_ms is not None and not allocation.is_unused:
                since_ms = max(since_ms, waited_ms)
            if since_ms is None or allocation.ends_as_soon(max(self._now_ms, since_ms)):
                return None
            if not self._outranks(job, allocation, self._use, self._now_ms, reclaims=reclaims):
                return None
            return None if self._ahead_again(job, [allocation]) else since_ms

        return from_ms
