"""The tick."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property

from headway.reasons import Reason
from headway_service.accounting.idle import IdleTime
from headway_service.bootstrap.reuse import ReuseContainer
from headway_service.bootstrap.tracking import TrackingContainer
from headway_service.launching.launcher import Launcher
from headway_service.launching.report import TickReport
from headway_service.launching.thread_calls import thread_calls
from headway_service.ports.parallel_calls import ParallelCalls
from headway_service.scheduling.tick import Scheduler
from headway_service.store.records.job import JobRecord


class ScheduleContainer(TrackingContainer, ReuseContainer):
    """For the function `schedule`."""

    #: When one of several launches of a tick was last throttled, machine time, ms.
    _throttled_ms = 0

    @cached_property
    def idle_time(self) -> IdleTime:
        """Keeps the sums of idle time. One for all invocations, as it remembers which names have some."""
        return IdleTime(self.table)

    def why(self, job: JobRecord) -> Reason:
        """Why a job that waits has not started."""
        # Few jobs are told so, and the forecasts that this loads take a while.
        from headway_service.jobs.position import PositionExplainer

        explainer = PositionExplainer(self.table, self.clocks, lambda: self._configuration().policy())
        return explainer.explain([job])[0].reason.reason()

    def parallel_calls(self) -> AbstractContextManager[ParallelCalls]:
        """Makes the calls of one tick that wait for SageMaker in parallel."""
        return thread_calls(self.settings.launches_at_once)

    def tick(self, remaining_ms: int) -> TickReport:
        """Run a tick.

        Args:
            remaining_ms: how long this invocation may live.
        """
        with self.parallel_calls() as calls:
            return self._tick(remaining_ms, calls)

    def _tick(self, remaining_ms: int, calls: ParallelCalls) -> TickReport:
        invocation = self._invocation(remaining_ms)
        launcher = Launcher(
            self.table,
            self.training_jobs,
            self.observer,
            invocation=invocation,
            calls=calls,
            jitter=self._random.random,
            launches_at_once=self.settings.launches_at_once,
            throttled_ms=self._throttled_ms,
        )
        ticker = Scheduler(
            table=self.table,
            first_configuration=self.settings.first_configuration,
            launcher=launcher,
            invocation=invocation,
            marks=self.marks,
            retention_s=self.settings.retention_s,
            reuse=self.reuse,
            why=self.why,
            note_idle=self.idle_time.note,
        )
        try:
            return ticker.run()
        finally:
            # For the next tick of this process. Another one finds out by itself.
            self._throttled_ms = launcher.throttled_ms
