"""Carries out the actions of a plan: writes the intent of each, then has the launcher call SageMaker.

Intents are written one after the other, as those of a pool change the same item. Launches wait for SageMaker in
parallel: its answer takes many times as long as a write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from headway.errors import InvalidTransition
from headway.lifecycle import AttemptState
from headway.model import Demand, WaitingJob
from headway.plan import Action, Plan, Preempt, Release, ReleaseWarm, Start, StartWarm, StopForSize
from headway.policy import Policy
from headway.scheduling.alternatives import chosen
from headway.scheduling.backfill.size_changes import crosses
from headway.scheduling.lost_work.lost import work_lost_ms
from headway_service.errors import Conflict, OutcomeUnknown, UnreadableRecord
from headway_service.launching.launcher import Launcher
from headway_service.launching.launches import Launch, LaunchesInFlight
from headway_service.launching.planned_jobs import PlannedJobs
from headway_service.launching.report import TickReport
from headway_service.observability import metrics
from headway_service.observability.isolation import Isolation, Outcome
from headway_service.observability.logging import logger
from headway_service.observability.metrics import MetricValue
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Table, Write
from headway_service.sagemaker_api.names import attempt_name
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.marks import Marks
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import CalendarRecord, PauseRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.repository import find_job

MAX_REJECTIONS = 10
"""Conflicts about the start of one job after which a tick decides without the job: others may start in its place."""

_ATTEMPT = "an attempt"

RESERVED_MS = 10_000
"""A tick begins no further action when its invocation has less time left than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A plan with the state that it was made from."""

    plan: Plan
    ledger: Ledger
    #: The jobs that waited when the plan was made, by name.
    waiting: Mapping[str, WaitingJob]
    #: The time that it was made for, ms; None if its starts do not depend on it.
    decided_ms: int | None = None


class Executor:
    """Carries out actions for one tick.

    Args:
        table: the table.
        launcher: launches and stops attempts.
        calls: makes the calls that launch them.
        clock: the training time, ms.
        machine_clock: the machine time, ms.
        marks: makes the marks of attempts.
        deadline_ms: when this invocation ends, machine time, ms.
        policy: the policy in force.
        has_rules: whether the configuration has rules on jobs, which each new attempt is checked against.
        report: gets the name of the job of each action.
        isolation: does the work on each record by itself.

    Attributes:
        report: the actions so far.
        figures: metrics to publish when the tick is over: one log line for each start would cost more.
    """

    def __init__(
        self,
        *,
        table: Table,
        launcher: Launcher,
        calls: ParallelCalls,
        clock: Callable[[], int],
        machine_clock: Callable[[], int],
        marks: Marks,
        deadline_ms: int,
        policy: Policy,
        has_rules: bool,
        report: TickReport,
        isolation: Isolation,
    ) -> None:
        self._table = table
        self._launcher = launcher
        self._launches = LaunchesInFlight(calls)
        self._clock = clock
        self._machine_clock = machine_clock
        self._marks = marks
        self._deadline_ms = deadline_ms
        self._policy = policy
        self._has_rules = has_rules
        self.report = report
        self._isolation = isolation
        self.figures: list[MetricValue] = []
        #: Starts of each team since the ledger was read.
        self._started: Counter[str] = Counter()
        #: Starts in each pool since then.
        self._started_in: Counter[str] = Counter()
        #: What is published of a start once SageMaker has accepted it, by attempt.
        self._times: dict[str, list[MetricValue]] = {}
        #: Attempts without a clear response from SageMaker. The next tick retries, this one does not.
        self._unclear: set[str] = set()

    def has_time(self) -> bool:
        """Whether this invocation has time for another action."""
        return self._machine_clock() < self._deadline_ms - RESERVED_MS

    @property
    def passed_over(self) -> frozenset[str]:
        """Jobs that this tick could not start, and that no further decision of it considers."""
        return self._isolation.left_alone(Start.__name__) | self._isolation.left_alone(StartWarm.__name__)

    def update(self, ledger: Ledger) -> None:
        """Apply the ledger's back-offs and pauses."""
        self._launcher.update(ledger)

    def execute_left(self, ledger: Ledger, has_time: Callable[[], bool]) -> bool:
        """Launch and stop the attempts that an earlier invocation, or round, has left.

        Args:
            ledger: the ledger.
            has_time: whether there is time for another one.

        Returns:
            Whether there was any, so that the ledger has to be read again.
        """
        due = self._pending(ledger)
        self._settled(lambda: self._execute_all(due, has_time))
        return bool(due)

    def drain(self, ledger: Ledger, drained: Iterable[AttemptRecord]) -> bool:
        """Record that attempts have to stop because their pools are drained. The next round stops them in SageMaker.

        Args:
            ledger: the ledger.
            drained: these attempts.

        Returns:
            Whether there was any, so that the ledger has to be read again.
        """
        changed = False
        for attempt in drained:
            pause = ledger.drained(attempt)
            if pause is not None:
                outcome = self._isolation.do(
                    "a drained attempt", attempt.attempt_name, partial(self._drain, attempt, pause)
                )
                changed |= outcome.reads_again
        return changed

    def settle_warm_pools(self, ledger: Ledger, has_time: Callable[[], bool]) -> bool:
        """Ask SageMaker about the warm pools that are soon gone, while there is time. Returns whether any is gone."""
        settle = self._launcher.warm_pools.settle
        return settle(ledger.warm_pools, self._clock(), soon_gone=True, has_time=has_time)

    def _pending(self, ledger: Ledger) -> list[AttemptRecord]:
        """The attempts that are to be launched or stopped, first those that were not tried for the longest time."""
        due = filter(self._is_pending, ledger.attempts)
        return sorted(due, key=lambda each: (each.lease_until_ms, each.attempt_name))

    def apply(self, decision: Decision) -> bool:
        """Carry out the actions of a plan, each with its intent written first.

        A rejected action, or one that there was no time for, waits for another decision.

        Returns:
            Whether all actions were carried out as decided.
        """
        self._started.clear()
        self._started_in.clear()
        return self._settled(lambda: self._carry_out(decision))

    def _carry_out(self, decision: Decision) -> bool:
        """Write the intents of a plan and begin its launches. Returns whether all went as decided so far."""
        as_decided, actions = True, decision.plan.actions
        jobs = PlannedJobs(self._table, actions)
        for action in actions:
            # First, so that a missing answer is known, and the call follows its intent at once.
            as_decided &= self._settle_before(launches=isinstance(action, Start))
            if not self.has_time():
                return False
            if isinstance(action, Start | Preempt) and self._launcher.is_backing_off(_for_launch(action)):
                # SageMaker stopped answering after this was decided.
                as_decided = False
                continue
            try:
                attempt = self._write(action, decision, jobs)
            except (Conflict, InvalidTransition) as error:
                as_decided = False
                self._isolation.conflicted(type(action).__name__, action.job, error, most=MAX_REJECTIONS)
                continue
            except UnreadableRecord as error:
                as_decided = False
                self._isolation.leave_alone(type(action).__name__, action.job, error)
                continue
            if attempt is None and not isinstance(action, Release):
                # The next round has SageMaker release it.
                as_decided = False
            elif attempt is None:
                # The same plan may start the job that lost its reservation, on other instances.
                decision = replace(decision, ledger=decision.ledger.without_reservation(action.job))
            elif self._is_pending(attempt):
                as_decided &= self._execute(attempt)
        return as_decided

    def _settled(self, work: Callable[[], bool]) -> bool:
        """Do work that begins launches, and settle all of them: only this invocation knows their answers.

        Returns:
            Whether all went as decided.
        """
        try:
            as_decided = work()
        except Exception:
            self._settle_all()
            raise
        return self._settle_all() and as_decided

    def _settle_all(self) -> bool:
        """Settle all launches in flight. Returns whether they went as decided.

        Raises:
            Exception: one could not be settled; the first error. All others are.
        """
        as_decided, failed = True, None
        while self._launches:
            try:
                self._launches.wait()
                as_decided &= self._settle_each(self._launches.pop_ended)
            except Exception as error:  # noqa: BLE001 - raised when the others are settled
                logger.warning("a launch is not settled", extra={"error": repr(error)})
                failed = failed or error
        if failed is not None:
            raise failed
        return as_decided

    def _settle_before(self, *, launches: bool) -> bool:
        """Settle launches before another action: to make room if it launches, otherwise all that have ended.

        A stop takes as long as a launch, and many may follow, so what is known is recorded before.

        Returns:
            Whether they went as decided.
        """
        return self._make_room() if launches else self._settle_each(self._launches.pop_ended)

    def _make_room(self) -> bool:
        """Settle the launches that have failed, and wait until another one may begin.

        Of those that SageMaker has accepted it settles only as many as have to make room: while one is settled, fewer
        calls are in flight than may be.

        Returns:
            Whether they went as decided.
        """
        as_decided = self._settle_each(self._launches.pop_failed)
        while len(self._launches) >= self._launcher.launches_at_once:
            self._launches.wait()
            as_decided &= self._settle_each(self._launches.pop_failed)
            if (accepted := self._launches.pop_ended()) is not None:
                as_decided &= self._settle(accepted)
        return as_decided

    def _settle_each(self, pop: Callable[[], Launch | None]) -> bool:
        """Settle launches as long as there are any. Returns whether they went as decided."""
        as_decided = True
        while (ended := pop()) is not None:
            as_decided &= self._settle(ended)
        return as_decided

    def _settle(self, ended: Launch) -> bool:
        as_decided = self._reconcile(ended.attempt, partial(self._launcher.reconcile_intent, launch=ended))
        if self._launcher.has_accepted(ended.attempt):
            self.report.launched.append(ended.attempt.job_name)
            self.figures += self._times.pop(ended.attempt.attempt_name, [])
        return as_decided

    def _execute_all(self, due: Iterable[AttemptRecord], has_time: Callable[[], bool]) -> bool:
        """Launch or stop attempts that an earlier invocation or round has left. Returns whether all went as decided."""
        as_decided = True
        for attempt in due:
            if not has_time():
                return False
            as_decided &= self._settle_before(launches=self._launcher.needs_call(attempt))
            # The pool may back off by now.
            if self._is_pending(attempt):
                begun = self._isolation.do(_ATTEMPT, attempt.attempt_name, partial(self._execute, attempt))
                as_decided &= begun is Outcome.CHANGED
            else:
                as_decided = False
        return as_decided

    def _is_pending(self, attempt: AttemptRecord) -> bool:
        """Whether there is anything to launch or to stop now.

        What had no clear answer is left to the next tick, also if it is preempted meanwhile: as another holder of the
        lease, that one takes a launch for unanswered, and asks SageMaker before it ends the attempt.
        """
        if attempt.attempt_name in self._unclear or self._isolation.is_left_alone(_ATTEMPT, attempt.attempt_name):
            return False
        return self._launcher.pending(attempt)

    def _execute(self, attempt: AttemptRecord) -> bool:
        """Begin to launch, or stop, an attempt. Returns whether it went as decided so far."""
        if not self.has_time():
            return False
        return self._reconcile(attempt, self._begin)

    def _begin(self, attempt: AttemptRecord, now_ms: int) -> bool:
        attempt = self._launcher.take(attempt)
        if not self._launcher.needs_call(attempt):
            return self._launcher.reconcile_intent(attempt, now_ms)
        self._launches.begin(attempt, partial(self._launcher.create, attempt), now_ms)
        return True

    def _reconcile(self, attempt: AttemptRecord, step: Callable[[AttemptRecord, int], bool]) -> bool:
        """Do a step to reconcile an attempt. Returns whether it went as decided."""
        try:
            return step(attempt, self._clock())
        except (Conflict, InvalidTransition) as error:
            self._isolation.conflicted(_ATTEMPT, attempt.attempt_name, error)
        except UnreadableRecord as error:
            self._isolation.leave_alone(_ATTEMPT, attempt.attempt_name, error)
        except OutcomeUnknown as error:
            self.report.unclear += 1
            self._unclear.add(attempt.attempt_name)
            logger.warning(
                "no clear answer",
                extra={"job": attempt.job_name, "attempt": attempt.attempt_name, "error": str(error)},
            )
        return False

    def _drain(self, attempt: AttemptRecord, pause: PauseRecord) -> bool:
        try:
            self._table.write(
                transitions.drain(_existing(find_job(self._table, attempt.job_name)), attempt, pause, self._clock())
            )
        except InvalidTransition as error:
            # Its job was changed meanwhile.
            raise Conflict([0]) from error
        self.report.drained.append(attempt.job_name)
        return True

    def _write(self, action: Action, decision: Decision, jobs: PlannedJobs) -> AttemptRecord | None:
        """Write the intent of an action. Returns the attempt to launch or to stop now."""
        now_ms, ledger = self._clock(), decision.ledger
        match action:
            case Release():
                reservation = ledger.reservation_of(action.job)
                if reservation is not None:
                    self._table.write(transitions.free(reservation))
                    self.report.released.append(action.job)
                return None
            case Start():
                job = _existing(jobs.take(action.job))
                attempt = self._attempt(
                    _before_free_name(job.in_pools(action.demand), ledger), now_ms, on_leftovers=action.on_leftovers
                )
                self._table.write(self._start(job, attempt, action, decision, now_ms))
                self._started[job.team] += 1
                self._started_in.update(attempt.demand.keys())
                self.report.started.append(action.job)
                self._times[attempt.attempt_name] = metrics.time_to_start(job.on(attempt.alternative), now_ms)
                return attempt
            case Preempt():
                attempt, writes = self._preempt(action, decision, jobs, now_ms)
                self._table.write(writes)
                if attempt.lacks_instances:
                    self.report.gave_way.append(action.job)
                    return attempt
                self.report.preempted.append(action.job)
                lost_ms = work_lost_ms(attempt.allocation(), now_ms, self._policy)
                self.figures.append(metrics.WORK_LOST.of(lost_ms / 1000))
                return attempt
            case StopForSize():
                pool = ledger.warm_pool_of(action.attempt)
                if pool is not None:
                    self._table.write(transitions.release_warm_pool(pool, now_ms))
                    self.report.warm_released.append(action.job)
                    return None
                attempt, writes = self._stop_for_size(action, ledger, jobs, now_ms)
                self._table.write(writes)
                self.report.shrunk.append(action.job)
                return attempt
            case ReleaseWarm():
                pool = ledger.warm_pool_of(action.attempt)
                if pool is None:
                    raise Conflict([0])
                writes = transitions.release_warm_pool_for(
                    pool, jobs.take(action.job), action.for_job, action.freed, action.reason, now_ms
                )
                self._table.write(writes)
                self.report.warm_released.append(action.job)
                return None

    def _attempt(self, job: JobRecord, now_ms: int, *, on_leftovers: bool = False) -> AttemptRecord:
        name = attempt_name(job.job_name, job.attempt_count + 1)
        return AttemptRecord.next_of(
            job,
            attempt_state=AttemptState.LAUNCHING,
            mark=self._marks.of(job.job_name, name, job.accepted_time),
            ruled=not self._has_rules,
            on_leftovers=on_leftovers,
            since_ms=now_ms,
            lease_holder=self._launcher.holder,
            lease_until_ms=self._launcher.lease_until_ms,
            seen_ms=self._machine_clock(),
        )

    def _start(
        self, job: JobRecord, attempt: AttemptRecord, action: Start, decision: Decision, now_ms: int
    ) -> list[Write]:
        _require_as_decided(attempt, chosen(decision.waiting[job.job_name], action.demand))
        ledger, limited = decision.ledger, None
        if self._policy.team(job.team).limit:
            team = next((each for each in ledger.teams if each.team == job.team), None)
            if team is None:
                raise Conflict([0])
            limited = team.model_copy(update={"starts": team.starts + self._started[job.team]})
        warm = None
        if isinstance(action, StartWarm):
            warm = ledger.warm_pool_of(action.warm)
            if warm is None:
                raise Conflict([0])
        reservation = ledger.reservation_of(job.job_name)
        return transitions.start(
            job,
            attempt,
            reservation,
            action.reason,
            now_ms,
            limited=limited,
            calendars=self._calendars(attempt, decision, now_ms),
            warm=warm,
            pauses=ledger.pauses_counted(attempt.demand, self._machine_clock()),
        )

    def _calendars(self, attempt: AttemptRecord, decision: Decision, now_ms: int) -> list[CalendarRecord]:
        """The calendars that a start is conditional on.

        Raises:
            Conflict: so much time has passed since the decision that the job would run into another change.
        """
        calendars = [each for each in decision.ledger.calendars if each.pool in attempt.demand]
        if calendars and attempt.limit_ms is not None and decision.decided_ms is not None:
            by_pool = {each.pool: each.calendar(decision.decided_ms) for each in calendars}
            due_ms, end_ms = decision.decided_ms + attempt.limit_ms, now_ms + attempt.limit_ms
            if crosses(by_pool, attempt.demand, due_ms, end_ms, stops_for_size=attempt.stops_for_size):
                raise Conflict([0])
        return [
            calendar.model_copy(update={"version": calendar.version + self._started_in[calendar.pool]})
            for calendar in calendars
        ]

    def _preempt(
        self, action: Preempt, decision: Decision, jobs: PlannedJobs, now_ms: int
    ) -> tuple[AttemptRecord, list[Write]]:
        attempt = decision.ledger.attempt_of(action.job)
        if attempt is None:
            raise Conflict([0])
        job = _existing(jobs.take(action.job))
        preemptor = decision.waiting[action.for_job]
        return transitions.preempt(job, attempt, preemptor, action.freed, action.reason, now_ms)

    def _stop_for_size(
        self, action: StopForSize, ledger: Ledger, jobs: PlannedJobs, now_ms: int
    ) -> tuple[AttemptRecord, list[Write]]:
        attempt = ledger.attempt_of(action.job)
        if attempt is None:
            raise Conflict([0])
        return transitions.stop_for_size(_existing(jobs.take(action.job)), attempt, action, now_ms)


def _before_free_name(job: JobRecord, ledger: Ledger) -> JobRecord:
    """The job, as if it had had the attempts whose names attempts of other jobs have: those may run for days."""
    used = {each.attempt_name for each in ledger.attempts}
    while attempt_name(job.job_name, job.attempt_count + 1) in used:
        job = job.model_copy(update={"attempt_count": job.attempt_count + 1})
    return job


def _existing(job: JobRecord | None) -> JobRecord:
    """A job that a decision has seen.

    Raises:
        Conflict: it is gone.
    """
    if job is None:
        raise Conflict([0])
    return job


def _require_as_decided(attempt: AttemptRecord, decided: WaitingJob) -> None:
    """Check that the next attempt of a job still asks for what the decision to start it was about.

    Args:
        attempt: the next attempt, as its job is now.
        decided: the job on the alternative that was decided on.

    Raises:
        Conflict: its request was changed since, or the job can no longer run on that alternative.
    """
    if (attempt.demand, attempt.team, attempt.limit_ms) != (
        dict(decided.demand),
        decided.terms.team,
        decided.terms.limit_ms,
    ):
        raise Conflict([0])
    if attempt.warm_key != decided.terms.warm_key:
        raise Conflict([0])


def _for_launch(action: Start | Preempt | ReleaseWarm) -> Demand:
    """The instances that an action launches on, or frees for a launch."""
    return action.demand if isinstance(action, Start) else action.freed
