"""The decision: which waiting jobs start, who is preempted for whom, and why everybody else waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headway import reasons
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Action, Hold, Plan, Preempt, Release, Start
from headway.reasons import Reason
from headway.scheduling.allocation_index import AllocationIndex
from headway.scheduling.backfill import ReservedStart
from headway.scheduling.fair_share import Guarantees, TeamUse, is_limit, limited_pool, sizes, with_team_limits
from headway.scheduling.looks import Looks
from headway.scheduling.ordering import given_priority, held_priority, rank
from headway.scheduling.preemption import Preemption
from headway.scheduling.queue_order import in_rank_order
from headway.scheduling.reserved_starts import Combination, ReservedStarts
from headway.vectors import minus, overlap, plus, positive, shortfall, total


def schedule(snapshot: Snapshot, *, explain: bool = True) -> Plan:
    """Decide what to do now. Pure: the same snapshot gives the same plan.

    Jobs are looked at in rank order. A job that fits starts. One that does not fit, but would if attempts that it
    outranks stopped, preempts them, and what they free is earmarked for it. Any other job is blocked: the first
    blocked jobs of each combination of pools get a reserved start, worked out from the limits of what runs, and
    from then on a job starts or preempts only if it delays none of these starts. Jobs that demand more than a pool
    holds, or demand a pool that is paused, wait without blocking anybody.

    Args:
        snapshot: what is decided on.
        explain: whether to say why the others wait. Without, the plan has the same actions and no holds, and is found
            much sooner where the line is long.
    """
    return _Pass(snapshot, explain=explain).run()


class _Pass:
    """One run of the decision; its fields are what is left to give while the jobs are gone through.

    All vectors are over pools and team limits alike (:mod:`headway.scheduling.fair_share`).
    """

    def __init__(self, snapshot: Snapshot, *, explain: bool) -> None:
        self.snapshot = snapshot
        self.explain = explain
        self.policy = policy = snapshot.policy
        self.now_ms = snapshot.now_ms
        self.sizes = sizes(snapshot)
        self.looks = Looks()
        self.index = index = AllocationIndex(snapshot, self.looks)
        self.reserved: dict[str, Demand] = {r.job: r.demand for r in snapshot.reservations}
        freed_for = {a.freed_for for a in index.stopping if a.freed_for is not None}
        owed = freed_for | self.reserved.keys()
        #: The waiting jobs that something is reserved or being freed for. Whoever waits for a paused pool counts on
        #: nothing, so it is as if it were not there.
        promised = [job for job in (snapshot.waiting if owed else ()) if job.name in owed and self._paused(job) is None]
        #: What is being freed for each waiting job. What was meant for a job that has left is anybody's.
        self.earmarked: dict[str, list[Allocation]] = {
            job.name: [a for a in index.stopping if a.freed_for == job.name]
            for job in promised
            if job.name in freed_for
        }
        #: Waiting jobs that something is reserved for and that have not been looked at yet.
        self.owners = {job.name: job for job in promised if job.name in self.reserved}
        #: Instances per pool that each team holds; empty where there are no teams.
        self.use = TeamUse((a.team, a.demand) for a in (index.live.values() if policy.teams else ()))
        self.guarantees = Guarantees(
            snapshot, self.use, index.live.values(), ((job, self._promised_to(job)) for job in promised)
        )
        #: What a start may take: free in the ledger. Negative where a pool was shrunk below its use.
        self.free = minus(self.sizes, index.held)
        self.free = minus(self.free, total(self._reserved_for(name) for name in self.reserved))
        #: What is not yet spoken for: ``free`` less what higher-ranked jobs count on while they wait.
        self.spare = dict(self.free)
        #: What stopping attempts will free for nobody in particular: the next in rank order may count on it.
        self.unclaimed = total(
            minus(index.charged(a), (a.freed or {}) if a.freed_for in self.earmarked else {}) for a in index.stopping
        )
        self.preemption = Preemption(snapshot, index, self.use, self.guarantees, self.looks)
        self.heads = ReservedStarts(index, policy, snapshot.now_ms, self.looks)
        #: Kinds of jobs that preempting does not help; see :func:`_kind`.
        self.stuck: set[_Kind] = set()
        #: One reason for all that wait behind the same head for the same thing.
        self.shared: dict[tuple[str, ...], Reason] = {}
        #: By pool, how many jobs that have been looked at go on waiting for it.
        self.ahead: dict[str, int] = {}
        self.releases: list[Release] = []
        self.starts: list[Start] = []
        self.preemptions: list[Preempt] = []
        self.holds: list[Hold] = []

    def run(self) -> Plan:
        self._release_leftovers()
        waiting = self.snapshot.waiting
        #: Jobs that something is kept for: they are looked at however far back they stand.
        owed = {*self.owners, *self.earmarked}
        past_head, considered = 0, 0
        for job in in_rank_order(self.snapshot, self.use, self.guarantees, self.looks):
            paused = self._paused(job)
            if paused is not None:
                self._hold(job, partial(reasons.paused, paused, self.snapshot.pauses[paused], self.now_ms))
                considered += 1
                continue
            if self.heads:
                past_head += 1
            # A decision has to end in time whatever the policy allows. Who is not looked at passes nobody.
            if past_head > self.policy.backfill_window or self.looks.is_exhausted:
                if not owed:
                    break
                if job.name not in owed:
                    continue
            if not self.explain and not owed and self._is_spent(job):
                break
            self._consider(job)
            considered += 1
            self.owners.pop(job.name, None)
            owed.discard(job.name)
        actions: tuple[Action, ...] = (*self.releases, *self.starts, *self.preemptions)
        return Plan(actions=actions, holds=tuple(self.holds), unseen=len(waiting) - considered)

    def _is_spent(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any behind it can start or preempt: nothing is left, and nobody is outranked."""
        if self.policy.teams or self.policy.ageing is not None or any(count > 0 for count in self.spare.values()):
            return False
        return not self.preemption.is_possible_for(job)

    def _reserved_for(self, name: str) -> Demand:
        owner = self.owners.get(name)
        return with_team_limits(self.reserved[name], owner.team, self.policy) if owner else self.reserved[name]

    def _promised_to(self, job: WaitingJob) -> Demand:
        """What is reserved and being freed for a job."""
        return total((self.reserved.get(job.name, {}), *(a.freed or {} for a in self.earmarked.get(job.name, ()))))

    def _release_leftovers(self) -> None:
        """Give back what is reserved for jobs that left, no longer fit, or wait for a pool that is paused.

        A snapshot holds every waiting job that has a reservation, however far back it stands.
        """
        for name in sorted(self.reserved):
            owner = self.owners.get(name)
            if owner is None or self._unfit(owner) is not None:
                self._release(name, reasons.reservation_released(self.reserved[name]))

    def _release(self, name: str, reason: Reason) -> None:
        charged = self._reserved_for(name)
        owner = self.owners.pop(name, None)
        demand = self.reserved.pop(name)
        if owner is not None:
            self.guarantees.promise(owner, self._promised_to(owner))
        self.releases.append(Release(job=name, demand=demand, reason=reason))
        self.free = plus(self.free, charged)
        self.spare = plus(self.spare, charged)
        self.stuck.clear()

    def _unfit(self, job: WaitingJob) -> _Why | None:
        """Why the job could not even start if everything were free."""
        pools = self.snapshot.pools
        for pool in sorted(job.demand):
            if pool not in pools:
                return partial(reasons.unknown_pool, pool, tuple(sorted(pools)))
        if shortfall(job.demand, pools):
            return partial(reasons.exceeds_pool, job, {pool: pools[pool] for pool in job.demand})
        limit = self.policy.team(job.team).limit
        if any(count > limit.get(pool, count) for pool, count in job.demand.items()):
            return partial(reasons.exceeds_limit, job, {pool: limit[pool] for pool in job.demand if pool in limit})
        return None

    def _paused(self, job: WaitingJob) -> str | None:
        """The first of its pools that is paused."""
        pauses = self.snapshot.pauses
        return min((pool for pool in job.demand if pool in pauses), default=None) if pauses else None

    def _consider(self, job: WaitingJob) -> None:
        hopeless = self._hopeless(job)
        if hopeless is not None:
            self._hold(job, hopeless)
            return
        unfit = self._unfit(job)
        if unfit is not None:
            self._hold(job, unfit, blocks=False)
            return
        own = with_team_limits(self.reserved.get(job.name, {}), job.team, self.policy)
        earmarked = self.earmarked.get(job.name, [])
        takes = minus(with_team_limits(job.demand, job.team, self.policy), own)
        # What is reserved for the job, or being freed for it, is not taken from those ahead of it.
        need = positive(minus(takes, total(a.freed or {} for a in earmarked)))
        wait_ms = job.not_before_ms - self.now_ms
        if wait_ms > 0:
            start = self._reserve(job, need, _combination(job.demand))
            self._hold(job, partial(reasons.backs_off, -(-wait_ms // 1000), job.held_by), start)
            return
        until_ms = self._until_ms(job)
        if self.heads.delayed_by(positive(takes), None) is None:
            self._take_over(job, takes, earmarked)
        # Only what it takes beyond its reservation can delay anybody; its own part nobody counts on.
        if not shortfall(takes, self.free) and not shortfall(takes, self.spare):
            delayed = self.heads.delayed_by(positive(takes), until_ms)
            if delayed is None:
                self._start(job, takes, until_ms)
                return
        self._wait_or_preempt(job, need, earmarked, until_ms)

    def _until_ms(self, job: WaitingJob) -> int | None:
        return None if job.limit_ms is None else self.now_ms + job.limit_ms

    def _hopeless(self, job: WaitingJob) -> _Why | None:
        """The reason, if it can be seen at once that the job neither starts, preempts, nor gets a reserved start.

        Most of a long line is like this; the rest of the pass would come to the same end for them.
        """
        pools = _combination(job.demand)
        if not self.heads.is_at_depth(pools) or job.name in self.earmarked or job.name in self.owners:
            return None
        kind = _kind(job)
        if kind not in self.stuck:
            if self.preemption.is_possible_for(job):
                return None
            self.stuck.add(kind)
        takes = with_team_limits(job.demand, job.team, self.policy)
        if any(count > self.sizes[pool] for pool, count in takes.items()):
            return None
        if any(count > self.spare[pool] + self.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            return partial(self._behind, pools)
        if job.not_before_ms > self.now_ms or any(self.unclaimed.values()):
            return None
        if takes is not job.demand and shortfall(takes, self.spare):
            # What its team may still use has to be told.
            return None
        delayed = self.heads.delayed_by(takes, self._until_ms(job))
        return partial(self._would_delay, delayed) if delayed is not None else None

    def _behind(self, pools: Combination) -> Reason:
        """It waits behind the first blocked job of its combination of pools."""
        reason = self.shared.get(pools)
        if reason is None:
            head = self.heads.first(pools)
            assert head is not None  # noqa: S101 - asked only behind a head
            reason = self.shared[pools] = reasons.waits_behind(head.job, pools, head.start_ms, self.now_ms)
        return reason

    def _would_delay(self, head: ReservedStart) -> Reason:
        """It fits, but not without delaying that blocked job."""
        key = ("delays", head.job.name)
        reason = self.shared.get(key)
        if reason is None:
            reason = self.shared[key] = reasons.would_delay(head.job, head.start_ms, self.now_ms)
        return reason

    def _take_over(self, job: WaitingJob, takes: Demand, earmarked: list[Allocation]) -> None:
        """Release what is reserved for jobs of lower rank, as far as this job lacks it and gets all it needs with it.

        Without this, two jobs that each hold a part of what the other lacks would wait for each other for ever.
        """
        lacking = shortfall(takes, self.spare)
        if not lacking or not self.owners:
            return
        lower = sorted((o for o in self.owners.values() if o.name != job.name), key=rank, reverse=True)
        held = total(self._reserved_for(other.name) for other in lower)
        if shortfall(lacking, held):
            # It cannot start at once, so it takes nothing in the place of what is being freed anyway.
            lacking = positive(minus(lacking, plus(total(a.freed or {} for a in earmarked), self.unclaimed)))
            beyond = positive(minus(lacking, held))
            if beyond and not self.preemption.victims(job, beyond):
                return
        for other in lower:
            theirs = self._reserved_for(other.name)
            if overlap(lacking, theirs):
                lacking = positive(minus(lacking, theirs))
                self._release(other.name, reasons.reservation_taken_over(self.reserved[other.name], job))

    def _start(self, job: WaitingJob, takes: Demand, until_ms: int | None) -> None:
        # A reservation ends with the start, so what it held beyond the demand becomes free (``takes`` < 0).
        self.free = minus(self.free, takes)
        self.spare = minus(self.spare, takes)
        # What was being freed for it is free for the next in rank order now.
        for allocation in self.earmarked.get(job.name, []):
            self.unclaimed = plus(self.unclaimed, allocation.freed or {})
        self._place(job, positive(takes), until_ms, starts=True)
        self.starts.append(Start(job=job.name, demand=dict(job.demand), reason=reasons.started(job.demand)))

    def _place(self, job: WaitingJob, takes: Demand, until_ms: int | None, *, starts: bool) -> None:
        self.heads.account_for(takes, with_team_limits(job.demand, job.team, self.policy), until_ms, starts=starts)
        if self.policy.teams:
            self.guarantees.give(job)

    def _wait_or_preempt(
        self, job: WaitingJob, need: Demand, earmarked: list[Allocation], until_ms: int | None
    ) -> None:
        total_need = need
        from_spare = overlap(need, self.spare)
        need = positive(minus(need, from_spare))
        # Before anybody can start in a pool that was shrunk below its use, the excess has to go too.
        pools = with_team_limits(job.demand, job.team, self.policy)
        debt = {pool: -self.spare[pool] for pool in sorted(pools) if self.spare[pool] < 0}
        owed = plus(need, debt)
        from_unclaimed = overlap(owed, self.unclaimed)
        lacking = positive(minus(owed, from_unclaimed))

        victims: tuple[Allocation, ...] = ()
        if lacking:
            victims = self.preemption.victims(job, lacking)
            if not victims:
                self.stuck.add(_kind(job))
                self._block_for(job, total_need, lacking)
                return
        # When it will start is not known, so its limit proves nothing.
        counted = total_need
        if victims and self.heads:
            counted = positive(
                minus(counted, self.heads.unclaimed_by_reservations(victims, self.preemption.preemptible_from))
            )
        delayed = self.heads.delayed_by(counted, None)
        if delayed is not None:
            self.stuck.add(_kind(job))
            start = self._reserve(job, total_need, _combination(job.demand))
            # One that is to start as soon as others have stopped can't tell when that will be.
            self._hold(job, partial(self._would_delay, delayed), None if owed else start)
            return
        reclaims = self.preemption.reclaims(job)
        self._place(job, counted, until_ms, starts=False)
        # From here on the job is sure of its instances: in this pass nobody of lower rank may take them, and
        # what the victims free stays reserved for it in later passes.
        self.spare = plus(minus(self.spare, from_spare), debt)
        self.unclaimed = minus(self.unclaimed, from_unclaimed)
        earmark = positive(minus(need, positive(minus(from_unclaimed, debt))))
        for victim in victims:
            freed = {pool: count for pool, count in overlap(earmark, victim.demand).items() if not is_limit(pool)}
            frees = self.index.charged(victim)
            used = overlap(lacking, frees)
            earmark = positive(minus(earmark, used))
            lacking = positive(minus(lacking, used))
            self.index.stop(victim)
            if self.policy.teams:
                self.use.add(victim.team, victim.demand, -1)
            self.unclaimed = plus(self.unclaimed, positive(minus(frees, used)))
            self.stuck.clear()
            by_right = reclaims and held_priority(victim, self.policy) >= given_priority(
                job.priority, job.team, self.policy
            )
            reason = reasons.preempted(victim, job, reclaims=by_right)
            self.preemptions.append(
                Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
            )
        self._hold(
            job, lambda: reasons.waits_for_freed(job, self._awaited(job, (*earmarked, *victims), from_unclaimed))
        )

    def _awaited(
        self, job: WaitingJob, meant: tuple[Allocation, ...], from_unclaimed: Demand
    ) -> tuple[Allocation, ...]:
        """The stopping attempts that a job waits for: those meant for it, and those that free what it counts on."""
        attempts = {each.attempt for each in meant}
        # It may lack nothing itself, and wait for a pool that holds more than it has since it was shrunk.
        wanted = from_unclaimed or ({} if meant else dict(job.demand))
        awaited = list(meant)
        # Enough of them, those that were asked last first: nobody can tell whose instances it will be.
        for other in reversed(self.index.stopping):
            if not wanted:
                break
            frees = self.index.charged(other)
            if other.attempt not in attempts and overlap(wanted, frees):
                awaited.append(other)
                wanted = positive(minus(wanted, overlap(wanted, frees)))
        return tuple(awaited)

    def _block_for(self, job: WaitingJob, need: Demand, lacking: Demand) -> None:
        limits = {limited_pool(pool)[0]: count for pool, count in lacking.items() if is_limit(pool)}
        if limits:
            # A team at its limit holds up its own jobs only, unless it is known when it is below it again.
            of_limits = {pool: count for pool, count in need.items() if is_limit(pool)}
            self._reserve(job, need, _combination(of_limits), of_limits)
            index = tuple(a for a in self.index.of(limits) if a.team == job.team)
            self._hold(job, partial(reasons.waits_for_limit, job, limits, index, self.now_ms, self.policy))
            return
        pools = _combination(job.demand)
        behind = self.heads.first(pools)
        start = self._reserve(job, need, pools)
        if start is None and behind is not None:
            self._hold(job, partial(self._behind, pools))
            return
        lacking = {pool: min(count, job.demand[pool]) for pool, count in lacking.items()}
        start_ms = start.start_ms if start else None
        index = self.index.of(lacking)
        why = partial(reasons.waits_for_capacity, job, lacking, index, start_ms, self.now_ms, self.policy)
        self._hold(job, why, start)

    def _reserve(
        self, job: WaitingJob, need: Demand, combination: Combination, otherwise: Demand | None = None
    ) -> ReservedStart | None:
        """Reserve a start for a blocked job, if it is among the first of its combination of pools."""
        if self.heads.is_at_depth(combination):
            return None
        if self.policy.backfill:
            # A pool that was shrunk below its use has to be whole again first, even where the job needs no more of it.
            owing = (pool for pool in with_team_limits(job.demand, job.team, self.policy) if self.spare[pool] < 0)
            need = {**dict.fromkeys(owing, 0), **need}
        available = {pool: self.spare[pool] + self.unclaimed.get(pool, 0) for pool in need}
        preempts = self.preemption.is_possible_for(job)
        preemptible_from_ms = self.preemption.preemptible_from(job) if preempts else None
        start = self.heads.reserve(job, need, combination, available, preemptible_from_ms, otherwise or need)
        if preempts and start.start_ms is not None:
            lacking = shortfall(start.need, plus(available, self.heads.ended_by(start.need, start.start_ms)))
            if lacking:
                self.heads.expect_stopped(self.preemption.victims(job, lacking), start.start_ms)
        return start

    def _hold(self, job: WaitingJob, why: _Why, start: ReservedStart | None = None, *, blocks: bool = True) -> None:
        if not self.explain:
            return
        ahead = 0
        for pool in job.demand:
            ahead = max(ahead, self.ahead.get(pool, 0))
        start_ms = start.start_ms if start else None
        self.holds.append(Hold(job=job.name, reason=why(), ahead=ahead, start_by_ms=start_ms))
        if blocks:
            for pool in job.demand:
                self.ahead[pool] = self.ahead.get(pool, 0) + 1


def _combination(demand: Demand) -> Combination:
    return tuple(demand) if len(demand) == 1 else tuple(sorted(demand))


_Why = Callable[[], Reason]
"""Makes a reason, if somebody wants to know it."""

_Kind = tuple[str, int, tuple[tuple[str, int], ...]]


def _kind(job: WaitingJob) -> _Kind:
    """What preempting for a job depends on: jobs alike in this fare alike, until something is freed."""
    return (job.team, job.priority, tuple(job.demand.items()))
