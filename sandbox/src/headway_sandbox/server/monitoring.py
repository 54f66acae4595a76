"""Periodic work of CloudWatch: publishes the metrics of training jobs and evaluates alarms."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from headway_sandbox.cloudwatch import evaluation_schedule
from headway_sandbox.emulator import cloudwatch
from headway_sandbox.emulator.cloudwatch import AlarmKey
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.telemetry import utilization
from headway_sandbox.sagemaker.training_job import TrainingJob

# Retention of data points that no alarm needs, for users.
_KEPT_S = 900.0
# Metrics of this time before the server's start are published again: longer evaluation ranges lack data for a while.
_REPUBLISHED_S = 3600.0
_EVICT_EVERY_S = 60.0
# At a high speed a minute is too short to distinguish values: at most one value in this time.
_SHORTEST_INTERVAL_S = 1.0
# Yield to other tasks after this number of alarms: there may be thousands, and the server has one thread.
_AT_ONCE = 20


def drop_timers(jobs: Iterable[TrainingJob]) -> None:
    """Delete the utilization of jobs that are timers. What was measured is kept.

    Args:
        jobs: All jobs.
    """
    measured = tuple(f"{job.name}/" for job in jobs if not job.why_timer)
    cloudwatch.drop(utilization.NAMESPACE, utilization.DIMENSION, kept=measured)


class Monitoring:
    """Publishes metrics and evaluates alarms; `step` is called about once a second."""

    def __init__(self, fleet: FakeSageMaker) -> None:
        self._fleet = fleet
        self._rounds: evaluation_schedule.EvaluationSchedule[AlarmKey] = evaluation_schedule.EvaluationSchedule()
        self._published_s: float | None = None
        self._evicted_s = 0.0

    async def step(self, now_s: float) -> None:
        """Publish and evaluate what is due at `now_s` (s since the epoch)."""
        self._publish(now_s)
        for number, key in enumerate(self._rounds.due(cloudwatch.alarms(), now_s), start=1):
            self._evaluate(key, now_s)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        if now_s - self._evicted_s >= _EVICT_EVERY_S:
            cloudwatch.evict(now_s - _KEPT_S)
            self._evicted_s = now_s

    def _publish(self, now_s: float) -> None:
        if self._published_s is None:
            # The jobs continued while the server was stopped. The metrics are a function of the jobs, so they are not
            # saved but computed again.
            drop_timers(self._fleet.jobs(now=self._fleet.settings.clock.training_time(now_s)))
            self._published_s = now_s - _REPUBLISHED_S
        cloudwatch.record(
            utilization.NAMESPACE,
            utilization.UNIT,
            self._figures(self._published_s, now_s),
            region=self._fleet.settings.region,
        )
        self._published_s = now_s

    def _figures(self, after_s: float, until_s: float) -> Iterator[tuple[str, Mapping[str, str], float, float]]:
        """Return the metrics of a range of machine time, in machine time: alarms have periods of that."""
        clock = self._fleet.settings.clock
        after_s, until_s = clock.training_time(after_s), clock.training_time(until_s)
        interval_s = clock.interval_s(utilization.INTERVAL_S, shortest_s=_SHORTEST_INTERVAL_S)
        for job in self._fleet.jobs(now=until_s):
            if not job.why_timer or (job.ended and job.modified <= after_s):
                continue
            for figure in utilization.figures(job, after_s=after_s, until_s=until_s, interval_s=interval_s):
                time_s = clock.machine_time(figure.time_s)
                yield figure.metric, {utilization.DIMENSION: figure.host}, time_s, figure.percent

    def _evaluate(self, key: AlarmKey, now_s: float) -> None:
        alarm = cloudwatch.alarm_of(key)
        if alarm is None:
            return
        found = evaluation_schedule.state_change(alarm, partial(cloudwatch.samples_of, key), now_s)
        if found is not None:
            cloudwatch.set_state(key, found.state, found.reason, now_s=now_s)
