"""One tick: read the ledger, do chores, decide, check the plan, hand it to the executor, report. Two may run at once.

A decision is made in each tick, whatever has become of its chores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headway.model import Snapshot
from headway.plan import Plan
from headway.policy import Policy
from headway.reasons import Reason
from headway.scheduling.invariants import check_plan
from headway.vectors import free
from headway_service.arrays.advance import ArrayAdvancer
from headway_service.errors import UnreadableRecord
from headway_service.invocation import Invocation
from headway_service.launching.decision import Decision
from headway_service.launching.executor import Executor
from headway_service.launching.intents import Intents
from headway_service.launching.launcher import Launcher
from headway_service.launching.report import TickReport
from headway_service.observability.emf import record
from headway_service.observability.isolation import Isolation, Outcome
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import EffectiveConfig, apply_configuration
from headway_service.ports.table import Table
from headway_service.reuse.entry import ReuseEntry
from headway_service.scheduling.chores import Chores
from headway_service.scheduling.decide import decide
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.scheduling.giving_up import MAX_GIVEN_UP, give_up, given_up
from headway_service.scheduling.unread_jobs import search_unread
from headway_service.store.cut_queue import CutQueue
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.marks import Marks
from headway_service.store.records.job import JobRecord
from headway_service.store.turns import Turns

MAX_ROUNDS = 20
"""Rounds of a tick. Each applies a whole plan, so more than a few mean that others change the queue as fast."""


class Scheduler:
    """Runs ticks.

    Args:
        first_configuration: the document that the deployment begins with.
        launcher: launches and stops attempts.
        marks: makes the marks of attempts.
        retention_s: how long an ended job is kept, s.
        reuse: has jobs answered by equal ones.
        why: tells why a job that waits has not started.
        note_idle: notes what a plan that was carried out leaves idle: of the ledger and the snapshot that it was made
            from, and the machine time, ms.
    """

    def __init__(
        self,
        *,
        table: Table,
        first_configuration: str,
        launcher: Launcher,
        invocation: Invocation,
        marks: Marks,
        retention_s: int,
        reuse: ReuseEntry,
        why: Callable[[JobRecord], Reason],
        note_idle: Callable[[Ledger, Snapshot, Plan, int], None],
    ) -> None:
        self._table = table
        self._first_configuration = first_configuration
        self._launcher = launcher
        self._invocation = invocation
        self._clocks = invocation.clocks
        self._marks = marks
        self._retention_s = retention_s
        self._reuse = reuse
        self._why = why
        self._note_idle = note_idle

    def run(self) -> TickReport:
        """Run rounds until there is nothing left to do now."""
        in_force = apply_configuration(self._table, self._first_configuration, self._clocks)
        configuration = in_force.configuration
        policy = configuration.policy()
        report = TickReport()
        isolation = Isolation(note_conflict=report.note_conflict, note_failed=report.note_failed)
        executor = Executor(
            table=self._table,
            launcher=self._launcher,
            intents=Intents(
                marks=self._marks, invocation=self._invocation, policy=policy, has_rules=bool(configuration.rules)
            ),
            invocation=self._invocation,
            report=report,
            isolation=isolation,
        )
        chores = self._chores(in_force, executor, isolation)
        searched = False
        try:
            while report.rounds < MAX_ROUNDS and executor.has_time():
                report.rounds += 1
                ledger = read_ledger(self._table)
                executor.update(ledger)
                if chores.do(ledger):
                    continue
                machine_ms = self._clocks.machine_ms()
                snapshot, cut, decision = self._decide(ledger, machine_ms, policy, executor, isolation)
                report.waiting = len(snapshot.waiting)
                report.delayed = [each.for_job for each in decision.plan.delayed]
                as_decided = executor.apply(decision)
                report.decisions += 1
                if not searched and (cut or ledger.unread) and executor.has_time():
                    searched = True
                    search = partial(search_unread, self._table, ledger, snapshot, cut, machine_ms)
                    as_decided &= not isolation.do("jobs behind the first ones", "queues", search).reads_again
                as_decided &= not self._give_up(decision, configuration.give_up_ms, executor, isolation)
                # If all went as decided, another decision at this moment would find nothing more to do.
                if as_decided and not chores.are_cut_short:
                    if executor.has_time():
                        note = partial(self._noted_idle, ledger, snapshot, decision.plan, machine_ms)
                        isolation.do("the sums of idle time", "idle", note)
                    break
                chores.go_on()
        finally:
            record(executor.figures)
        logger.info(
            "tick",
            extra={
                "decisions": report.decisions,
                "started": report.started,
                "preempted": report.preempted,
                "gave_way": report.gave_way,
                "delayed": report.delayed,
                "released": report.released,
                "drained": report.drained,
                "shrunk": report.shrunk,
                "warm_released": report.warm_released,
                "failed": sorted(set(report.failed)),
                "launched": len(report.launched),
                "given_up": report.given_up,
                "rejected": report.rejected,
                "unclear": report.unclear,
                "rounds": report.rounds,
                "waiting": report.waiting,
            },
        )
        return report

    def _chores(self, in_force: EffectiveConfig, executor: Executor, isolation: Isolation) -> Chores:
        configuration = in_force.configuration

        def arrays(turns: Turns) -> ArrayAdvancer:
            return ArrayAdvancer(
                self._table,
                clocks=self._clocks,
                turns=turns,
                retention_s=self._retention_s,
                configuration=configuration,
                metrics_of=self._launcher.metrics_of,
                reuse=self._reuse,
                isolation=isolation,
            )

        return Chores(
            self._table,
            in_force=in_force,
            executor=executor,
            dependants=DependantNotifier(
                self._table,
                clocks=self._clocks,
                retention_s=self._retention_s,
                reuse=self._reuse,
                access=configuration.access_rules,
                isolation=isolation,
            ),
            why=self._why,
            retention_s=self._retention_s,
            arrays=arrays,
            isolation=isolation,
            clocks=self._clocks,
        )

    def _decide(
        self, ledger: Ledger, machine_ms: int, policy: Policy, executor: Executor, isolation: Isolation
    ) -> tuple[Snapshot, tuple[CutQueue, ...], Decision]:
        """Decide without what cannot be read, and check the plan."""
        for each in ledger.unreadable:
            isolation.leave_alone("an item of the ledger", f"{each.kind}#{each.name}", UnreadableRecord(each.problem))

        def note_unreadable(error: UnreadableRecord) -> None:
            isolation.leave_alone("a waiting job", str(error), error)

        now_ms = self._clocks.training_ms()
        snapshot, plan, cut = decide(
            self._table,
            ledger.in_training_time(now_ms, machine_ms),
            now_ms,
            policy=policy,
            passed_over=executor.passed_over,
            note_unreadable=note_unreadable,
        )
        _check_ledger(ledger, snapshot)
        check_plan(snapshot, plan)
        waiting = {job.name: job for job in snapshot.waiting}
        return snapshot, cut, Decision(plan=plan, ledger=ledger, waiting=waiting, decided_ms=now_ms)

    def _noted_idle(self, ledger: Ledger, snapshot: Snapshot, plan: Plan, machine_ms: int) -> bool:
        self._note_idle(ledger, snapshot, plan, machine_ms)
        return True

    def _give_up(self, decision: Decision, after_ms: int, executor: Executor, isolation: Isolation) -> bool:
        """End jobs that only their own requests have kept from starting for too long. Returns whether one ended."""
        now_ms, expires_at = self._clocks.training_ms(), self._clocks.machine_ms() // 1000 + self._retention_s
        ended = False
        for name, failed in given_up(decision.waiting.values(), after_ms, now_ms)[:MAX_GIVEN_UP]:
            if not executor.has_time():
                break
            end = partial(
                give_up,
                self._table,
                name,
                failed,
                decision.ledger,
                after_ms=after_ms,
                now_ms=now_ms,
                expires_at=expires_at,
            )
            if isolation.do("a job that is given up", name, end) is Outcome.CHANGED:
                executor.report.given_up.append(name)
                ended = True
        return ended


def _check_ledger(ledger: Ledger, snapshot: Snapshot) -> None:
    """The free counters and the sums of the holders must agree. They differ only during concurrent writes."""
    summed = free(snapshot)
    for pool in ledger.pools:
        if pool.free != summed[pool.pool]:
            logger.warning(
                "the ledger was read while it changed",
                extra={"pool": pool.pool, "free": pool.free, "summed": summed[pool.pool]},
            )
