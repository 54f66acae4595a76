"""The capacity that one scheduling pass can still give away, and the only methods that change it."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.alternatives import keeping_promises
from headway.scheduling.comparisons import Comparisons
from headway.scheduling.fair_share import Guarantees, TeamUse
from headway.scheduling.limits import Limits, without_limits
from headway.vectors import minus, overlap, plus, positive, total


class CapacityState:
    """Capacity vectors of one pass. Other modules read them and change them through the methods only.

    All vectors cover pools and limits alike (:mod:`headway.scheduling.limits`).

    Attributes:
        limits: what limits jobs beside the sizes of pools.
        sizes: instances per pool and per limit.
        allocations: the attempts that hold instances.
        reserved: the reservations, by waiting job, without limits.
        earmarked: the stopping attempts that free instances for a waiting job, by job. What was freed for a job that
            has left the queue is not listed and is available to all.
        owners: waiting jobs with a reservation or an earmark that the pass has not considered yet, by name.
        use: instances per pool that each team holds; empty if the policy has no teams.
        guarantees: which waiting jobs their team's guarantee covers.
        free: what a start may take. Negative where a pool was shrunk below its use.
        spare: ``free`` without what jobs of higher rank count on while they wait.
        unclaimed: what stopping attempts free and no job counts on yet.
        lent: what claimed warm pools hold, which is charged to the attempts in them as well.
    """

    def __init__(self, snapshot: Snapshot, comparisons: Comparisons) -> None:
        """Start with the capacity of a snapshot.

        Args:
            snapshot: the state to decide on.
            comparisons: the evaluations of the decision so far.
        """
        self._policy = policy = snapshot.policy
        self.limits = limits = Limits(snapshot)
        self.sizes = limits.sizes
        self.allocations = allocations = AllocationIndex(snapshot, comparisons, limits)
        self.reserved: dict[str, Demand] = {r.job: r.demand for r in snapshot.reservations}
        freed_for = {a.freed_for for a in allocations.stopping if a.freed_for is not None}
        # A job that waits for a paused pool, or is unlaunchable, can use no promise, so its promises are ignored.
        promised = [job for job in keeping_promises(snapshot) if paused_pool(job, snapshot) is None]
        self.earmarked: dict[str, list[Allocation]] = {
            job.name: [a for a in allocations.stopping if a.freed_for == job.name]
            for job in promised
            if job.name in freed_for
        }
        self.owners = {job.name: job for job in promised}
        self.use = TeamUse((a.terms.team, a.demand) for a in (allocations.working if policy.teams else ()))
        self.guarantees = Guarantees(
            snapshot, self.use, allocations.working, ((job, self._promised_to(job)) for job in promised)
        )
        self.free = minus(self.sizes, allocations.held)
        self.free = minus(self.free, total(self.reserved_for(name) for name in self.reserved))
        self.spare = dict(self.free)
        self.unclaimed = total(
            minus(allocations.charged(a), (a.freed or {}) if a.freed_for in self.earmarked else {})
            for a in allocations.stopping
        )
        self.lent = total(allocations.charged(a) for a in allocations.stopping if a.claimed_by)

    def charged(self, job: WaitingJob) -> Demand:
        """What a job takes of pools and of its limits."""
        return self.limits.charged(job.demand, job.terms)

    def reserved_for(self, name: str) -> Demand:
        """What the reservation of a job takes of pools and of its limits; nothing without a reservation."""
        owner, reserved = self.owners.get(name), self.reserved.get(name, {})
        return self.limits.charged(reserved, owner.terms) if owner else reserved

    def beyond_reservation(self, job: WaitingJob) -> dict[str, int]:
        """The demand of a job beyond its reservation. Negative where the reservation exceeds the demand."""
        return minus(self.charged(job), self.limits.charged(self.reserved.get(job.name, {}), job.terms))

    def promised_to(self, job: WaitingJob) -> Demand:
        """What is reserved and being freed for a job takes of pools and of its limits."""
        return plus(self.reserved_for(job.name), self.freed_for(job))

    def after(self, reservations: Iterable[str], earmarks: Iterable[WaitingJob]) -> CapacityState:
        """The capacity as it would be without these reservations, and if nothing was freed for these jobs.

        Args:
            reservations: jobs with a reservation.
            earmarks: jobs for which instances are being freed.
        """
        other = copy(self)
        other.reserved, other.earmarked, other.owners = dict(self.reserved), dict(self.earmarked), dict(self.owners)
        other.use = self.use.copy()
        other.guarantees = self.guarantees.copy(other.use)
        for owner in earmarks:
            other.release_earmark(owner)
        for name in reservations:
            other.release(name)
        return other

    def freed_for(self, job: WaitingJob) -> dict[str, int]:
        """What stopping attempts free for a job."""
        return total(a.freed or {} for a in self.earmarked.get(job.name, ()))

    def overcommitted(self, job: WaitingJob) -> dict[str, int]:
        """By how much the pools that a job demands, and its limits, are over their size."""
        return {pool: -self.spare[pool] for pool in sorted(self.charged(job)) if self.spare[pool] < 0}

    def _promised_to(self, job: WaitingJob) -> Demand:
        """The instances that are reserved and being freed for a job."""
        return total((self.reserved.get(job.name, {}), *(a.freed or {} for a in self.earmarked.get(job.name, ()))))

    def mark_considered(self, job: WaitingJob) -> None:
        """The pass has considered a job: no later job can take over what is reserved or being freed for it."""
        self.owners.pop(job.name, None)

    def release(self, name: str) -> Demand:
        """Remove the reservation of a job, which makes its instances free.

        Returns:
            The instances per pool that were reserved.
        """
        charged, demand = self.reserved_for(name), self.reserved.pop(name)
        owner = self.owners.get(name)
        if owner is not None:
            self.guarantees.promise(owner, self._promised_to(owner))
            self._forget_owner_without_promise(owner)
        self.free = plus(self.free, charged)
        self.spare = plus(self.spare, charged)
        return demand

    def release_earmark(self, owner: WaitingJob) -> None:
        """A job of higher rank counts on what is being freed for this job, which becomes unclaimed.

        The job keeps its rank, as the earmark is stored until the attempts have ended.
        """
        self.unclaimed = plus(self.unclaimed, self.freed_for(owner))
        del self.earmarked[owner.name]
        self._forget_owner_without_promise(owner)

    def _forget_owner_without_promise(self, owner: WaitingJob) -> None:
        if owner.name not in self.reserved and owner.name not in self.earmarked:
            self.owners.pop(owner.name, None)

    def start(self, job: WaitingJob, takes: Demand) -> None:
        """A job starts.

        Args:
            takes: :meth:`beyond_reservation` of the job.
        """
        # The reservation ends with the start. Negative counts are what it held beyond the demand: they become free.
        self.free = minus(self.free, takes)
        self.spare = minus(self.spare, takes)
        # What is being freed for the job is available to the next jobs in rank order.
        for allocation in self.earmarked.get(job.name, ()):
            self.unclaimed = plus(self.unclaimed, allocation.freed or {})
        self._give(job)

    def claim(self, warm: Allocation) -> None:
        """A job that starts may use the instances of this warm pool, or others: both are charged until then."""
        frees = self.allocations.charged(warm)
        self.allocations.stop(warm)
        self.unclaimed = plus(self.unclaimed, frees)
        self.lent = plus(self.lent, frees)

    def commit(self, job: WaitingJob, from_spare: Demand, overcommitted: Demand, from_unclaimed: Demand) -> None:
        """A job waits for instances that nothing can take from it any more: lower ranks cannot count on them.

        Args:
            from_spare: the part of :attr:`spare` that it relies on.
            overcommitted: :meth:`overcommitted` for the job: what has to be freed before it can start.
            from_unclaimed: the part of :attr:`unclaimed` that it relies on.
        """
        self.spare = plus(minus(self.spare, from_spare), overcommitted)
        self.unclaimed = minus(self.unclaimed, from_unclaimed)
        self._give(job)

    def _give(self, job: WaitingJob) -> None:
        if self._policy.teams:
            self.guarantees.give(job)

    def preempt(self, victim: Allocation, earmark: Demand, lacking: Demand) -> tuple[Demand, Demand]:
        """An attempt is stopped for a waiting job.

        Args:
            victim: the attempt.
            earmark: what to earmark for the waiting job at most.
            lacking: what the waiting job counts on at most.

        Returns:
            The instances per pool that are earmarked for the waiting job, and what it counts on of the victim. What
            it does not count on becomes unclaimed.
        """
        freed = without_limits(overlap(earmark, victim.demand))
        frees = self.allocations.charged(victim)
        used = overlap(lacking, frees)
        self.allocations.stop(victim)
        if self._policy.teams and victim.counts_for_team:
            self.use.add(victim.terms.team, victim.demand, -1)
        self.unclaimed = plus(self.unclaimed, positive(minus(frees, used)))
        return freed, used


def paused_pool(job: WaitingJob, snapshot: Snapshot) -> str | None:
    """The first paused pool that a job demands, by name; None if no pool that it demands is paused."""
    return min((pool for pool in job.demand if pool in snapshot.pauses), default=None)
