"""One tick: read the ledger, decide, check the plan, hand it to the executor, report. Two may run at once."""

from __future__ import annotations

from collections.abc import Callable

from headway.model import Snapshot
from headway.plan import Plan
from headway.scheduling.invariants import check_plan
from headway.vectors import free
from headway_service.arrays.advance import ArrayAdvancer
from headway_service.observability.emf import record
from headway_service.observability.logging import logger
from headway_service.pools.apply_config import apply_configuration
from headway_service.pools.follow_schedules import follow_schedules
from headway_service.pools.removed_pools import forget_removed_pools
from headway_service.ports.config_store import ConfigurationStore
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.ports.table import Table
from headway_service.reuse.entry import ReuseEntry
from headway_service.scheduling.decide import decide
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.scheduling.executor import Decision, Executor, TickReport
from headway_service.scheduling.launcher import Launcher
from headway_service.store.ledger import Ledger, read_ledger
from headway_service.store.marks import Marks

MAX_ROUNDS = 20
"""Rounds of a tick. Each applies a whole plan, so more than a few mean that others change the queue as fast."""


class Scheduler:
    """Runs ticks.

    Args:
        table: the table.
        store: where the configuration document is.
        launcher: launches and stops attempts.
        calls: makes the calls that launch them.
        clock: the training time, ms.
        machine_clock: the machine time, ms.
        marks: makes the marks of attempts.
        deadline_ms: when this invocation ends, machine time, ms.
        retention_s: how long an ended job is kept, s.
        reuse: has jobs answered by equal ones.
        note_idle: notes what a plan that was carried out leaves idle: of the ledger and the snapshot that it was made
            from, and the machine time, ms.
    """

    def __init__(
        self,
        *,
        table: Table,
        store: ConfigurationStore,
        launcher: Launcher,
        calls: ParallelCalls,
        clock: Callable[[], int],
        machine_clock: Callable[[], int],
        marks: Marks,
        deadline_ms: int,
        retention_s: int,
        reuse: ReuseEntry,
        note_idle: Callable[[Ledger, Snapshot, Plan, int], None],
    ) -> None:
        self._table = table
        self._store = store
        self._launcher = launcher
        self._calls = calls
        self._clock = clock
        self._machine_clock = machine_clock
        self._marks = marks
        self._deadline_ms = deadline_ms
        self._retention_s = retention_s
        self._reuse = reuse
        self._note_idle = note_idle

    def run(self) -> TickReport:
        """Run rounds until there is nothing left to do now."""
        in_force = apply_configuration(self._table, self._store, self._machine_clock)
        configuration = in_force.configuration
        policy = configuration.policy()
        executor = Executor(
            table=self._table,
            launcher=self._launcher,
            calls=self._calls,
            clock=self._clock,
            machine_clock=self._machine_clock,
            marks=self._marks,
            deadline_ms=self._deadline_ms,
            policy=policy,
            has_rules=bool(configuration.rules),
            warm_rules=configuration.kept_warm_pools,
            dependants=DependantNotifier(
                self._table,
                clock=self._clock,
                machine_clock=self._machine_clock,
                retention_s=self._retention_s,
                reuse=self._reuse,
                access=configuration.access_rules,
            ),
        )
        arrays = ArrayAdvancer(
            self._table,
            clock=self._clock,
            machine_clock=self._machine_clock,
            has_time=executor.has_time,
            retention_s=self._retention_s,
            reserved_heads=policy.reserved_heads,
            metrics_of=self._launcher.metrics_of,
            reuse=self._reuse,
            access=configuration.access_rules,
            note_failed=executor.report.failed.append,
        )
        report = executor.report
        try:
            while report.rounds < MAX_ROUNDS and executor.has_time():
                report.rounds += 1
                ledger = read_ledger(self._table)
                if follow_schedules(self._table, in_force, ledger, self._clock()):
                    continue
                if forget_removed_pools(self._table, in_force, ledger):
                    continue
                if executor.recover(ledger) or arrays.advance(ledger):
                    continue
                now_ms, machine_ms = self._clock(), self._machine_clock()
                at_now = ledger.in_training_time(now_ms, machine_ms)
                snapshot, plan = decide(self._table, at_now, now_ms, policy=policy)
                report.decisions += 1
                _check_ledger(ledger, snapshot)
                check_plan(snapshot, plan)
                report.waiting = len(snapshot.waiting)
                report.delayed = [each.for_job for each in plan.delayed]
                waiting = {job.name: job for job in snapshot.waiting}
                if executor.apply(Decision(plan=plan, ledger=ledger, waiting=waiting, decided_ms=now_ms)):
                    # All went as decided: another decision at this moment would find nothing more to do.
                    if executor.recover_last(ledger):
                        continue
                    if executor.has_time():
                        self._note_idle(ledger, snapshot, plan, machine_ms)
                    break
        finally:
            record(executor.figures)
        logger.info(
            "tick",
            extra={
                "started": report.started,
                "preempted": report.preempted,
                "delayed": report.delayed,
                "released": report.released,
                "drained": report.drained,
                "shrunk": report.shrunk,
                "warm_released": report.warm_released,
                "failed": sorted(set(report.failed)),
                "rejected": report.rejected,
                "unclear": report.unclear,
                "rounds": report.rounds,
                "decisions": report.decisions,
                "waiting": report.waiting,
            },
        )
        return report


def _check_ledger(ledger: Ledger, snapshot: Snapshot) -> None:
    """The free counters and the sums of the holders must agree. They differ only during concurrent writes."""
    summed = free(snapshot)
    for pool in ledger.pools:
        if pool.free != summed[pool.pool]:
            logger.warning(
                "the ledger was read while it changed",
                extra={"pool": pool.pool, "free": pool.free, "summed": summed[pool.pool]},
            )
