"""Simulation of a queue: virtual time advances from event to event, under the decisions of a scheduler.

Pure: the same start gives the same course. The forecast and the simulator are built on it, so what they say is what
the decisions do. All that happens at one instant is taken in before anything is decided at it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from headway.budgets.budget import BudgetUse, Held, spent
from headway.errors import InvariantViolation
from headway.model import Allocation, Demand, Reservation, Snapshot, WaitingJob
from headway.past_use.averages import Span, known, later
from headway.plan import Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.scheduling.alternatives import chosen
from headway.scheduling.equals.attained import rises_ms
from headway.scheduling.equals.expected import extensions_ms
from headway.scheduling.lost_work.checkpoints import interval_ms
from headway.scheduling.ordering import rank
from headway.scheduling.standing import standing_after
from headway.scheduling.victims.protection import protected_until_ms
from headway.vectors import plus

_MAX_ROUNDS = 1000
"""Decisions at one instant. A scheduler that still has actions after these would have them forever."""

RunTime = Callable[[Allocation | WaitingJob], int | None]
"""How long a job would still run, ms: a running one from now on, a waiting one once it has started. None: for ever."""


class EventKind(StrEnum):
    """The kinds of event."""

    ARRIVED = "arrived"
    STARTED = "started"
    #: The attempt is preempted for another job.
    PREEMPTED = "preempted"
    #: The attempt has stopped for another job, or for a smaller pool, and its job waits again.
    PREEMPTED_ENDED = "yielded"
    COMPLETED = "completed"
    #: The job was ended at its limit before it was done.
    TIMED_OUT = "ended at its limit"
    #: The attempt was stopping on request when the course began, and has ended.
    STOPPED = "stopped"
    #: The attempt has ended, and its instances are kept warm from now on ...
    KEPT = "kept warm"
    #: ... until this: a job has started in them, they were released, or their time is over.
    KEPT_ENDED = "kept no longer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened to a job."""

    time_ms: int
    kind: EventKind
    job: str
    demand: Demand
    #: The attempt; empty for an arrival.
    attempt: str = ""
    #: Time that the attempt held its instances for nothing, ms (only if it yielded).
    lost_ms: int = 0
    #: Of a start in a warm pool: the attempt that left it.
    warm: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A job that enters the queue later."""

    time_ms: int
    job: WaitingJob
    #: How long it runs if nothing stops it, ms; None for ever.
    run_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Delays:
    """How long what happens to attempts takes, ms."""

    #: A stop.
    stop_ms: int = 0
    #: The release of a warm pool; None for that of a stop.
    release_ms: int | None = None
    #: How long an attempt that the simulation starts holds its instances before it runs.
    cold_start_ms: int = 0
    #: The same for a start in a warm pool.
    warm_start_ms: int = 0


AT_ONCE = Delays()
"""Nothing takes any time."""


@dataclass(slots=True)
class _JobProfile:
    """What a snapshot does not say about a job, and the course has to."""

    #: Its remaining run time from a start, ms; None for forever.
    run_ms: int | None
    attempts: int = 0


class Simulation:
    """A queue on virtual time.

    Attributes:
        now_ms: the present.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        decide: Callable[[Snapshot], Plan],
        run_time: RunTime | None = None,
        *,
        delays: Delays = AT_ONCE,
        arrivals: Iterable[Arrival] = (),
        admit: Callable[[Arrival], WaitingJob] | None = None,
        follow: Callable[[Collection[str]], Iterable[Arrival]] | None = None,
        record: Callable[[Event], None] | None = None,
    ) -> None:
        """Begin with a snapshot.

        Args:
            snapshot: the queue as it is; its policy, pauses and spot placement scores stay. Pools change their sizes
                by its calendars.
            decide: the scheduler. It may keep a state of its own, but must come to an end at each instant.
            run_time: how long the jobs of the snapshot run. Without, they never end, their limits aside.
            delays: how long stops, releases and starts take.
            arrivals: jobs that enter later on, in any order.
            admit: returns the job of an arrival when its time has come; without, it is as it was given.
            follow: gives the jobs that enter before a decision as others have ended; it is called with the names of
                those that wait or hold instances.
            record: is called with each event, in order.
        """
        self.now_ms = snapshot.now_ms
        self._pools = snapshot.pools
        self._calendars = snapshot.calendars
        self._pauses = snapshot.pauses
        self._policy = snapshot.policy
        self._spot_scores = snapshot.spot_scores
        self._past_use = known(snapshot.past_use, {*snapshot.policy.teams, *snapshot.past_use, ""}, snapshot.now_ms)
        self._budget_use = dict(snapshot.budget_use)
        self._decide = decide
        self._delays = delays
        self._release_ms = delays.stop_ms if delays.release_ms is None else delays.release_ms
        #: How long the attempts that this simulation has started held their instances before they ran, ms.
        self._starting_ms: dict[str, int] = {}
        self._admit = admit
        self._follow = follow
        self._record = record
        self._arrivals = sorted(arrivals, key=lambda arrival: arrival.time_ms, reverse=True)
        #: Kept in rank order: the scheduler's own sort then takes linear time.
        self._waiting = sorted(snapshot.waiting, key=rank)
        self._in_queue = {job.name: job for job in self._waiting}
        self._allocations = {allocation.attempt: allocation for allocation in snapshot.allocations}
        self._reservations: dict[str, Demand] = {r.job: r.demand for r in snapshot.reservations}
        self._profiles: dict[str, _JobProfile] = {}
        #: When each attempt ends if nothing else happens. Entries of the heap that differ from it are out of date.
        self._ends: dict[str, int] = {}
        self._ending: list[tuple[int, int, str]] = []
        self._order = 0
        self._asked_ms: dict[str, int] = {}
        #: Instants at which nothing happens but a decision may turn out otherwise.
        self._wakes: list[int] = []
        #: Attempts that were stopped as their pool became smaller.
        self._beyond_size: set[str] = set()
        for calendar in snapshot.calendars.values():
            for change in calendar.changes:
                self._wake(change.at_ms)
        for booking in snapshot.policy.bookings:
            for at_ms in booking.decided_at(snapshot.now_ms):
                self._wake(at_ms)
        left = run_time or (lambda _: None)
        for job in self._waiting:
            self._profiles[job.name] = _JobProfile(run_ms=left(job))
            self._wake(job.not_before_ms)
        for allocation in snapshot.allocations:
            self._begin_with(allocation, left(allocation))

    @property
    def waiting(self) -> tuple[WaitingJob, ...]:
        """The waiting jobs, by :func:`headway.scheduling.ordering.rank`."""
        return tuple(self._waiting)

    @property
    def allocations(self) -> Mapping[str, Allocation]:
        """The attempts that hold instances, by name."""
        return self._allocations

    @property
    def next_ms(self) -> int | None:
        """When something happens next; None if nothing will."""
        while self._ending and self._ends.get(self._ending[0][2]) != self._ending[0][0]:
            heapq.heappop(self._ending)
        times = []
        if self._ending:
            times.append(self._ending[0][0])
        if self._arrivals:
            times.append(self._arrivals[-1].time_ms)
        if self._wakes:
            times.append(self._wakes[0])
        return min(times, default=None)

    def snapshot(self) -> Snapshot:
        """The queue as it is now."""
        return Snapshot(
            now_ms=self.now_ms,
            pools=self._pools,
            allocations=tuple(self._allocations.values()),
            reservations=tuple(Reservation(job=job, demand=demand) for job, demand in self._reservations.items()),
            waiting=tuple(self._waiting),
            pauses=self._pauses,
            policy=self._policy,
            calendars=self._calendars,
            spot_scores=self._spot_scores,
            past_use=self._past_use if self._policy.fair_share is not None else {},
            budget_use=dict(self._budget_use),
        )

    def run(self, until_ms: int | None = None) -> None:
        """Advance until nothing changes, or up to and including ``until_ms``. Begins with a decision."""
        self.decide_until_done()
        while (time_ms := self.next_ms) is not None and (until_ms is None or time_ms <= until_ms):
            self.step()

    def step(self) -> bool:
        """Process all events of the next instant, and decide. Returns whether there were any."""
        time_ms = self.next_ms
        if time_ms is None:
            return False
        # Events that are overdue at the start happen at once.
        before_ms, self.now_ms = self.now_ms, max(self.now_ms, time_ms)
        self._remember(before_ms)
        self._resize(before_ms)
        while self._ending and self._ending[0][0] <= self.now_ms:
            end_ms, _, attempt = heapq.heappop(self._ending)
            if self._ends.get(attempt) == end_ms:
                self._end(attempt)
        while self._arrivals and self._arrivals[-1].time_ms <= self.now_ms:
            self._arrive(self._arrivals.pop())
        while self._wakes and self._wakes[0] <= self.now_ms:
            heapq.heappop(self._wakes)
        self.decide_until_done()
        return True

    def _remember(self, since_ms: int) -> None:
        """Add to the past, and to budgets, what has been held since then."""
        if self._policy.budgets:
            self._take_from_budgets(since_ms)
        if self._policy.fair_share is None:
            return
        spans = (
            Span(team=each.terms.team, demand=each.demand, begin_ms=since_ms, end_ms=self.now_ms)
            for each in self._allocations.values()
            if not each.warm
        )
        half_life_ms = self._policy.fair_share.half_life_ms
        self._past_use = later(self._past_use, since_ms, self.now_ms, spans, half_life_ms)

    def _take_from_budgets(self, since_ms: int) -> None:
        held = [
            Held(
                payer=each.terms.payer,
                demand=each.demand,
                begin_ms=since_ms,
                end_ms=self.now_ms,
                beyond_budget=each.beyond_budget,
            )
            for each in self._allocations.values()
            if not each.warm
        ]
        for budget in self._policy.budgets:
            use = self._budget_use.get(budget.name, BudgetUse())
            self._budget_use[budget.name] = use.and_held(budget, held, self.now_ms)

    def _resize(self, since_ms: int) -> None:
        """Apply the changes of sizes since then."""
        sizes = {
            pool: change.size
            for pool, calendar in self._calendars.items()
            for change in calendar.changes
            if since_ms < change.at_ms <= self.now_ms
        }
        if sizes:
            self._pools = {**self._pools, **sizes}

    def decide_until_done(self) -> None:
        """Decide at the present until there is nothing left to do.

        Raises:
            InvariantViolation: the decisions come to no end.
        """
        self._let_follow()
        for _ in range(_MAX_ROUNDS):
            plan = self._decide(self.snapshot())
            for action in plan.actions:
                match action:
                    case Release():
                        self._reservations.pop(action.job, None)
                    case Start():
                        self._start(action)
                    case Preempt() | ReleaseWarm():
                        self._preempt(action)
                    case StopForSize():
                        self._stop(action)
            if not plan.actions:
                for each in plan.delayed:
                    self._wake(each.at_ms)
                for gone in spent(self._policy.budgets, self._budget_use, self.now_ms):
                    self._wake(gone.until_ms)
                return
        raise InvariantViolation(f"after {_MAX_ROUNDS} decisions at {self.now_ms} ms there is still something to do")

    def _let_follow(self) -> None:
        if self._follow is not None:
            holding = {each.job for each in self._allocations.values() if not each.warm}
            for arrival in self._follow(self._in_queue.keys() | holding):
                self._arrive(arrival)

    def _begin_with(self, allocation: Allocation, left_ms: int | None) -> None:
        """An attempt that holds its instances already when the course begins, or a warm pool."""
        if allocation.warm:
            self._end_by(allocation.attempt, max(self.now_ms, allocation.since_ms + (allocation.terms.limit_ms or 0)))
            if allocation.stopping:
                self._end_by(allocation.attempt, self.now_ms + self._release_ms)
            return
        ran_ms = self.now_ms - allocation.since_ms
        self._profiles[allocation.job] = _JobProfile(run_ms=None if left_ms is None else ran_ms + left_ms)
        self._schedule_end(allocation)
        if allocation.stopping:
            self._asked_ms[allocation.attempt] = self.now_ms
            if allocation.returns:
                self._beyond_size.add(allocation.attempt)
            self._end_by(allocation.attempt, self.now_ms + self._delays.stop_ms)
        else:
            self._wake_when_unprotected(allocation)
            self._wake_at_rises(allocation)

    def _schedule_end(self, allocation: Allocation) -> None:
        run_ms, limit_ms = self._profiles[allocation.job].run_ms, allocation.terms.limit_ms
        if run_ms is not None:
            run_ms += self._starting_ms.get(allocation.attempt, 0)
        lasts = [ms for ms in (run_ms, limit_ms) if ms is not None]
        if lasts:
            self._end_by(allocation.attempt, allocation.since_ms + min(lasts))

    def _end_by(self, attempt: str, time_ms: int) -> None:
        if attempt in self._ends and self._ends[attempt] <= time_ms:
            return
        self._ends[attempt] = time_ms
        self._order += 1
        heapq.heappush(self._ending, (time_ms, self._order, attempt))

    def _wake(self, time_ms: int) -> None:
        if time_ms > self.now_ms:
            heapq.heappush(self._wakes, time_ms)

    def _wake_when_unprotected(self, allocation: Allocation) -> None:
        """Decide again when an attempt may be preempted that may not be before."""
        from_ms = protected_until_ms(allocation, self._policy)
        if from_ms is not None:
            self._wake(from_ms)

    def _wake_at_rises(self, allocation: Allocation) -> None:
        """Decide again when an attempt rises to a further level, or more is expected of it, unless it ends before."""
        end_ms = self._ends.get(allocation.attempt)
        for at_ms in chain(rises_ms(allocation), extensions_ms(allocation)):
            if end_ms is None or at_ms < end_ms:
                self._wake(at_ms)

    def _arrive(self, arrival: Arrival) -> None:
        job = arrival.job if self._admit is None else self._admit(arrival)
        self._profiles[job.name] = _JobProfile(run_ms=arrival.run_ms)
        self._enter(job)
        self._emit(EventKind.ARRIVED, job.name, job.demand)

    def _enter(self, job: WaitingJob) -> None:
        insort(self._waiting, job, key=rank)
        self._in_queue[job.name] = job
        self._wake(job.not_before_ms)

    def _start(self, action: Start) -> None:
        job = chosen(self._leave(action.job), action.demand)
        self._reservations.pop(job.name, None)
        profile = self._profiles[job.name]
        profile.attempts += 1
        attempt = f"{job.name}-{profile.attempts}"
        while attempt in self._allocations:
            # Another job may have a name of this form.
            attempt += "x"
        allocation = Allocation(
            job=job.name,
            attempt=attempt,
            demand=job.demand,
            terms=job.terms,
            since_ms=self.now_ms,
            opportunistic=action.opportunistic,
            beyond_budget=action.beyond_budget,
        )
        warm = action.warm if isinstance(action, StartWarm) else ""
        if warm:
            self._end_warm(warm)
        self._starting_ms[attempt] = starting_ms = self._delays.warm_start_ms if warm else self._delays.cold_start_ms
        self._allocations[attempt] = replace(allocation, training_since_ms=self.now_ms + starting_ms)
        self._schedule_end(allocation)
        self._wake_when_unprotected(allocation)
        self._wake_at_rises(allocation)
        self._emit(EventKind.STARTED, job.name, job.demand, attempt, warm=warm)

    def _leave(self, name: str) -> WaitingJob:
        job = self._in_queue.pop(name, None)
        if job is None:
            raise InvariantViolation(f"{name} is started but does not wait")
        del self._waiting[bisect_left(self._waiting, rank(job), key=rank)]
        return job

    def _preempt(self, action: Preempt | ReleaseWarm) -> None:
        victim = self._allocations[action.attempt]
        self._allocations[action.attempt] = replace(
            victim, stopping=True, freed_for=action.for_job, freed=dict(action.freed)
        )
        if isinstance(action, ReleaseWarm):
            self._end_by(action.attempt, self.now_ms + self._release_ms)
            return
        self._end_by(action.attempt, self.now_ms + self._delays.stop_ms)
        self._asked_ms[action.attempt] = self.now_ms
        self._emit(EventKind.PREEMPTED, victim.job, victim.demand, victim.attempt)

    def _stop(self, action: StopForSize) -> None:
        stopped = self._allocations[action.attempt]
        self._allocations[action.attempt] = replace(stopped, stopping=True)
        if stopped.warm:
            self._end_by(action.attempt, self.now_ms + self._release_ms)
            return
        self._beyond_size.add(action.attempt)
        self._asked_ms[action.attempt] = self.now_ms
        self._end_by(action.attempt, self.now_ms + self._delays.stop_ms)

    def _end(self, attempt: str) -> None:
        if self._allocations[attempt].warm:
            self._end_warm(attempt)
            return
        ended = self._allocations.pop(attempt)
        due_ms = self._ends.pop(attempt)
        asked_ms = self._asked_ms.pop(attempt, None)
        self._give_back(ended)
        profile = self._profiles[ended.job]
        held_ms = due_ms - ended.since_ms
        starting_ms = self._starting_ms.pop(attempt, 0)
        ran_ms = max(0, held_ms - starting_ms)
        # A job that finishes at or before its stop has completed.
        if profile.run_ms is not None and profile.run_ms <= ran_ms:
            self._emit(EventKind.COMPLETED, ended.job, ended.demand, attempt)
        elif ended.terms.limit_ms is not None and ended.terms.limit_ms <= held_ms:
            self._emit(EventKind.TIMED_OUT, ended.job, ended.demand, attempt)
        elif ended.freed_for is None and attempt not in self._beyond_size:
            self._emit(EventKind.STOPPED, ended.job, ended.demand, attempt)
        else:
            asked_ms = due_ms if asked_ms is None else asked_ms
            trained_ms = asked_ms - ended.since_ms - starting_ms
            # When SageMaker will have instances for it is not known.
            if not ended.lacks_instances:
                self._yield(ended, profile, held_ms, max(0, trained_ms), asked_ms)
            return
        if not ended.stopping and ended.terms.keep_ms:
            self._keep(ended)

    def _keep(self, ended: Allocation) -> None:
        """An attempt leaves a warm pool. That of a stopped one is released at once, and is left out here."""
        terms = replace(
            ended.terms,
            limit_ms=ended.terms.keep_ms,
            warm_key="",
            keep_ms=0,
            standing=replace(ended.terms.standing, left_ms=None, attained_ms=None),
        )
        pool = replace(
            ended,
            terms=terms,
            since_ms=self.now_ms,
            warm=ended.terms.warm_key,
            stopping=False,
            opportunistic=False,
            beyond_budget=False,
        )
        self._allocations[pool.attempt] = pool
        self._end_by(pool.attempt, self.now_ms + ended.terms.keep_ms)
        self._emit(EventKind.KEPT, pool.job, pool.demand, pool.attempt)

    def _end_warm(self, attempt: str) -> None:
        pool = self._allocations.pop(attempt)
        self._ends.pop(attempt, None)
        self._give_back(pool)
        self._emit(EventKind.KEPT_ENDED, pool.job, pool.demand, attempt)

    def _give_back(self, ended: Allocation) -> None:
        """Reserve what was freed for a job that waits."""
        if ended.freed_for is not None and ended.freed_for in self._in_queue and ended.freed:
            self._reservations[ended.freed_for] = plus(self._reservations.get(ended.freed_for, {}), ended.freed)

    def _yield(self, ended: Allocation, profile: _JobProfile, held_ms: int, trained_ms: int, asked_ms: int) -> None:
        kept_ms = 0
        every_ms = interval_ms(ended, self._policy) or self._policy.checkpoint_interval_ms
        if ended.terms.checkpoints:
            # Checkpoints are written at equal intervals from the start; the work since the last one is lost.
            kept_ms = trained_ms - (trained_ms % every_ms if every_ms else 0)
        if profile.run_ms is not None:
            profile.run_ms -= kept_ms
        # Whether the last checkpoint was written is not known to a queue.
        sure_ms = max(0, trained_ms - every_ms) if ended.terms.checkpoints else 0
        terms = replace(
            ended.terms,
            standing=standing_after(ended, asked_ms, sure_ms),
            preemptions=ended.terms.preemptions + (ended.freed_for is not None),
        )
        self._enter(WaitingJob(name=ended.job, demand=ended.demand, terms=terms))
        self._emit(EventKind.PREEMPTED_ENDED, ended.job, ended.demand, ended.attempt, lost_ms=held_ms - kept_ms)

    def _emit(
        self, kind: EventKind, job: str, demand: Demand, attempt: str = "", *, lost_ms: int = 0, warm: str = ""
    ) -> None:
        if self._record is not None:
            self._record(
                Event(
                    time_ms=self.now_ms,
                    kind=kind,
                    job=job,
                    demand=demand,
                    attempt=attempt,
                    lost_ms=lost_ms,
                    warm=warm,
                )
            )
