"""CloudWatch's clock in the sandbox: what training jobs show is published, and alarms are evaluated."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial

from headway_sandbox.cloudwatch import evaluation_schedule
from headway_sandbox.emulator import cloudwatch
from headway_sandbox.emulator.cloudwatch import AlarmKey
from headway_sandbox.sagemaker import utilization
from headway_sandbox.sagemaker.service import FakeSageMaker

# What no alarm looks at is kept for so long, for people who do.
_KEPT_S = 900.0
# So much is published anew when the server starts: an alarm that looks farther back finds less for a while.
_MADE_UP_FOR_S = 3600.0
_FORGET_EVERY_S = 60.0
# After so many alarms others get their turn: there may be thousands, and the server has one thread.
_AT_ONCE = 20


class Monitoring:
    """Publishes and evaluates; `step` is called about once a second."""

    def __init__(self, fleet: FakeSageMaker) -> None:
        self._fleet = fleet
        self._rounds: evaluation_schedule.EvaluationSchedule[AlarmKey] = evaluation_schedule.EvaluationSchedule()
        self._published_s: float | None = None
        self._forgot_s = 0.0

    async def step(self, now_s: float) -> None:
        """Do what is due.

        Args:
            now_s: the time, s since the epoch.
        """
        self._publish(now_s)
        for number, key in enumerate(self._rounds.due(cloudwatch.alarms(), now_s), start=1):
            self._evaluate(key, now_s)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        if now_s - self._forgot_s >= _FORGET_EVERY_S:
            cloudwatch.forget(now_s - _KEPT_S)
            self._forgot_s = now_s

    def _publish(self, now_s: float) -> None:
        if self._published_s is None:
            # The jobs went on while the server was stopped, and CloudWatch would have heard of it. All of it follows
            # from the jobs, so nothing of it is saved.
            cloudwatch.drop(utilization.NAMESPACE)
            self._published_s = now_s - _MADE_UP_FOR_S
        cloudwatch.record(
            utilization.NAMESPACE,
            utilization.UNIT,
            self._figures(self._published_s, now_s),
            region=self._fleet.settings.region,
        )
        self._published_s = now_s

    def _figures(self, after_s: float, until_s: float) -> Iterator[tuple[str, Mapping[str, str], float, float]]:
        clock = self._fleet.settings.clock
        for job in self._fleet.jobs(now=until_s):
            if job.ended and job.modified <= after_s:
                continue
            for figure in utilization.figures(job, clock, after_s=after_s, until_s=until_s):
                yield figure.metric, {utilization.DIMENSION: figure.host}, figure.time_s, figure.percent

    def _evaluate(self, key: AlarmKey, now_s: float) -> None:
        alarm = cloudwatch.alarm_of(key)
        if alarm is None:
            return
        found = evaluation_schedule.state_change(alarm, partial(cloudwatch.measured, key), now_s)
        if found is not None:
            cloudwatch.set_state(key, found.state, found.reason, now_s=now_s)
