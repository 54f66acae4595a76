"""One tick: read a snapshot, decide, check, apply, launch and stop. Safe to run twice at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from headway.errors import InvalidTransition
from headway.lifecycle import AttemptState
from headway.model import Demand, Snapshot, WaitingJob
from headway.plan import Action, Plan, Preempt, Release, Start
from headway.policy import DEFAULT_POLICY
from headway.scheduling.invariants import verify
from headway.scheduling.ordering import work_lost_ms
from headway.vectors import free
from headway_service.errors import Conflict, Unclear
from headway_service.observability import metrics
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.observability.metrics import Figure
from headway_service.pools.apply_config import apply_configuration
from headway_service.ports.config_store import ConfigurationStore
from headway_service.ports.table import Table, Write
from headway_service.sagemaker_api.names import attempt_name
from headway_service.scheduling.decide import decide
from headway_service.scheduling.launcher import Launcher
from headway_service.store import transitions
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.marks import Marks
from headway_service.store.records.attempt import AttemptRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.records.ledger import PauseRecord
from headway_service.store.repository import find_job

MAX_ROUNDS = 20
"""Rounds of a tick. Each applies a whole plan, so more than a few mean that others change the queue as fast."""

RESERVED_MS = 10_000
"""A tick begins nothing new when its invocation has less than this left."""


@dataclass(kw_only=True, slots=True)
class TickReport:
    """What a tick did, for the log and for tests."""

    started: list[str] = field(default_factory=list)
    preempted: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    drained: list[str] = field(default_factory=list)
    rejected: int = 0
    unclear: int = 0
    rounds: int = 0
    waiting: int = 0


class Ticker:
    """Runs ticks.

    Args:
        table: the table.
        store: where the configuration document is.
        launcher: carries out what was decided.
        clock: now, ms.
        marks: makes the marks of attempts.
        deadline_ms: when this invocation dies, ms.
    """

    def __init__(
        self,
        *,
        table: Table,
        store: ConfigurationStore,
        launcher: Launcher,
        clock: Callable[[], int],
        marks: Marks,
        deadline_ms: int,
    ) -> None:
        self._table = table
        self._store = store
        self._launcher = launcher
        self._clock = clock
        self._marks = marks
        self._deadline_ms = deadline_ms
        self._policy = DEFAULT_POLICY
        #: Whether there are rules on jobs.
        self._rules = True
        #: Starts of each team since the ledger was read.
        self._started: Counter[str] = Counter()
        #: Who waited when it was decided.
        self._waiting: dict[str, WaitingJob] = {}
        #: What is to be published when the tick is over: a line for each start would be paid for by its bytes.
        self._figures: list[Figure] = []

    def run(self) -> TickReport:
        """Run rounds until there is nothing left to do now."""
        try:
            return self._run()
        finally:
            record(self._figures)
            self._figures.clear()

    def _run(self) -> TickReport:
        report = TickReport()
        configuration = apply_configuration(self._table, self._store, self._clock).configuration
        self._policy, self._rules = configuration.policy(), bool(configuration.rules)
        #: Attempts that SageMaker gave no clear answer about: the next tick asks again, this one does not insist.
        given_up: set[str] = set()
        while report.rounds < MAX_ROUNDS and self._has_time():
            report.rounds += 1
            ledger = read_ledger(self._table)
            self._launcher.learn(ledger)
            due = [
                each
                for each in ledger.attempts
                if each.attempt_name not in given_up and self._launcher.pending(each, self._clock())
            ]
            drained = [(each, pause) for each in ledger.attempts if (pause := ledger.drained(each)) is not None]
            if due or drained:
                # What an earlier invocation has left, and what has to stop anyway; both change the ledger.
                for attempt in due:
                    self._carry_out(attempt, given_up, report)
                for attempt, pause in drained:
                    self._drain(attempt, pause, report)
                continue
            snapshot, plan = decide(self._table, ledger, self._clock(), policy=self._policy)
            _check_ledger(ledger, snapshot)
            verify(snapshot, plan)
            report.waiting = len(snapshot.waiting)
            self._waiting = {job.name: job for job in snapshot.waiting}
            if self._apply(plan, ledger, given_up, report):
                # Carried out to the letter: a decision at the same moment would find nothing more to do.
                break
        logger.info(
            "tick",
            extra={
                "started": report.started,
                "preempted": report.preempted,
                "released": report.released,
                "drained": report.drained,
                "rejected": report.rejected,
                "unclear": report.unclear,
                "rounds": report.rounds,
                "waiting": report.waiting,
            },
        )
        return report

    def _has_time(self) -> bool:
        return self._clock() < self._deadline_ms - RESERVED_MS

    def _apply(self, plan: Plan, ledger: Ledger, given_up: set[str], report: TickReport) -> bool:
        """Write the intent of each action and carry it out. Returns whether all of it went as it was decided.

        What is rejected, or not reached in time, waits for another decision.
        """
        self._started.clear()
        as_decided = True
        for action in plan.actions:
            if not self._has_time():
                return False
            if not isinstance(action, Release) and self._launcher.back_offs.hold(_for_launch(action), self._clock()):
                # SageMaker stopped answering after this was decided.
                as_decided = False
                continue
            try:
                attempt = self._write(action, ledger, report)
            except (Conflict, InvalidTransition):
                as_decided = False
                report.rejected += 1
                logger.info("an action was rejected", extra={"job": action.job, "action": type(action).__name__})
                continue
            if attempt is None:
                # The same plan may start the job that lost its reservation, on something else.
                ledger = ledger.without_reservation(action.job)
            elif self._launcher.pending(attempt, self._clock()):
                as_decided &= self._carry_out(attempt, given_up, report)
        return as_decided

    def _carry_out(self, attempt: AttemptRecord, given_up: set[str], report: TickReport) -> bool:
        """Launch or stop an attempt. Returns whether it went as it was decided."""
        if not self._has_time():
            return False
        try:
            return self._launcher.settle(attempt, self._clock())
        except (Conflict, InvalidTransition):
            report.rejected += 1
        except Unclear as error:
            report.unclear += 1
            given_up.add(attempt.attempt_name)
            logger.warning(
                "no clear answer",
                extra={"job": attempt.job_name, "attempt": attempt.attempt_name, "error": str(error)},
            )
        return False

    def _drain(self, attempt: AttemptRecord, pause: PauseRecord, report: TickReport) -> None:
        """Write down that an attempt has to stop because its pool is drained; the next round asks SageMaker for it."""
        if not self._has_time():
            return
        try:
            self._table.write(transitions.drain(self._job(attempt.job_name), attempt, pause, self._clock()))
        except (Conflict, InvalidTransition):
            report.rejected += 1
        else:
            report.drained.append(attempt.job_name)

    def _write(self, action: Action, ledger: Ledger, report: TickReport) -> AttemptRecord | None:
        """Write the intent of an action. Returns the attempt that is now to be launched or stopped."""
        now_ms = self._clock()
        match action:
            case Release():
                reservation = ledger.reservation_of(action.job)
                if reservation is not None:
                    self._table.write(transitions.free(reservation))
                    report.released.append(action.job)
                return None
            case Start():
                job = self._job(action.job)
                attempt = self._attempt(job, now_ms)
                self._table.write(self._start(job, attempt, action, ledger, now_ms))
                self._started[job.team] += 1
                report.started.append(action.job)
                self._figures += metrics.time_to_start(job, now_ms)
                return attempt
            case Preempt():
                attempt, writes = self._preempt(action, ledger, now_ms)
                self._table.write(writes)
                report.preempted.append(action.job)
                lost_ms = work_lost_ms(attempt.allocation(), now_ms, self._policy)
                self._figures.append(metrics.WORK_LOST.of(lost_ms / 1000))
                return attempt

    def _attempt(self, job: JobRecord, now_ms: int) -> AttemptRecord:
        name = attempt_name(job.job_name, job.attempt_count + 1)
        return AttemptRecord.next_of(
            job,
            attempt_state=AttemptState.LAUNCHING,
            mark=self._marks.of(job.job_name, name, job.entry_time),
            ruled=not self._rules,
            since_ms=now_ms,
            lease_holder=self._launcher.holder,
            lease_until_ms=self._launcher.lease_until_ms,
            seen_ms=now_ms,
        )

    def _start(self, job: JobRecord, attempt: AttemptRecord, action: Start, ledger: Ledger, now_ms: int) -> list[Write]:
        limited = None
        if self._policy.team(job.team).limit:
            team = next((each for each in ledger.teams if each.team == job.team), None)
            if team is None:
                raise Conflict([0])
            limited = team.model_copy(update={"starts": team.starts + self._started[job.team]})
        reservation = ledger.reservation_of(job.job_name)
        return transitions.start(job, attempt, reservation, action.reason, now_ms, limited=limited)

    def _preempt(self, action: Preempt, ledger: Ledger, now_ms: int) -> tuple[AttemptRecord, list[Write]]:
        attempt = ledger.attempt_of(action.job)
        if attempt is None:
            raise Conflict([0])
        job = self._job(action.job)
        preemptor = self._waiting[action.for_job]
        return transitions.preempt(job, attempt, preemptor, action.freed, action.reason, now_ms)

    def _job(self, name: str) -> JobRecord:
        job = find_job(self._table, name)
        if job is None:
            raise Conflict([0])
        return job


def _for_launch(action: Start | Preempt) -> Demand:
    """The instances that the action is about to launch on, or to free for a launch."""
    return action.demand if isinstance(action, Start) else action.freed


def _check_ledger(ledger: Ledger, snapshot: Snapshot) -> None:
    """The ledger says what is free, and so does the sum of what is held. They differ only while others write."""
    summed = free(snapshot)
    for pool in ledger.pools:
        if pool.free != summed[pool.pool]:
            logger.warning(
                "the ledger was read while it changed",
                extra={"pool": pool.pool, "free": pool.free, "summed": summed[pool.pool]},
            )
