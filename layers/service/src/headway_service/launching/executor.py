"""Carries out the actions of a plan: writes the intent of each, then has the launcher call SageMaker.

Intents are written one after the other, as those of a pool change the same item. Launches wait for SageMaker in
parallel (:mod:`headway_service.launching.launches`): its answer takes many times as long as a write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from headway.errors import InvalidTransition
from headway.model import Demand
from headway.plan import Action, Preempt, Release, Start, StartWarm
from headway_service.errors import Conflict, OutcomeUnknown, UnreadableRecord
from headway_service.invocation import Invocation
from headway_service.launching.decision import Decision
from headway_service.launching.intents import Intent, Intents
from headway_service.launching.launcher import Launcher
from headway_service.launching.launches import Launch
from headway_service.launching.planned_jobs import PlannedJobs
from headway_service.launching.report import TickReport
from headway_service.observability.isolation import Isolation, Outcome
from headway_service.observability.logging import logger
from headway_service.observability.metrics import MetricValue
from headway_service.ports.table import Table
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.ledger import PauseRecord
from headway_service.store.repository import find_job

MAX_REJECTIONS = 10
"""Conflicts about the start of one job after which a tick decides without the job: others may start in its place."""

_ATTEMPT = "an attempt"

RESERVED_MS = 10_000
"""A tick begins no further action when its invocation has less time left than this."""


class Executor:
    """Carries out actions for one tick.

    Args:
        launcher: launches and stops attempts.
        intents: makes the intents of the actions.
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
        intents: Intents,
        invocation: Invocation,
        report: TickReport,
        isolation: Isolation,
    ) -> None:
        self._table = table
        self._launcher = launcher
        self._launches = launcher.in_flight(self._reconcile_launch)
        self._intents = intents
        self._invocation = invocation
        self._clocks = invocation.clocks
        self.report = report
        self._isolation = isolation
        self.figures: list[MetricValue] = []
        #: What is published of a start once SageMaker has accepted it, by attempt.
        self._figures_of: dict[str, Sequence[MetricValue]] = {}
        #: Attempts without a clear response from SageMaker. The next tick retries, this one does not.
        self._unclear: set[str] = set()

    def has_time(self) -> bool:
        """Whether this invocation has time for another action."""
        return self._invocation.has_time(RESERVED_MS)

    @property
    def passed_over(self) -> frozenset[str]:
        """Jobs that this tick could not start, and that no further decision of it considers."""
        return self._isolation.left_alone(Start.__name__) | self._isolation.left_alone(StartWarm.__name__)

    def update(self, ledger: Ledger) -> None:
        """Apply the ledger's back-offs, sizes and pauses."""
        self._launcher.update(ledger)

    def execute_left(self, ledger: Ledger, has_time: Callable[[], bool]) -> bool:
        """Launch and stop the attempts that an earlier invocation, or round, has left.

        Args:
            has_time: whether there is time for another one.

        Returns:
            Whether there was any, so that the ledger has to be read again.
        """
        due = self._pending(ledger)
        self._to_the_end(lambda: self._execute_all(due, has_time))
        return bool(due)

    def drain(self, ledger: Ledger, drained: Iterable[AttemptRecord]) -> bool:
        """Record that attempts have to stop because their pools are drained. The next round stops them in SageMaker.

        Args:
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

    def track_warm_pools(self, ledger: Ledger, has_time: Callable[[], bool]) -> bool:
        """Ask SageMaker about the warm pools that are soon gone, while there is time. Returns whether any is gone."""
        settle = self._launcher.warm_pools.track
        return settle(ledger.warm_pools, self._clocks.training_ms(), soon_gone=True, has_time=has_time)

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
        return self._to_the_end(lambda: self._carry_out(decision))

    def _carry_out(self, decision: Decision) -> bool:
        """Write the intents of a plan and begin its launches. Returns whether all went as decided so far."""
        as_decided, actions = True, decision.plan.actions
        jobs = PlannedJobs(self._table, actions)
        for action in actions:
            # First, so that a missing answer is known, and the call follows its intent at once.
            as_decided &= self._reconcile_before(launches=isinstance(action, Start))
            if not self.has_time():
                return False
            if isinstance(action, Start | Preempt) and self._launcher.is_backing_off(_for_launch(action)):
                # SageMaker stopped answering after this was decided.
                as_decided = False
                continue
            try:
                intent = self._intents.of(action, jobs.next_for(action), decision, self._clocks.training_ms())
                self._write(action, intent)
            except (Conflict, InvalidTransition) as error:
                as_decided = False
                self._isolation.conflicted(type(action).__name__, action.job, error, most=MAX_REJECTIONS)
                continue
            except UnreadableRecord as error:
                as_decided = False
                self._isolation.leave_alone(type(action).__name__, action.job, error)
                continue
            decision = decision.after(action, intent.attempt)
            if intent.attempt is not None:
                as_decided &= not self._is_pending(intent.attempt) or self._execute(intent.attempt)
            elif not isinstance(action, Release):
                # The next round has SageMaker release it.
                as_decided = False
        return as_decided

    def _write(self, action: Action, intent: Intent) -> None:
        if not intent.writes:
            return
        self._table.write(intent.writes)
        self.report.note(action, intent.attempt)
        if intent.attempt is not None and isinstance(action, Start):
            self._figures_of[intent.attempt.attempt_name] = intent.figures
        else:
            self.figures += intent.figures

    def _to_the_end(self, work: Callable[[], bool]) -> bool:
        """Do work that begins launches, and reconcile all of them. Returns whether all went as decided."""
        try:
            as_decided = work()
        except Exception:
            self._launches.reconcile_all()
            raise
        return self._launches.reconcile_all() and as_decided

    def _reconcile_before(self, *, launches: bool) -> bool:
        """Reconcile launches before another action: to make room if it launches, otherwise all that have ended.

        A stop takes as long as a launch, and many may follow, so what is known is recorded before.

        Returns:
            Whether they went as decided.
        """
        return self._launches.make_room() if launches else self._launches.reconcile_ended()

    def _reconcile_launch(self, launch: Launch) -> bool:
        attempt = launch.attempt
        as_decided = self._reconcile(attempt, partial(self._launcher.reconcile_intent, launch=launch))
        if self._launcher.has_accepted(attempt):
            self.report.launched.append(attempt.job_name)
            self.figures += self._figures_of.pop(attempt.attempt_name, ())
        return as_decided

    def _execute_all(self, due: Iterable[AttemptRecord], has_time: Callable[[], bool]) -> bool:
        """Launch or stop attempts that an earlier invocation or round has left. Returns whether all went as decided."""
        as_decided = True
        for attempt in due:
            if not has_time():
                return False
            as_decided &= self._reconcile_before(launches=self._launcher.needs_call(attempt))
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
        attempt = self._launcher.lease(attempt)
        if not self._launcher.needs_call(attempt):
            return self._launcher.reconcile_intent(attempt, now_ms)
        self._launches.begin(attempt, partial(self._launcher.create, attempt), now_ms)
        return True

    def _reconcile(self, attempt: AttemptRecord, step: Callable[[AttemptRecord, int], bool]) -> bool:
        """Do a step to reconcile an attempt. Returns whether it went as decided."""
        try:
            return step(attempt, self._clocks.training_ms())
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
        job = find_job(self._table, attempt.job_name)
        if job is None:
            raise Conflict.stale()
        try:
            self._table.write(transitions.drain(job, attempt, pause, self._clocks.training_ms()))
        except InvalidTransition as error:
            # Its job was changed meanwhile.
            raise Conflict.stale() from error
        self.report.drained.append(attempt.job_name)
        return True


def _for_launch(action: Start | Preempt) -> Demand:
    """The instances that an action launches on, or frees for a launch."""
    return action.demand if isinstance(action, Start) else action.freed
