"""Writes the log lines of training jobs' containers to CloudWatch Logs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable

from headway_sandbox.emulator import logs
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.telemetry import container_logs
from headway_sandbox.sagemaker.telemetry.container_logs import GROUP
from headway_sandbox.sagemaker.training_job import TrainingJob

# Yield to other tasks after this number of jobs: the server has one thread.
_AT_ONCE = 20
# At a high speed a minute is too short to read: at most one step in this time.
_SHORTEST_INTERVAL_S = 1.0


def drop_timers(jobs: Iterable[TrainingJob]) -> None:
    """Delete the streams of jobs that are timers. What a script has printed is kept.

    Args:
        jobs: All jobs.
    """
    logs.drop(GROUP, kept=tuple(f"{job.name}/" for job in jobs if not job.why_timer))


class TrainingLogs:
    """Writes the log lines; `write` is called after changes and periodically."""

    def __init__(self, fleet: FakeSageMaker) -> None:
        self._fleet = fleet
        self._written_s: float | None = None
        self._found_steps: dict[str, int] = {}

    async def write(self, now_s: float) -> None:
        """Write the lines since the last call, until `now_s` (training time, s since the epoch)."""
        if self._written_s is None:
            # The jobs continued while the server was stopped. The lines are a function of the jobs, so they are not
            # saved but written again.
            drop_timers(self._fleet.jobs(now=now_s))
        after_s, self._written_s = self._written_s or 0.0, now_s
        jobs = self._fleet.jobs(now=now_s)
        changed = [job for job in jobs if job.why_timer and (not job.ended or job.modified > after_s)]
        self._found_steps = {job.name: self._found_step(job, jobs) for job in changed}
        for number, job in enumerate(changed, start=1):
            self._write_job(job, after_s=after_s, until_s=now_s)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _found_step(self, job: TrainingJob, jobs: list[TrainingJob]) -> int:
        """Return `checkpointed_step`, computed once per job, as it scans all jobs."""
        if job.name in self._found_steps:
            return self._found_steps[job.name]
        return container_logs.checkpointed_step(job, jobs)

    def _write_job(self, job: TrainingJob, *, after_s: float, until_s: float) -> None:
        clock = self._fleet.settings.clock
        printed = container_logs.lines(
            job,
            after_s=after_s,
            until_s=until_s,
            found_step=self._found_steps[job.name],
            interval_s=clock.interval_s(container_logs.INTERVAL_S, shortest_s=_SHORTEST_INTERVAL_S),
        )
        for stream, lines in itertools.groupby(printed, key=lambda line: line.stream):
            logs.write(
                GROUP,
                stream,
                [(line.time_s, line.text) for line in lines],
                region=self._fleet.settings.region,
            )
