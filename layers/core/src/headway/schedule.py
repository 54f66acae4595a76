"""The decision: which waiting jobs start, who is preempted for whom, and why everybody else waits."""

from __future__ import annotations

from collections.abc import Iterator

from headway import reasons
from headway.backfill import Change, ReservedStart, reserve_start
from headway.capacity import minus, overlap, plus, positive, shortfall, total
from headway.line import in_rank_order
from headway.model import Allocation, Demand, Snapshot, WaitingJob
from headway.ordering import given_priority, held_priority, rank, victim_order
from headway.plan import Action, Hold, Plan, Preempt, Release, Start
from headway.preemption import outranks, protected_until_ms, victims_for
from headway.reasons import Reason
from headway.teams import charge, is_limit, limited_pool, sizes, use_by_team, within_guarantee


def schedule(snapshot: Snapshot) -> Plan:
    """Decide what to do now. Pure: the same snapshot gives the same plan.

    Jobs are looked at in rank order. A job that fits starts. One that does not fit, but would if attempts that it
    outranks stopped, preempts them, and what they free is earmarked for it. Any other job is blocked: the first
    blocked jobs of each combination of pools get a reserved start, worked out from the limits of what runs, and
    from then on a job starts or preempts only if it delays none of these starts. Jobs that demand more than a pool
    holds wait without blocking anybody.
    """
    return _Pass(snapshot).run()


class _Pass:
    """One run of the decision; its fields are what is left to give while the jobs are gone through.

    All vectors are over pools and team limits alike (:mod:`headway.teams`).
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.policy = policy = snapshot.policy
        self.now_ms = snapshot.now_ms
        self.sizes = sizes(snapshot)
        limited = any(team.limit for team in policy.teams.values())
        self.charges = {a.attempt: charge(a.demand, a.team, policy) for a in snapshot.allocations} if limited else {}
        self.live = {a.attempt: a for a in snapshot.allocations if not a.stopping}
        # In an order of their own, so that the plan does not depend on the order in which the snapshot was read.
        self.stopping = sorted((a for a in snapshot.allocations if a.stopping), key=lambda each: each.attempt)
        freed_for = {a.freed_for for a in self.stopping if a.freed_for is not None}
        #: What is being freed for each waiting job. What was meant for a job that has left is anybody's.
        self.earmarked: dict[str, list[Allocation]] = {
            job.name: [a for a in self.stopping if a.freed_for == job.name]
            for job in snapshot.waiting
            if freed_for and job.name in freed_for
        }
        self.reserved: dict[str, Demand] = {r.job: r.demand for r in snapshot.reservations}
        #: Waiting jobs that something is reserved for and that have not been looked at yet.
        self.owners = {job.name: job for job in snapshot.waiting if job.name in self.reserved}
        self.use = use_by_team((a.team, a.demand) for a in self.live.values()) if policy.teams else {}
        for name, owner in self.owners.items():
            self._charge_team(owner.team, self.reserved[name])
        #: What a start may take: free in the ledger. Negative where a pool was shrunk below its use.
        self.free = minus(self.sizes, total(self._charged(a) for a in snapshot.allocations))
        self.free = minus(self.free, total(self._reserved_for(name) for name in self.reserved))
        #: What is not yet spoken for: ``free`` less what higher-ranked jobs count on while they wait.
        self.spare = dict(self.free)
        #: What stopping attempts will free for nobody in particular: the next in rank order may count on it.
        self.unclaimed = total(
            minus(self._charged(a), (a.freed or {}) if a.freed_for in self.earmarked else {}) for a in self.stopping
        )
        #: What the jobs that this pass has started, or made sure of their instances, will hold, and until when.
        self.placed: list[tuple[int | None, Demand]] = []
        #: Who is preempted first, worked out when the first job asks.
        self.victim_line: list[Allocation] | None = None
        #: Victims that a reserved start counts on, and when.
        self.yields: dict[str, int] = {}
        self.heads: list[ReservedStart] = []
        self.head_of: dict[tuple[str, ...], list[ReservedStart]] = {}
        self.shared: dict[tuple[str, ...], Reason] = {}
        #: Kinds of jobs that preempting has not helped; see :func:`_signature`.
        self.stuck: set[_Signature] = set()
        #: The lowest priority that runs, worked out when the first job asks; None until then.
        self.weakest: int | None = None
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
        for job in in_rank_order(self.snapshot, self.use):
            if self.heads:
                past_head += 1
            if past_head > self.policy.backfill_window:
                if not owed:
                    break
                if job.name not in owed:
                    continue
            self._consider(job)
            considered += 1
            self.owners.pop(job.name, None)
            owed.discard(job.name)
        actions: tuple[Action, ...] = (*self.releases, *self.starts, *self.preemptions)
        return Plan(actions=actions, holds=tuple(self.holds), unseen=len(waiting) - considered)

    def _charged(self, allocation: Allocation) -> Demand:
        return self.charges.get(allocation.attempt, allocation.demand)

    def _reserved_for(self, name: str) -> Demand:
        owner = self.owners.get(name)
        return charge(self.reserved[name], owner.team, self.policy) if owner else self.reserved[name]

    def _charge_team(self, team: str, demand: Demand) -> None:
        if self.policy.teams:
            self.use[team] = plus(self.use.get(team, {}), demand)

    def _release_leftovers(self) -> None:
        """Give back what is reserved for jobs that left or no longer fit.

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
            self._charge_team(owner.team, {pool: -count for pool, count in demand.items()})
        self.releases.append(Release(job=name, demand=demand, reason=reason))
        self.free = plus(self.free, charged)
        self.spare = plus(self.spare, charged)
        self.stuck.clear()

    def _unfit(self, job: WaitingJob) -> Reason | None:
        """Why the job could not even start if everything were free."""
        pools = self.snapshot.pools
        for pool in sorted(job.demand):
            if pool not in pools:
                return reasons.unknown_pool(pool, tuple(sorted(pools)))
        if shortfall(job.demand, pools):
            return reasons.exceeds_pool(job, {pool: pools[pool] for pool in job.demand})
        limit = self.policy.team(job.team).limit
        if any(count > limit.get(pool, count) for pool, count in job.demand.items()):
            return reasons.exceeds_limit(job, {pool: limit[pool] for pool in job.demand if pool in limit})
        return None

    def _consider(self, job: WaitingJob) -> None:
        if self._is_hopeless(job):
            self._hold_behind(job)
            return
        unfit = self._unfit(job)
        if unfit is not None:
            self._hold(job, unfit, blocks=False)
            return
        own = charge(self.reserved.get(job.name, {}), job.team, self.policy)
        earmarked = self.earmarked.get(job.name, [])
        takes = minus(charge(job.demand, job.team, self.policy), own)
        # What is reserved for the job, or being freed for it, is not taken from those ahead of it.
        need = positive(minus(takes, total(a.freed or {} for a in earmarked)))
        wait_ms = job.not_before_ms - self.now_ms
        if wait_ms > 0:
            start = self._reserve(job, need, tuple(sorted(job.demand)))
            self._hold(job, reasons.backs_off(-(-wait_ms // 1000)), start)
            return
        until_ms = None if job.limit_ms is None else self.now_ms + job.limit_ms
        if self._delayed_head(positive(takes), None) is None:
            self._take_over(job, takes, earmarked)
        # Only what it takes beyond its reservation can delay anybody; its own part nobody counts on.
        if not shortfall(takes, self.free) and not shortfall(takes, self.spare):
            delayed = self._delayed_head(positive(takes), until_ms)
            if delayed is None:
                self._start(job, takes, until_ms)
                return
        self._wait_or_preempt(job, need, earmarked, until_ms)

    def _is_hopeless(self, job: WaitingJob) -> bool:
        """Whether it can be seen at once that the job neither starts, preempts, nor gets a reserved start.

        Most of a long line is like this; the rest of the pass would come to the same end for them.
        """
        pools = tuple(sorted(job.demand)) if len(job.demand) > 1 else tuple(job.demand)
        heads = self.head_of.get(pools)
        if heads is None or len(heads) < self._depth() or job.name in self.earmarked or job.name in self.owners:
            return False
        if self._might_preempt(job) and _signature(job) not in self.stuck:
            return False
        for pool, count in job.demand.items():
            if count > self.sizes.get(pool, 0):
                return False
        if any(count > self.spare[pool] + self.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            return True
        if self.policy.teams or job.not_before_ms > self.now_ms or any(self.unclaimed.values()):
            return False
        until_ms = None if job.limit_ms is None else self.now_ms + job.limit_ms
        return self._delayed_head(job.demand, until_ms) is not None

    def _might_preempt(self, job: WaitingJob) -> bool:
        """Whether there is anybody at all whom the job could outrank."""
        if not self.policy.preemption or not self.live:
            return False
        if self.weakest is None:
            self.weakest = min(held_priority(each, self.policy) for each in self.live.values())
        if given_priority(job.priority, job.team, self.policy) > self.weakest:
            return True
        return bool(self.policy.teams) and self._reclaims(job, job.demand)

    def _depth(self) -> int:
        return self.policy.reserved_heads if self.policy.backfill else 1

    def _hold_behind(self, job: WaitingJob) -> None:
        pools = tuple(sorted(job.demand))
        head = self.head_of[pools][0]
        fits = all(count <= self.spare[pool] for pool, count in job.demand.items())
        key = (*pools, "fits") if fits else pools
        reason = self.shared.get(key)
        if reason is None:
            if fits:
                until_ms = None if job.limit_ms is None else self.now_ms + job.limit_ms
                head = self._delayed_head(job.demand, until_ms) or head
                reason = reasons.would_delay(head.job, head.start_ms, self.now_ms)
            else:
                reason = reasons.waits_behind(head.job, pools, head.start_ms, self.now_ms)
            self.shared[key] = reason
        self._hold(job, reason)

    def _delayed_head(self, need: Demand, until_ms: int | None) -> ReservedStart | None:
        """The first reserved start that taking ``need`` from now on would delay."""
        for head in self.heads:
            if head.is_delayed_by(need, self.now_ms, until_ms):
                return head
        return None

    def _share_heads(self, need: Demand, until_ms: int | None) -> None:
        for head in self.heads:
            head.share(need, self.now_ms, until_ms)

    def _take_over(self, job: WaitingJob, takes: Demand, earmarked: list[Allocation]) -> None:
        """Release what is reserved for jobs of lower rank, as far as this job lacks it and gets all it needs with it.

        Without this, two jobs that each hold a part of what the other lacks would wait for each other for ever.
        """
        lacking = shortfall(takes, self.spare)
        if not lacking or not self.owners:
            return
        lower = sorted((o for o in self.owners.values() if o.name != job.name), key=rank, reverse=True)
        held = total(self._reserved_for(other.name) for other in lower)
        if not overlap(lacking, held):
            return
        coming = plus(total(a.freed or {} for a in earmarked), self.unclaimed)
        beyond = positive(minus(lacking, plus(held, coming)))
        if beyond and not self._victims(job, beyond):
            return
        for other in lower:
            theirs = self._reserved_for(other.name)
            if overlap(lacking, theirs):
                lacking = positive(minus(lacking, theirs))
                self._release(other.name, reasons.reservation_taken_over(self.reserved[other.name], job))

    def _reclaims(self, job: WaitingJob, lacking: Demand) -> bool:
        """Whether the job's team is within its guarantee with this job, in the pools that it lacks."""
        if not self.policy.teams:
            return False
        own = self.reserved.get(job.name, {})
        wanted = {pool: job.demand[pool] - own.get(pool, 0) for pool in lacking if pool in job.demand}
        entitled = self.policy.team(job.team).guaranteed
        return bool(wanted) and within_guarantee(self.use.get(job.team, {}), wanted, entitled)

    def _victims(self, job: WaitingJob, lacking: Demand) -> tuple[Allocation, ...]:
        if not self.policy.preemption:
            return ()
        return victims_for(
            job,
            lacking,
            self._in_victim_order(),
            self.use,
            self.now_ms,
            self.policy,
            reclaims=self._reclaims(job, lacking),
            charged=self._charged,
        )

    def _in_victim_order(self) -> Iterator[Allocation]:
        if self.victim_line is None:
            self.victim_line = sorted(self.live.values(), key=lambda each: victim_order(each, self.now_ms, self.policy))
        return (each for each in self.victim_line if each.attempt in self.live)

    def _start(self, job: WaitingJob, takes: Demand, until_ms: int | None) -> None:
        # A reservation ends with the start, so what it held beyond the demand becomes free (``takes`` < 0).
        self.free = minus(self.free, takes)
        self.spare = minus(self.spare, takes)
        # What was being freed for it is free for the next in rank order now.
        for allocation in self.earmarked.get(job.name, []):
            self.unclaimed = plus(self.unclaimed, allocation.freed or {})
        self._share_heads(positive(takes), until_ms)
        self._place(job, until_ms)
        self.starts.append(Start(job=job.name, demand=dict(job.demand), reason=reasons.started(job.demand)))

    def _place(self, job: WaitingJob, until_ms: int | None) -> None:
        self.placed.append((until_ms, charge(job.demand, job.team, self.policy)))
        own = self.reserved.get(job.name, {})
        self._charge_team(job.team, minus(job.demand, own))

    def _wait_or_preempt(
        self, job: WaitingJob, need: Demand, earmarked: list[Allocation], until_ms: int | None
    ) -> None:
        total_need = need
        from_spare = overlap(need, self.spare)
        need = positive(minus(need, from_spare))
        # Before anybody can start in a pool that was shrunk below its use, the excess has to go too.
        pools = charge(job.demand, job.team, self.policy)
        debt = {pool: -self.spare[pool] for pool in sorted(pools) if self.spare[pool] < 0}
        owed = plus(need, debt)
        from_unclaimed = overlap(owed, self.unclaimed)
        lacking = positive(minus(owed, from_unclaimed))

        victims: tuple[Allocation, ...] = ()
        if lacking:
            victims = self._victims(job, lacking)
            if not victims:
                self.stuck.add(_signature(job))
                self._block_for(job, total_need, lacking)
                return
        # When it will start is not known, so its limit proves nothing.
        counted = positive(minus(total_need, self._uncounted(victims)))
        delayed = self._delayed_head(counted, None)
        if delayed is not None:
            self.stuck.add(_signature(job))
            start = self._reserve(job, total_need, tuple(sorted(job.demand)))
            self._hold(job, reasons.would_delay(delayed.job, delayed.start_ms, self.now_ms), start)
            return
        reclaims = self._reclaims(job, lacking)
        self._share_heads(counted, None)
        self._place(job, until_ms)
        # From here on the job is sure of its instances: in this pass nobody of lower rank may take them, and
        # what the victims free stays reserved for it in later passes.
        self.spare = plus(minus(self.spare, from_spare), debt)
        self.unclaimed = minus(self.unclaimed, from_unclaimed)
        awaited = [
            *earmarked,
            *(a for a in self.stopping if a not in earmarked and overlap(from_unclaimed, self._charged(a))),
        ]
        earmark = positive(minus(need, positive(minus(from_unclaimed, debt))))
        for victim in victims:
            freed = {pool: count for pool, count in overlap(earmark, victim.demand).items() if not is_limit(pool)}
            frees = self._charged(victim)
            used = overlap(lacking, frees)
            earmark = positive(minus(earmark, used))
            lacking = positive(minus(lacking, used))
            del self.live[victim.attempt]
            if self.policy.teams:
                self.use[victim.team] = minus(self.use.get(victim.team, {}), victim.demand)
            self.unclaimed = plus(self.unclaimed, positive(minus(frees, used)))
            self.stuck.clear()
            by_right = reclaims and held_priority(victim, self.policy) >= given_priority(
                job.priority, job.team, self.policy
            )
            reason = reasons.preempted(victim, job, reclaims=by_right)
            self.preemptions.append(
                Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
            )
        self._hold(job, reasons.waits_for_freed(job, (*awaited, *victims)), blocks=False)

    def _uncounted(self, victims: tuple[Allocation, ...]) -> Demand:
        """What victims free that no reserved start counts on, so that taking it delays nobody."""
        if not self.heads or not victims:
            return {}
        return total(
            self._charged(victim)
            for victim in victims
            if all(
                head.start_ms is not None and self._counted_from_ms(victim, head.job) > head.start_ms
                for head in self.heads
                if overlap(self._charged(victim), head.need)
            )
        )

    def _block_for(self, job: WaitingJob, need: Demand, lacking: Demand) -> None:
        limits = {limited_pool(pool)[0]: count for pool, count in lacking.items() if is_limit(pool)}
        if limits:
            # A team at its limit holds up its own jobs only.
            need = {pool: count for pool, count in need.items() if is_limit(pool)}
            self._reserve(job, need, tuple(sorted(need)))
            holders = tuple(a for a in self.snapshot.allocations if a.team == job.team and overlap(limits, a.demand))
            reason = reasons.waits_for_limit(job, limits, holders, self.now_ms, self.policy)
            self._hold(job, reason)
            return
        pools = tuple(sorted(job.demand))
        behind = self.head_of.get(pools)
        start = self._reserve(job, need, pools)
        if start is None and behind:
            self._hold_behind(job)
            return
        lacking = {pool: min(count, job.demand[pool]) for pool, count in lacking.items()}
        holders = tuple(a for a in self.snapshot.allocations if overlap(lacking, a.demand))
        start_ms = start.start_ms if start else None
        reason = reasons.waits_for_capacity(job, lacking, holders, start_ms, self.now_ms, self.policy)
        self._hold(job, reason, start)

    def _reserve(self, job: WaitingJob, need: Demand, combination: tuple[str, ...]) -> ReservedStart | None:
        """Reserve a start for a blocked job, if it is among the first of its combination of pools."""
        heads = self.head_of.setdefault(combination, [])
        if len(heads) >= self._depth():
            return None
        if not self.policy.backfill:
            # Nobody passes: its pools are closed to what is not reserved for others already.
            start = ReservedStart(job=job, start_ms=None, end_ms=None, need=need, slack=dict.fromkeys(combination, 0))
        else:
            start = self._earliest(job, need)
        heads.append(start)
        self.heads.append(start)
        return start

    def _earliest(self, job: WaitingJob, need: Demand) -> ReservedStart:
        # A pool that was shrunk below its use has to be whole again first, even where the job needs nothing more of it.
        owing = (pool for pool in charge(job.demand, job.team, self.policy) if self.spare[pool] < 0)
        need = {**dict.fromkeys(owing, 0), **need}
        available = {pool: self.spare.get(pool, 0) + self.unclaimed.get(pool, 0) for pool in need}
        changes: list[Change] = [(end_ms, demand, 1) for end_ms, demand in self.placed if end_ms is not None]
        preempts = self._might_preempt(job)
        for allocation in self.live.values():
            end_ms = self._counted_from_ms(allocation, job if preempts else None)
            if end_ms < _NEVER_MS:
                changes.append((end_ms, self._charged(allocation), 1))
        not_before_ms = max(self.now_ms, job.not_before_ms)
        start = reserve_start(job, need, available, changes, self.heads, not_before_ms)
        if preempts and start.start_ms is not None:
            self._plan_victims(job, need, available, start.start_ms)
        return start

    def _counted_from_ms(self, allocation: Allocation, job: WaitingJob | None) -> int:
        """From when on a blocked job (None: one that preempts nobody) counts on what an attempt holds."""
        end_ms = _NEVER_MS
        if allocation.limit_ms is not None:
            end_ms = max(self.now_ms, allocation.since_ms + allocation.limit_ms)
        end_ms = min(end_ms, self.yields.get(allocation.attempt, end_ms))
        if job is not None:
            from_ms = protected_until_ms(allocation, self.policy)
            if from_ms is not None and self._outranked(allocation, job):
                end_ms = min(end_ms, max(self.now_ms, from_ms))
        return end_ms

    def _outranked(self, allocation: Allocation, job: WaitingJob) -> bool:
        reclaims = self._reclaims(job, job.demand)
        return outranks(job, allocation, self.use, self.policy, reclaims=reclaims)

    def _plan_victims(self, job: WaitingJob, need: Demand, available: Demand, start_ms: int) -> None:
        """Note which attempts the reserved start counts on stopping, so that later ones count on their ends then."""
        ended = total(self._charged(a) for a in self.live.values() if self._counted_from_ms(a, None) <= start_ms)
        lacking = shortfall(need, plus(available, ended))
        for victim in self._victims(job, lacking) if lacking else ():
            self.yields[victim.attempt] = start_ms

    def _hold(
        self, job: WaitingJob, reason: Reason, start: ReservedStart | None = None, *, blocks: bool = True
    ) -> None:
        ahead = max((self.ahead.get(pool, 0) for pool in job.demand), default=0)
        start_ms = start.start_ms if start else None
        self.holds.append(Hold(job=job.name, reason=reason, ahead=ahead, start_by_ms=start_ms))
        if blocks or reason.code is reasons.ReasonCode.WAITS_FOR_FREED:
            for pool in job.demand:
                self.ahead[pool] = self.ahead.get(pool, 0) + 1


_NEVER_MS = 1 << 62

_Signature = tuple[str, int, tuple[tuple[str, int], ...]]


def _signature(job: WaitingJob) -> _Signature:
    """What preempting for a job depends on: jobs alike in this fare alike, until something is freed."""
    return (job.team, job.priority, tuple(job.demand.items()))
