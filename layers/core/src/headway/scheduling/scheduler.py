"""The decision: which waiting jobs start, which attempts are preempted, and why all other jobs wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from headway import reasons
from headway.model import STOP_MS, Allocation, Demand, Snapshot, WaitingJob
from headway.plan import Action, DelayedPreemption, Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.reasons import Reason
from headway.scheduling.alternatives import choices, choose, on_what_is_promised, others, unlikely_spot
from headway.scheduling.backfill.claims import ReservedStart
from headway.scheduling.backfill.reserved_starts import Combination, PreemptibleFrom, ReservedStarts
from headway.scheduling.backfill.size_changes import SizeChanges, SizeClaim
from headway.scheduling.capacity_state import CapacityState, paused_pool
from headway.scheduling.equals.victims import least_measure
from headway.scheduling.explainer import Explainer, Why
from headway.scheduling.fair_share import is_limit, limited_pool
from headway.scheduling.looks import MAX_LOOKS_BESIDE, Looks
from headway.scheduling.lost_work.checkpoints import last_seen_ms, last_written_ms
from headway.scheduling.ordering import capped_priority, rank, running_priority
from headway.scheduling.preemption import Preemption
from headway.scheduling.probes import Probes, in_order_of_tries
from headway.scheduling.queue_order import in_rank_order
from headway.scheduling.size_excess import excess
from headway.scheduling.warm_pools import claimable, foreign
from headway.vectors import minus, overlap, plus, positive, shortfall, total


def schedule(snapshot: Snapshot, *, explain: bool = True) -> Plan:
    """Decide what to do now. Pure: the same snapshot gives the same plan.

    The decision considers jobs in rank order. A job that fits starts. A job that does not fit, but would if attempts
    that it outranks stopped, preempts them, and what they free is earmarked for it. Any other job is blocked: the first
    blocked jobs of each combination of pools get a reserved start, computed from the limits of the running attempts.
    From then on a job starts or preempts only if it delays none of these starts. A job that demands more than a pool's
    size, or demands a paused pool, waits without blocking other jobs. A job that would still run when a pool becomes
    smaller, on more than the pool has then, is blocked too. A job that SageMaker may launch in a warm pool starts in
    it; a warm pool is also an attempt that every job outranks.

    Args:
        snapshot: the state to decide on.
        explain: whether to give the reasons of the jobs that wait. Without them the plan has the same actions, and
            the decision is much faster on a long queue.
    """
    return _Pass(snapshot, explain=explain).run()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """How a job that does not fit gets what it needs."""

    #: The part of its need that it takes of free instances.
    from_spare: Demand
    #: The rest of its need.
    need: Demand
    #: By how much its pools are used beyond their sizes, which has to be freed first.
    overcommitted: Demand
    #: All that has to be freed: the rest of its need, and this.
    owed: Demand
    #: The part of that which attempts free that are stopping without a preemptor.
    from_unclaimed: Demand
    #: The part that victims have to free, and the victims; none if no set of attempts frees it.
    lacking: Demand
    victims: tuple[Allocation, ...]
    #: The instances among all of these that reserved starts may rely on.
    counted: Demand


class _Pass:
    """One pass over the queue."""

    def __init__(self, snapshot: Snapshot, *, explain: bool) -> None:
        self.snapshot = snapshot = on_what_is_promised(snapshot)
        self.explain = explain
        self.policy = policy = snapshot.policy
        self.now_ms = snapshot.now_ms
        self.looks = Looks()
        self.looks_beside = 0
        self.probes = Probes(snapshot)
        #: Unlaunchable jobs that are tried on what all others leave, each with its place.
        self.last: list[tuple[WaitingJob, int]] = []
        self.state = state = CapacityState(snapshot, self.looks)
        self.preemption = Preemption(snapshot, state.allocations, state.use, state.guarantees, self.looks)
        self.size_changes = SizeChanges(snapshot, self.looks)
        self.reserved_starts = ReservedStarts(state.allocations, policy, snapshot.now_ms, self.looks, self.size_changes)
        self.explainer = Explainer(snapshot, state.allocations, self.reserved_starts, enabled=explain)
        #: Kinds of jobs that preemption does not help; see :func:`_kind`. Of each, the measure and the turn from which
        #: on this is so, if the jobs may preempt equals.
        self.stuck: dict[_Kind, tuple[int, int]] = {}
        self.releases: list[Release] = []
        self.stops: list[StopForSize] = []
        self.starts: list[Start] = []
        self.preemptions: list[Preempt | ReleaseWarm] = []
        self.delayed: list[DelayedPreemption] = []

    def run(self) -> Plan:
        self._release_leftovers()
        self._stop_excess()
        state, snapshot = self.state, self.snapshot
        # Jobs with a reservation or an earmark are considered however far back they are.
        owed = set(state.owners)
        past_head, considered = 0, 0
        for job in in_rank_order(snapshot, state.use, state.guarantees, self.looks):
            paused = paused_pool(job, snapshot) if snapshot.pauses and not job.alternatives else None
            if paused is not None:
                self.explainer.add(job, partial(reasons.paused, paused, snapshot.pauses[paused], self.now_ms))
                considered += 1
                continue
            if job.failed is not None and self.probes.is_last(job):
                # It is tried at the end and passes nobody, so it takes no part of the window from others.
                self.last.append((job, self.explainer.ahead_of(job)))
                considered += 1
                continue
            if self.reserved_starts:
                past_head += 1
            # A decision has to end in time under any policy. A job that is not considered passes no other job.
            if past_head > self.policy.backfill_window or self.looks.is_exhausted:
                if not owed:
                    break
                if job.name not in owed:
                    continue
            if not self.explain and not owed and self._is_spent(job):
                break
            if job.failed is None and not job.alternatives:
                self._consider(job)
            else:
                self._consider_in_turn(job)
            considered += 1
            state.mark_considered(job)
            owed.discard(job.name)
        self._probe_last()
        actions: tuple[Action, ...] = (*self.releases, *self.stops, *self.starts, *self.preemptions)
        return Plan(
            actions=actions,
            waits=tuple(self.explainer.waits),
            unseen=len(snapshot.waiting) - considered,
            delayed=tuple(self.delayed),
        )

    def _consider_in_turn(self, job: WaitingJob) -> None:
        if job.alternatives:
            self._consider_alternatives(job)
        elif self.probes.is_barred(job):
            self._probe(job, self.explainer.ahead_of(job))
        else:
            self._consider(job)

    def _is_spent(self, job: WaitingJob) -> bool:
        """Whether neither this job nor any later one can start or preempt: nothing is left, and none is outranked."""
        if self.policy.teams or self.policy.ageing is not None or any(count > 0 for count in self.state.spare.values()):
            return False
        return not self.preemption.may_preempt_from(job)

    def _release_leftovers(self) -> None:
        """Release the reservations of jobs that left, no longer fit, are unlaunchable, or wait for a paused pool.

        A snapshot contains every waiting job that has a reservation, however far back it is.
        """
        for name in sorted(self.state.reserved):
            owner = self.state.owners.get(name)
            if owner is None or self.probes.is_barred(owner) or self._never_fits(owner) is not None:
                self._release(name, reasons.reservation_released(self.state.reserved[name]))

    def _stop_excess(self) -> None:
        """Stop what exceeds the size of pools that stop attempts when they become smaller."""
        for pool, victim in excess(self.snapshot):
            self.state.preempt(victim, {}, {})
            size = self.snapshot.pools[pool]
            reason = reasons.stopped_for_size(pool, size, self.snapshot.calendars[pool].about)
            self.stops.append(StopForSize(job=victim.job, attempt=victim.attempt, pool=pool, size=size, reason=reason))

    def _release(self, name: str, reason: Reason) -> None:
        self.releases.append(Release(job=name, demand=self.state.release(name), reason=reason))
        self.stuck.clear()

    def _never_fits(self, job: WaitingJob) -> Why | None:
        """Why the job could not start even if all instances were free."""
        pools = self.snapshot.pools
        for pool in sorted(job.demand):
            if pool not in pools:
                return partial(reasons.unknown_pool, pool, tuple(sorted(pools)))
        largest = {pool: self.size_changes.largest(pool) for pool in job.demand}
        short = shortfall(job.demand, largest)
        if short:
            calendars = self.snapshot.calendars
            if all(pool in calendars and not calendars[pool].known for pool in short):
                return partial(reasons.waits_for_plan, job, self._on_plans(job))
            return partial(reasons.exceeds_pool, job, largest, self._on_plans(job))
        if not self.size_changes.has_room_for(job):
            return partial(reasons.exceeds_windows, job, self.size_changes.longest_ms(job), self._on_plans(job))
        limit = self.policy.team(job.terms.team).limit
        if any(count > limit.get(pool, count) for pool, count in job.demand.items()):
            return partial(reasons.exceeds_limit, job, {pool: limit[pool] for pool in job.demand if pool in limit})
        return None

    def _on_plans(self, job: WaitingJob) -> tuple[str, ...]:
        """What is known of the training plans that give the pools of a job their sizes."""
        calendars = self.snapshot.calendars
        return tuple(
            calendars[pool].about for pool in sorted(job.demand) if pool in calendars and calendars[pool].about
        )

    def _consider(self, job: WaitingJob) -> None:
        state = self.state
        hopeless = self._hopeless(job)
        if hopeless is not None:
            self.explainer.add(job, hopeless)
            return
        never_fits = self._never_fits(job)
        if never_fits is not None:
            self.explainer.add(job, never_fits, in_line=False)
            return
        takes, until_ms = state.beyond_reservation(job), self._until_ms(job)
        claimed = plus(state.reserved_for(job.name), state.freed_for(job))
        if job.name in state.reserved and self.size_changes.exceeded_by(job, state.charged(job), until_ms) is not None:
            # It can use its reservation only after the change, and others can use it until then.
            self._release(job.name, reasons.reservation_outlasted(state.reserved[job.name]))
            takes, claimed = state.beyond_reservation(job), state.freed_for(job)
        self.size_changes.take(job, claimed, until_ms)
        # Beyond what it claims already, and what it lacks at later sizes.
        beyond = minus(state.charged(job), claimed)
        exceeded = self.size_changes.exceeded_by(job, beyond, until_ms)
        earmarked = state.earmarked.get(job.name, [])
        # What is reserved for the job, or being freed for it, is not taken from jobs of higher rank.
        need = positive(minus(takes, state.freed_for(job)))
        wait_ms = job.not_before_ms - self.now_ms
        if wait_ms > 0:
            start = self._reserve(job, need, _combination(job.demand))
            self.explainer.add(job, partial(reasons.backs_off, -(-wait_ms // 1000), job.held_by), start)
            return
        if exceeded is None and self._start_in_warm_pool(job, takes, until_ms):
            self.size_changes.take(job, beyond, until_ms)
            return
        if exceeded is None and self.reserved_starts.delayed_by(positive(takes), None) is None:
            self._take_over(job, takes)
        # Only what it takes beyond its reservation can delay another job; no job counts on the reservation.
        if exceeded is None and not shortfall(takes, state.free) and not shortfall(takes, state.spare):
            delayed = self.reserved_starts.delayed_by(positive(takes), until_ms)
            if delayed is None:
                self.size_changes.take(job, beyond, until_ms)
                self._start(job, takes, until_ms)
                return
        self._wait_or_preempt(job, need, earmarked, until_ms, beyond, exceeded)

    def _consider_alternatives(self, job: WaitingJob) -> None:
        """Consider a job on one of its alternatives. Nothing is reserved or being freed for it on another one."""
        # The first preference is the job itself: from here on its alternatives have no effect.
        among, barred = self._apart_from_barred([job, *(self._as_ranked(job, each) for each in others(job))])
        if not among:
            self._probe(barred[0], self.explainer.ahead_of(job))
            return
        among = self._without_unlikely_spot(among)
        if barred and not any(map(self._starts_now, among)) and any(map(self._start_to_probe, barred)):
            return
        hopeful = [each for each in among if self._hopeless(each) is None and self._is_usable(each)]
        if not hopeful:
            first = next(filter(self._is_usable, among), among[0])
            paused = paused_pool(first, self.snapshot)
            if paused is not None:
                self.explainer.add(first, partial(reasons.paused, paused, self.snapshot.pauses[paused], self.now_ms))
            else:
                self._consider(first)
            return
        until_ms = job.terms.entry_time_ms + job.wait_at_most_ms
        choice = choose(
            hopeful,
            until_ms,
            self.now_ms,
            starts=self._starts_now,
            preempts=self._is_freed_enough,
            start_ms=self._reserved_start_ms,
        )
        if choice.instead_of is None:
            self._consider(choice.job)
            return
        takes = self.state.charged(choice.job)
        start = self._reserve(choice.job, positive(takes), _combination(choice.job.demand))
        start_ms = start.start_ms if start is not None else None
        why = partial(reasons.waits_for_better, choice.job, choice.instead_of, start_ms, until_ms, self.now_ms)
        self.explainer.add(choice.job, why, start)

    def _apart_from_barred(self, among: list[WaitingJob]) -> tuple[list[WaitingJob], list[WaitingJob]]:
        """The choices on which the job is not unlaunchable, and the others that have its place in the queue."""
        if all(each.failed is None for each in among):
            return among, []
        barred = [replace(each, alternatives=()) for each in among if self.probes.is_barred(each)]
        left = [each for each in among if not self.probes.is_barred(each)]
        return left, in_order_of_tries(filter(self.probes.has_place, barred))

    def _probe(self, job: WaitingJob, ahead: int) -> None:
        """Try an unlaunchable job that has its place in the queue. It preempts nothing."""
        if self._start_to_probe(job):
            return
        start = None
        takes = positive(self.state.charged(job))
        if self._is_usable(job):
            patient = replace(job, preempts=False)
            if self.probes.may_reserve(job, self._reserved_start_ms(patient)):
                start = self._reserve(patient, takes, _combination(job.demand))
        self._explain_barred((job,), ahead, start)

    def _probe_last(self) -> None:
        """Try jobs that are unlaunchable on all their alternatives on instances that no other job can use now."""
        ahead_of = {job.name: ahead for job, ahead in self.last}
        for job in in_order_of_tries(job for job, _ in self.last):
            tried = sorted(choices(job), key=self.probes.next_ms)
            if not any(self._start_to_probe(each, on_leftovers=True) for each in tried):
                self._explain_barred(tried, ahead_of[job.name])

    def _start_to_probe(self, job: WaitingJob, *, on_leftovers: bool = False) -> bool:
        """Start an unlaunchable job, if it may be tried now and fits. Returns whether it starts."""
        if not self.probes.may_start(job) or not self._is_usable(job) or not self._starts_now(job):
            return False
        takes, until_ms = self.state.charged(job), self._until_ms(job)
        self.size_changes.take(job, takes, until_ms)
        self.probes.start(job)
        if not self._start_in_warm_pool(job, takes, until_ms):
            self._start(job, takes, until_ms, on_leftovers=on_leftovers)
        return True

    def _explain_barred(self, tried: Sequence[WaitingJob], ahead: int, start: ReservedStart | None = None) -> None:
        """The reason of an unlaunchable job: what keeps it from its next try, or why it could not start anyway."""
        first = tried[0]
        never_fits, paused = self._never_fits(first), paused_pool(first, self.snapshot)
        if never_fits is not None:
            self.explainer.add(first, never_fits, in_line=False)
        elif paused is not None:
            why = partial(reasons.paused, paused, self.snapshot.pauses[paused], self.now_ms)
            self.explainer.add(first, why, in_line=False, ahead=ahead)
        else:
            why = partial(reasons.unlaunchable, tried, self.probes.next_ms(first), self.now_ms)
            self.explainer.add(first, why, start, in_line=False, ahead=ahead)

    def _without_unlikely_spot(self, among: list[WaitingJob]) -> list[WaitingJob]:
        """The choices that are not passed over for their spot placement scores: all, if no other one can be used."""
        unlikely = {n: tuple(unlikely_spot(each, self.snapshot)) for n, each in enumerate(among)}
        likely = [each for n, each in enumerate(among) if not unlikely[n]]
        if len(likely) == len(among) or not any(map(self._is_usable, likely)):
            return among
        self.explainer.passes_over(among[0], [score for scores in unlikely.values() for score in scores])
        return likely

    def _is_usable(self, job: WaitingJob) -> bool:
        return self._never_fits(job) is None and paused_pool(job, self.snapshot) is None

    def _as_ranked(self, job: WaitingJob, choice: WaitingJob) -> WaitingJob:
        """A choice for which attempts are stopped only if the job ranks before their jobs once these wait again.

        It ranks by its first preference. Where the guarantee of its team does not cover that, it may cover them.
        """
        if not self.policy.team(job.terms.team).guaranteed:
            return choice
        return choice if self.state.guarantees.covers(job) else replace(choice, preempts=False)

    def _starts_now(self, job: WaitingJob) -> bool:
        """Whether a job that nothing is promised to starts, if it is considered now."""
        takes, until_ms = self.state.charged(job), self._until_ms(job)
        if job.not_before_ms > self.now_ms or self.size_changes.exceeded_by(job, takes, until_ms) is not None:
            return False
        if self._startable_warm_pool(job, takes, until_ms) is not None:
            return True
        return not shortfall(takes, self.state.spare) and self.reserved_starts.delayed_by(takes, until_ms) is None

    def _is_freed_enough(self, job: WaitingJob) -> bool:
        """Whether such a job starts once attempts have stopped, those that are stopping or that it may preempt."""
        if job.not_before_ms > self.now_ms:
            return False
        need = positive(self.state.charged(job))
        way = self._way(job, need, need)
        if way.lacking and not way.victims:
            return False
        if self.reserved_starts.delayed_by(way.counted, None) is None:
            return True
        return self._way_beside(job, need, way) is not None

    def _reserved_start_ms(self, job: WaitingJob) -> int | None:
        """When such a job starts at the latest, ms, if a start is reserved for it; None if that is not known."""
        if self.reserved_starts.is_at_depth(_combination(job.demand)):
            return None
        need, available, preemptible_from_ms = self._terms(job, positive(self.state.charged(job)))
        return self.reserved_starts.would_start_ms(job, need, available, preemptible_from_ms)

    def _until_ms(self, job: WaitingJob) -> int | None:
        return None if job.terms.limit_ms is None else self.now_ms + job.terms.limit_ms

    def _hopeless(self, job: WaitingJob) -> Why | None:
        """The reason, if a quick check shows that the job neither starts, preempts, nor gets a reserved start.

        This holds for most jobs of a long queue. Without the check the rest of the pass comes to the same result.
        """
        state, pools = self.state, _combination(job.demand)
        may_be_warm = bool(job.terms.warm_key) and bool(state.allocations.warm)
        if not self.reserved_starts.is_at_depth(pools) or state.owners or may_be_warm:
            # What is reserved or being freed for this job, or for one of lower rank, may let it start.
            return None
        if not self._is_stuck(job):
            if self.preemption.is_possible_for(job):
                return None
            self._mark_stuck(job)
        takes = state.charged(job)
        if any(count > state.sizes[pool] for pool, count in takes.items()):
            return None
        if any(count > state.spare[pool] + state.unclaimed.get(pool, 0) for pool, count in job.demand.items()):
            return partial(self.explainer.behind, pools)
        if job.not_before_ms > self.now_ms or any(state.unclaimed.values()):
            return None
        if takes is not job.demand and shortfall(takes, state.spare):
            # The reason has to name what the team may still use.
            return None
        delayed = self.reserved_starts.delayed_by(takes, self._until_ms(job))
        return partial(self.explainer.would_delay, delayed) if delayed is not None else None

    def _mark_stuck(self, job: WaitingJob) -> None:
        self.stuck[_kind(job)] = (least_measure(job, self.policy), job.terms.turn_ms)

    def _is_stuck(self, job: WaitingJob) -> bool:
        least = self.stuck.get(_kind(job))
        if least is None or (job.terms.standing.left_ms is None and job.terms.standing.attained_ms is None):
            return least is not None
        # An equal that gives way to this job would have to one that is smaller, and whose turn comes earlier.
        return least_measure(job, self.policy) >= least[0] and job.terms.turn_ms >= least[1]

    def _take_over(self, job: WaitingJob, takes: Demand) -> None:
        """Take what is reserved or being freed for jobs of lower rank, if this job gets all that it lacks with it.

        Otherwise two jobs could wait for each other forever, each with a reservation that the other one lacks; or a job
        of lower rank would start past this job, and be preempted for it with what was being freed.
        """
        state = self.state
        lacking = shortfall(takes, state.spare)
        if not lacking or not state.owners:
            return
        lower = sorted((owner for owner in state.owners.values() if owner.name != job.name), key=rank, reverse=True)
        reserved = total(state.reserved_for(other.name) for other in lower)
        if shortfall(lacking, reserved):
            # It cannot start at once, so it does not take over what stopping attempts free anyway.
            lacking = positive(minus(lacking, plus(state.freed_for(job), state.unclaimed)))
            beyond = positive(minus(lacking, reserved))
            if beyond and not self.preemption.victims(job, beyond):
                freed = total(state.freed_for(other) for other in lower)
                still_lacking = positive(minus(beyond, freed))
                if still_lacking and not self.preemption.victims(job, still_lacking):
                    return
                self._take_over_earmarks(lower, overlap(beyond, freed))
        for other in lower:
            theirs = state.reserved_for(other.name)
            if overlap(lacking, theirs):
                lacking = positive(minus(lacking, theirs))
                self._release(other.name, reasons.reservation_taken_over(state.reserved[other.name], job))

    def _take_over_earmarks(self, lower: Sequence[WaitingJob], taken: Demand) -> None:
        """Make what is being freed for jobs of lower rank unclaimed, so that a job of higher rank can count on it."""
        for other in lower:
            theirs = self.state.freed_for(other)
            if overlap(taken, theirs):
                taken = positive(minus(taken, theirs))
                self.state.release_earmark(other)

    def _start_in_warm_pool(self, job: WaitingJob, takes: Demand, until_ms: int | None) -> bool:
        """Start a job in a warm pool, if that delays no reserved start.

        Whenever the job could start on other instances, this is possible, too: it is what SageMaker would do.
        """
        state = self.state
        found = self._startable_warm_pool(job, takes, until_ms)
        if found is None:
            return False
        pool, counted = found
        if self._awaits_foreign(job, takes, counted):
            # It waits for that with its warm pool.
            state.allocations.stop(pool)
            return True
        state.start(job, takes)
        state.claim(pool)
        self.reserved_starts.account_for(counted, state.charged(job), until_ms, starts=True)
        reason = self.explainer.with_passed_over(job, reasons.started(job.demand, warm=pool.job))
        self.starts.append(StartWarm(job=job.name, demand=dict(job.demand), reason=reason, warm=pool.attempt))
        return True

    def _startable_warm_pool(
        self, job: WaitingJob, takes: Demand, until_ms: int | None
    ) -> tuple[Allocation, Demand] | None:
        """A warm pool in which a job can start without delaying a reserved start, and what those may rely on of it."""
        state = self.state
        for pool in claimable(job, state.allocations, self.now_ms, self.policy):
            # What is lent does not count twice. A pool that was shrunk below its use has to shrink first.
            lent = plus(state.lent, state.allocations.charged(pool))
            if shortfall(takes, plus(state.free, lent)):
                continue
            counted = positive(takes)
            if self.reserved_starts:
                counted = positive(minus(takes, self.reserved_starts.unclaimed_by_reservations((pool,))))
            if self.reserved_starts.delayed_by(counted, until_ms) is None:
                return pool, counted
        return None

    def _awaits_foreign(self, job: WaitingJob, takes: Demand, counted: Demand) -> bool:
        """Whether warm pools of other teams have to be gone before the job starts; releases those that are kept."""
        state = self.state
        pools = tuple(foreign(job, state.allocations, self.policy))
        if not pools:
            return False
        self.reserved_starts.account_for(counted, state.charged(job), None, starts=False)
        state.commit(job, overlap(takes, state.spare), {}, {})
        for pool in pools:
            if pool.attempt in state.allocations.warm:
                state.preempt(pool, {}, {})
                self._release_warm(pool, job, {})
        self.explainer.add(job, partial(reasons.waits_for_freed, job, pools))
        return True

    def _release_warm(self, pool: Allocation, job: WaitingJob, freed: Demand) -> None:
        self.stuck.clear()
        reason = reasons.warm_pool_released(pool, job)
        self.preemptions.append(
            ReleaseWarm(job=pool.job, attempt=pool.attempt, for_job=job.name, freed=freed, reason=reason)
        )

    def _start(self, job: WaitingJob, takes: Demand, until_ms: int | None, *, on_leftovers: bool = False) -> None:
        if self._awaits_foreign(job, takes, positive(takes)):
            return
        self.state.start(job, takes)
        self.reserved_starts.account_for(positive(takes), self.state.charged(job), until_ms, starts=True)
        reason = self.explainer.with_passed_over(job, reasons.started(job.demand, one_of=job.terms.one_of))
        self.starts.append(Start(job=job.name, demand=dict(job.demand), reason=reason, on_leftovers=on_leftovers))

    def _wait_or_preempt(
        self,
        job: WaitingJob,
        total_need: Demand,
        earmarked: list[Allocation],
        until_ms: int | None,
        beyond: Demand,
        exceeded: SizeClaim | None,
    ) -> None:
        state = self.state
        way = self._way(job, total_need, total_need)
        if way.lacking and not way.victims:
            self._mark_stuck(job)
            self._block(job, total_need, way.lacking)
            return
        # When the job will start is not known, so its limit does not prove when it ends.
        delayed = self.reserved_starts.delayed_by(way.counted, None)
        if delayed is not None and (beside := self._way_beside(job, total_need, way)) is not None:
            way, delayed = beside, None
        victims, stop_ms = way.victims, self.now_ms
        if victims:
            stop_ms = self.preemption.stop_ms(job, victims)
            # Its victims take time to stop, and leave their part of later sizes to it.
            stopped_ms = None if until_ms is None else until_ms + stop_ms - self.now_ms + STOP_MS
            claimed = minus(state.charged(job), beyond)
            exceeded = self.size_changes.exceeded_by(job, beyond, stopped_ms, victims, claimed, until_ms)
        if exceeded is not None:
            start = self._reserve(job, total_need, _combination(job.demand))
            plan = self.snapshot.calendars[exceeded.pool].about
            why = partial(reasons.outlasts_size, exceeded.pool, exceeded.change, self.now_ms, of_plan=bool(plan))
            self.explainer.add(job, why, start)
            return
        if delayed is not None:
            self._mark_stuck(job)
            start = self._reserve(job, total_need, _combination(job.demand))
            # If it starts when other attempts have stopped, its start time is not known.
            self.explainer.add(job, partial(self.explainer.would_delay, delayed), None if way.owed else start)
            return
        reclaims = self.preemption.reclaims(job)
        self.size_changes.take(job, beyond, until_ms, victims)
        self.reserved_starts.account_for(way.counted, state.charged(job), until_ms, starts=False)
        # From here on no job of lower rank can take the job's instances in this pass. What the victims free stays
        # reserved for it in later passes.
        state.commit(job, way.from_spare, way.overcommitted, way.from_unclaimed)
        earmark = positive(minus(way.need, positive(minus(way.from_unclaimed, way.overcommitted))))
        lacking = way.lacking
        for victim in victims:
            freed, used = state.preempt(victim, earmark, lacking)
            earmark = positive(minus(earmark, used))
            lacking = positive(minus(lacking, used))
            if stop_ms <= self.now_ms:
                self._preempt(victim, job, freed, reclaims=reclaims)
        if stop_ms > self.now_ms:
            self._delay(job, victims, stop_ms)
            return
        self.explainer.add(job, partial(self.explainer.awaits_freed, job, (*earmarked, *victims), way.from_unclaimed))

    def _way_beside(self, job: WaitingJob, total_need: Demand, way: _Way) -> _Way | None:
        """Another way that delays no reserved start: what is free may be kept for these, and victims may not.

        Args:
            job: the job.
            total_need: as for :meth:`_way`.
            way: the way with all that is free, which delays one.
        """
        if not (way.from_spare or way.from_unclaimed) or self.looks_beside > MAX_LOOKS_BESIDE:
            return None
        before = self.looks.taken
        beside = self._way(job, total_need, self.reserved_starts.room(total_need))
        delayed = self.reserved_starts.delayed_by(beside.counted, None)
        self.looks_beside += self.looks.taken - before
        return beside if delayed is None else None

    def _way(self, job: WaitingJob, total_need: Demand, usable: Demand) -> _Way:
        """How a job that does not fit gets what it needs.

        Args:
            job: the job.
            total_need: what it needs beyond its reservation and the instances that are being freed for it.
            usable: the part of this that it may have of what is free, or of what stopping attempts free.
        """
        state = self.state
        from_spare = overlap(usable, state.spare)
        # Before any job can start in a pool that was shrunk below its use, the excess has to be freed too.
        overcommitted = state.overcommitted(job)
        from_unclaimed = overlap(plus(positive(minus(usable, from_spare)), overcommitted), state.unclaimed)
        need = positive(minus(total_need, from_spare))
        owed = plus(need, overcommitted)
        lacking = positive(minus(owed, from_unclaimed))
        victims = self.preemption.victims(job, lacking) if lacking else ()
        counted = total_need
        if victims and self.reserved_starts:
            counted = positive(minus(total_need, self.reserved_starts.unclaimed_by_reservations(victims)))
        return _Way(
            from_spare=from_spare,
            need=need,
            overcommitted=overcommitted,
            owed=owed,
            from_unclaimed=from_unclaimed,
            lacking=lacking,
            victims=victims,
            counted=counted,
        )

    def _delay(self, job: WaitingJob, victims: tuple[Allocation, ...], stop_ms: int) -> None:
        """The preemption waits for a checkpoint. For the rest of this pass it counts as made."""
        self.stuck.clear()
        attempts = tuple(victim.attempt for victim in victims)
        self.delayed.append(DelayedPreemption(for_job=job.name, attempts=attempts, at_ms=stop_ms))
        self.explainer.add(job, partial(reasons.waits_for_checkpoint, job, victims, stop_ms, self.now_ms))

    def _preempt(self, victim: Allocation, job: WaitingJob, freed: Demand, *, reclaims: bool) -> None:
        if victim.warm:
            self._release_warm(victim, job, freed)
            return
        self.stuck.clear()
        if victim.lacks_instances:
            reason = reasons.gives_way(victim, job, self.now_ms)
            self.preemptions.append(
                Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
            )
            return
        lower = running_priority(victim, self.policy) < capped_priority(job.terms.priority, job.terms.team, self.policy)
        by_right = reclaims and not lower and victim.terms.team != job.terms.team
        written_ms = last_written_ms(victim, self.now_ms, self.policy)
        reason = reasons.preempted(
            victim,
            job,
            reclaims=by_right,
            among=None if lower or by_right else self.policy.order,
            checkpoint_ms_ago=None if written_ms is None else max(0, self.now_ms - written_ms),
            checkpoint_seen=written_ms == last_seen_ms(victim),
        )
        self.preemptions.append(
            Preempt(job=victim.job, attempt=victim.attempt, for_job=job.name, freed=freed, reason=reason)
        )

    def _block(self, job: WaitingJob, need: Demand, lacking: Demand) -> None:
        """A job is blocked: preemption does not free what it lacks."""
        limits = {limited_pool(pool)[0]: count for pool, count in lacking.items() if is_limit(pool)}
        if limits:
            # A team at its limit blocks its own jobs only, unless the time is known when it is below the limit again.
            of_limits = {pool: count for pool, count in need.items() if is_limit(pool)}
            self._reserve(job, need, _combination(of_limits), of_limits)
            self.explainer.add(job, partial(self.explainer.at_team_limit, job, limits))
            return
        pools = _combination(job.demand)
        start = self._reserve(job, need, pools)
        if start is None:
            self.explainer.add(job, partial(self.explainer.behind, pools))
            return
        for pool in pools:
            growth = self.size_changes.growth(pool, job.demand[pool])
            if growth is not None:
                why = partial(reasons.waits_for_growth, job, pool, growth, self.snapshot.pools[pool], self.now_ms)
                self.explainer.add(job, partial(why, start.start_ms), start)
                return
        self.explainer.add(job, partial(self.explainer.lacks_capacity, job, lacking, start.start_ms), start)

    def _reserve(
        self, job: WaitingJob, need: Demand, combination: Combination, otherwise: Demand | None = None
    ) -> ReservedStart | None:
        """Reserve a start for a blocked job, if it is among the first of its combination of pools."""
        if self.reserved_starts.is_at_depth(combination):
            return None
        state = self.state
        need, available, preemptible_from_ms = self._terms(job, need)
        freed = state.guarantees.promised_to(job.name)
        start = self.reserved_starts.reserve(
            job, need, combination, available, preemptible_from_ms, otherwise or need, freed
        )
        if preemptible_from_ms is not None and start.start_ms is not None:
            spared = self.reserved_starts.protected_at(start.need, start.start_ms, preemptible_from_ms)
            victims = self.preemption.victims(job, start.lacking, spared, start.start_ms) if start.lacking else ()
            self.reserved_starts.expect_stopped(start, victims, preemptible_from_ms)
        return start

    def _terms(self, job: WaitingJob, need: Demand) -> tuple[Demand, Demand, PreemptibleFrom | None]:
        """What a reserved start of a job depends on: its need, what is available now, and its possible victims."""
        state = self.state
        if self.policy.backfill:
            # A pool that was shrunk below its use has to shrink first, even if the job needs no more of it.
            need = {**dict.fromkeys(state.overcommitted(job), 0), **need}
        available = {pool: state.spare[pool] + state.unclaimed.get(pool, 0) for pool in need}
        return need, available, self.preemption.preemptible_from(job)


def _combination(demand: Demand) -> Combination:
    return tuple(demand) if len(demand) == 1 else tuple(sorted(demand))


_Kind = tuple[str, int, bool, bool, bool, bool, tuple[tuple[str, int], ...]]


def _kind(job: WaitingJob) -> _Kind:
    """What preemption for a job depends on: equal jobs have the same result until something is freed."""
    in_order = (job.terms.standing.left_ms is None, job.terms.standing.attained_ms is None)
    return (job.terms.team, job.terms.priority, job.preempts, job.terms.one_of, *in_order, tuple(job.demand.items()))
