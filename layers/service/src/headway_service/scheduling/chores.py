"""What a tick does beside deciding: it follows schedules and times, finishes what earlier ticks left, advances arrays.

Chores come before a decision, as it depends on them, and many take calls to SageMaker or S3. So they have a share of
the tick. When it is used up, the decision does not wait for the rest of them, which goes on after it with another
share. Each record is processed by itself: one that cannot be is left alone until the next tick, and reported
(decision 107).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from headway.reasons import Reason
from headway_service.arrays.advance import ArrayAdvancer
from headway_service.launching.executor import Executor
from headway_service.observability.isolation import Isolation
from headway_service.pools.apply_config import EffectiveConfig
from headway_service.pools.follow_schedules import follow_schedules
from headway_service.pools.removed_pools import forget_removed_pools
from headway_service.ports.clocks import Clocks
from headway_service.ports.table import Table
from headway_service.scheduling.dependants import DependantNotifier
from headway_service.scheduling.timers import Timers
from headway_service.store import transitions
from headway_service.store.ledger import Ledger
from headway_service.store.records.capacity.attempt import AttemptRecord
from headway_service.store.records.capacity.warm_pool import WarmPoolRecord
from headway_service.store.records.job import JobRecord
from headway_service.store.turns import Turns
from headway_service.tracking.warm_pools import surplus

SHARE_MS = 5_000
"""Machine time that chores may take before a decision, ms."""

SHARE_ROUNDS = 5
"""Rounds of chores before a decision: each reads the ledger again, as the one before has changed it."""


class Chores:
    """The chores of one tick.

    Args:
        in_force: the configuration in effect.
        executor: launches and stops attempts.
        dependants: notifies jobs of the ends of those that they depend on.
        why: tells why a job that waits has not started.
        arrays: advances the arrays; given whose turn it is, and how much time of the share is left.
        retention_s: how long an ended job is kept, s.
        isolation: does the work on each record by itself.
        clocks: training time and machine time.

    Attributes:
        are_cut_short: whether the share was used up, so that some may be left.
    """

    def __init__(
        self,
        table: Table,
        *,
        in_force: EffectiveConfig,
        executor: Executor,
        dependants: DependantNotifier,
        why: Callable[[JobRecord], Reason],
        retention_s: int,
        arrays: Callable[[Turns], ArrayAdvancer],
        isolation: Isolation,
        clocks: Clocks,
    ) -> None:
        self._table = table
        self._in_force = in_force
        self._executor = executor
        self._dependants = dependants
        self._turns = Turns(table, self._left_ms)
        self._timers = Timers(
            table, clocks=clocks, retention_s=retention_s, why=why, turns=self._turns, isolation=isolation
        )
        self._arrays = arrays(self._turns)
        self._isolation = isolation
        self._clocks = clocks
        self.are_cut_short = False
        self._arrays_first = False
        #: What is left of the share: time, ms, and rounds; and when it ends if it is being used.
        self._share_ms = SHARE_MS
        self._share_rounds = SHARE_ROUNDS
        self._until_ms = 0

    def do(self, ledger: Ledger) -> bool:
        """Do what is due, while the share lasts.

        Args:
            ledger: the ledger as just read.

        Returns:
            Whether the ledger has to be read again before a decision.
        """
        self._turns.begin(ledger.turns)
        self._until_ms = self._clocks.machine_ms() + self._share_ms
        self.are_cut_short = not self._share_rounds or not self._turns.has_time()
        if self.are_cut_short:
            return False
        changed = (
            follow_schedules(self._table, self._in_force, ledger, self._clocks.training_ms(), self._isolation)
            or forget_removed_pools(self._table, self._in_force, ledger, self._isolation)
            or self._timers.run()
            or self._in_turn(ledger)
        )
        self.are_cut_short = not self._turns.has_time()
        self._share_ms = max(0, self._until_ms - self._clocks.machine_ms())
        self._share_rounds -= changed
        return changed

    def go_on(self) -> None:
        """Begin another share, as a decision was made. It begins with those that the last one has kept waiting."""
        self._share_ms, self._share_rounds = SHARE_MS, SHARE_ROUNDS
        self._isolation.do("turns", "turns", self._store_turns)
        if self.are_cut_short:
            self._arrays_first = not self._arrays_first

    def _in_turn(self, ledger: Ledger) -> bool:
        if self._arrays_first:
            return self._arrays.advance(ledger) or self._finish(ledger)
        return self._finish(ledger) or self._arrays.advance(ledger)

    def _finish(self, ledger: Ledger) -> bool:
        """Finish what earlier ticks have left, and stop attempts in drained pools. Returns whether anything changed."""
        notified = self._notify_dependants(ledger)
        execute = partial(self._executor.execute_left, ledger, self._turns.has_time)
        executed = self._isolation.do("launches and stops", "attempts", execute).reads_again
        drained = self._executor.drain(ledger, self._drained(ledger))
        return notified or executed or drained or (bool(ledger.warm_pools) and self._track_warm_pools(ledger))

    def _notify_dependants(self, ledger: Ledger) -> bool:
        """Notify the dependants of jobs that have ended, and compare equal jobs again. Returns whether any changed."""
        changed = False
        waited_for = (each for each in ledger.ended if each.dependants or not each.member_of)
        for ended in self._turns.in_turn("ended", waited_for, lambda each: each.job_name):
            notify = partial(self._dependants.notify, ended, self._turns.has_time)
            outcome = self._isolation.do("the dependants of a job", ended.job_name, notify)
            changed |= outcome.reads_again
        for recheck in self._turns.in_turn("recheck", ledger.rechecks, lambda each: each.job_name):
            compare = partial(self._dependants.compare_again, recheck)
            changed |= self._isolation.do("equal jobs", recheck.job_name, compare).reads_again
        return changed

    def _drained(self, ledger: Ledger) -> Iterator[AttemptRecord]:
        """The attempts to stop because their pools are drained, while there is time."""
        drained = (each for each in ledger.attempts if ledger.drained(each) is not None)
        return self._turns.in_turn("drained", drained, lambda each: each.attempt_name)

    def _store_turns(self) -> bool:
        self._turns.store()
        return False

    def _track_warm_pools(self, ledger: Ledger) -> bool:
        """Release what the policy does not keep, and ask about what is soon gone. Returns whether any changed."""
        changed = False

        def release(pool: WarmPoolRecord) -> bool:
            self._table.write(transitions.release_warm_pool(pool, self._clocks.training_ms()))
            return True

        for pool in surplus(ledger, self._in_force.configuration.kept_warm_pools):
            changed |= self._isolation.do("a warm pool", pool.attempt_name, partial(release, pool)).reads_again
        if changed or not self._turns.has_time():
            return changed
        return self._executor.track_warm_pools(ledger, self._turns.has_time)

    def _left_ms(self) -> int:
        return self._until_ms - self._clocks.machine_ms() if self._executor.has_time() else 0
