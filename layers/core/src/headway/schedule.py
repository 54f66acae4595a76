"""The decision: which waiting jobs start, who is preempted for whom, and why everybody else waits."""

from __future__ import annotations

from headway import reasons
from headway.capacity import free, minus, overlap, plus, positive, shortfall, total
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.ordering import rank
from headway.plan import Hold, Plan, Preempt, Release, Start
from headway.preemption import victims_for
from headway.reasons import Reason


def schedule(snapshot: Snapshot) -> Plan:
    """Decide what to do now. Pure: the same snapshot gives the same plan.

    Jobs are looked at in rank order. A job that fits starts. One that does not fit, but would if attempts of
    strictly lower priority stopped, preempts them, and what they free is earmarked for it. Any other job
    becomes a blocked head: the pools that it demands are closed to jobs of lower rank, so that nobody
    overtakes it. Jobs that demand more than a pool holds wait without blocking anybody.
    """
    return _Pass(snapshot).run()


class _Pass:
    """One run of the decision; its fields are what is left to give while the jobs are gone through."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.waiting = sorted(snapshot.waiting, key=rank)
        #: What a start may take: free in the ledger. Negative where a pool was shrunk below its use.
        self.free = free(snapshot)
        #: What is not yet spoken for: ``free`` less what higher-ranked jobs count on while they wait.
        self.spare = dict(self.free)
        #: What stopping attempts will free for nobody in particular: the next in rank order may count on it.
        self.unclaimed = total(minus(a.demand, a.freed or {}) for a in snapshot.allocations if a.stopping)
        self.reserved: dict[str, Demand] = {r.job: r.demand for r in snapshot.reservations}
        self.live = [a for a in snapshot.allocations if not a.stopping]
        self.stopping = [a for a in snapshot.allocations if a.stopping]
        self.blocked: dict[str, WaitingJob] = {}
        self.ahead: dict[str, int] = {}
        self.releases: list[Release] = []
        self.starts: list[Start] = []
        self.preemptions: list[Preempt] = []
        self.holds: list[Hold] = []

    def run(self) -> Plan:
        self._release_leftovers({job.name for job in self.waiting if self._unfit(job) is None})
        for job in self.waiting:
            self._consider(job)
            for pool in job.demand:
                self.ahead[pool] = self.ahead.get(pool, 0) + 1
        return Plan(actions=(*self.releases, *self.starts, *self.preemptions), holds=tuple(self.holds))

    def _release_leftovers(self, may_keep: set[str]) -> None:
        """Give back what is reserved for jobs that left or no longer fit.

        A snapshot holds every waiting job that has a reservation, however far back it stands.
        """
        for job in sorted(self.reserved.keys() - may_keep):
            self._release(job, reasons.reservation_released(self.reserved[job]))

    def _release(self, job: str, reason: Reason) -> None:
        demand = self.reserved.pop(job)
        self.releases.append(Release(job=job, demand=demand, reason=reason))
        self.free = plus(self.free, demand)
        self.spare = plus(self.spare, demand)

    def _unfit(self, job: WaitingJob) -> Reason | None:
        """Why the job could not even start if everything were free."""
        sizes = self.snapshot.pools
        for pool in sorted(job.demand):
            if pool not in sizes:
                return reasons.unknown_pool(pool, tuple(sorted(sizes)))
        if shortfall(job.demand, sizes):
            return reasons.exceeds_pool(job, {pool: sizes[pool] for pool in job.demand})
        return None

    def _consider(self, job: WaitingJob) -> None:
        unfit = self._unfit(job)
        if unfit is not None:
            self._hold(job, unfit)
            return
        own = self.reserved.get(job.name, {})
        earmarked = [a for a in self.stopping if a.freed_for == job.name]
        # What is reserved for the job, or being freed for it, is not taken from those ahead of it.
        need = positive(minus(job.demand, plus(own, total(a.freed or {} for a in earmarked))))
        closed = tuple(pool for pool in need if pool in self.blocked)
        if closed:
            ahead = max(self.ahead[pool] for pool in closed)
            self._block(job, reasons.waits_behind(self.blocked[closed[0]], ahead, closed))
            return
        wait_ms = job.not_before_ms - self.snapshot.now_ms
        if wait_ms > 0:
            self._block(job, reasons.backs_off(-(-wait_ms // 1000)))
            return
        takes = minus(job.demand, own)
        overtakes = any(pool in self.blocked for pool in positive(takes))
        if not overtakes:
            self._take_over(job, takes, earmarked)
        if not overtakes and not shortfall(takes, self.free) and not shortfall(takes, self.spare):
            self._start(job, takes)
        else:
            self._wait_or_preempt(job, need, earmarked)

    def _take_over(self, job: WaitingJob, takes: Demand, earmarked: list[Allocation]) -> None:
        """Release what is reserved for jobs of lower rank, as far as this job lacks it and gets all it needs with it.

        Without this, two jobs that each hold a part of what the other lacks would wait for each other for ever.
        """
        lacking = shortfall(takes, self.spare)
        lower = [other for other in reversed(self.waiting) if rank(other) > rank(job) and other.name in self.reserved]
        held = total(self.reserved[other.name] for other in lower)
        if not overlap(lacking, held):
            return
        coming = plus(total(a.freed or {} for a in earmarked), self.unclaimed)
        beyond = positive(minus(lacking, plus(held, coming)))
        if beyond and not victims_for(job, beyond, self.live, self.snapshot.now_ms):
            return
        for other in lower:
            if overlap(lacking, self.reserved[other.name]):
                lacking = positive(minus(lacking, self.reserved[other.name]))
                self._release(other.name, reasons.reservation_taken_over(self.reserved[other.name], job))

    def _start(self, job: WaitingJob, takes: Demand) -> None:
        # A reservation ends with the start, so what it held beyond the demand becomes free (``takes`` < 0).
        self.free = minus(self.free, takes)
        self.spare = minus(self.spare, takes)
        self.starts.append(Start(job=job.name, demand=dict(job.demand), reason=reasons.started(job.demand)))

    def _wait_or_preempt(self, job: WaitingJob, need: Demand, earmarked: list[Allocation]) -> None:
        from_spare = overlap(need, self.spare)
        need = positive(minus(need, from_spare))
        # Before anybody can start in a pool that was shrunk below its use, the excess has to go too.
        debt = {pool: -self.spare[pool] for pool in sorted(job.demand) if self.spare[pool] < 0}
        owed = plus(need, debt)
        from_unclaimed = overlap(owed, self.unclaimed)
        lacking = positive(minus(owed, from_unclaimed))

        victims: tuple[Allocation, ...] = ()
        if lacking:
            victims = victims_for(job, lacking, self.live, self.snapshot.now_ms)
            if not victims:
                holders = tuple(a for a in self.snapshot.allocations if overlap(lacking, a.demand))
                self._block(job, reasons.waits_for_capacity(job, lacking, holders))
                return
        # From here on the job is sure of its instances: in this pass nobody of lower rank may take them, and
        # what the victims free stays reserved for it in later passes.
        self.spare = plus(minus(self.spare, from_spare), debt)
        self.unclaimed = minus(self.unclaimed, from_unclaimed)
        awaited = [
            *earmarked,
            *(a for a in self.stopping if a not in earmarked and overlap(from_unclaimed, a.demand)),
        ]
        earmark = positive(minus(need, positive(minus(from_unclaimed, debt))))
        for victim in victims:
            freed = overlap(earmark, victim.demand)
            earmark = positive(minus(earmark, freed))
            self.live.remove(victim)
            surplus = minus(victim.demand, freed)
            pays = overlap(surplus, lacking)
            lacking = positive(minus(lacking, plus(freed, pays)))
            self.unclaimed = plus(self.unclaimed, positive(minus(surplus, pays)))
            reason = reasons.preempted(victim, job)
            self.preemptions.append(
                Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
            )
        self._hold(job, reasons.waits_for_freed(job, (*awaited, *victims)))

    def _block(self, job: WaitingJob, reason: Reason) -> None:
        for pool in job.demand:
            self.blocked.setdefault(pool, job)
        self._hold(job, reason)

    def _hold(self, job: WaitingJob, reason: Reason) -> None:
        self.holds.append(Hold(job=job.name, reason=reason))
