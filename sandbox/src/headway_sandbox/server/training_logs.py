"""The logs of training jobs in the sandbox: what their containers print is written to CloudWatch Logs."""

from __future__ import annotations

import asyncio
import itertools

from headway_sandbox.emulator import logs
from headway_sandbox.sagemaker import container_logs
from headway_sandbox.sagemaker.container_logs import GROUP
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.training_job import TrainingJob

# After so many jobs others get their turn: the server has one thread.
_AT_ONCE = 20


class TrainingLogs:
    """Writes; `write` is called whenever something may have changed, and now and then."""

    def __init__(self, fleet: FakeSageMaker) -> None:
        self._fleet = fleet
        self._written_s: float | None = None
        self._found_steps: dict[str, int] = {}

    async def write(self, now_s: float) -> None:
        """Write what was printed since the last time.

        Args:
            now_s: the time, s since the epoch.
        """
        if self._written_s is None:
            # The jobs went on while the server was stopped. All that they print follows from them, so nothing of it is
            # saved: it is written anew.
            logs.drop(GROUP)
        after_s, self._written_s = self._written_s or 0.0, now_s
        jobs = self._fleet.jobs(now=now_s)
        news = [job for job in jobs if not job.ended or job.modified > after_s]
        self._found_steps = {job.name: self._found_step(job, jobs) for job in news}
        for number, job in enumerate(news, start=1):
            self._write_job(job, after_s=after_s, until_s=now_s)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)

    def _found_step(self, job: TrainingJob, jobs: list[TrainingJob]) -> int:
        """Looked up once for each job: it has to go over all others."""
        if job.name in self._found_steps:
            return self._found_steps[job.name]
        return container_logs.checkpointed_step(job, jobs, self._fleet.settings.clock)

    def _write_job(self, job: TrainingJob, *, after_s: float, until_s: float) -> None:
        printed = container_logs.lines(
            job,
            self._fleet.settings.clock,
            after_s=after_s,
            until_s=until_s,
            found_step=self._found_steps[job.name],
        )
        for stream, lines in itertools.groupby(printed, key=lambda line: line.stream):
            logs.write(
                GROUP,
                stream,
                [(line.time_s, line.text) for line in lines],
                region=self._fleet.settings.region,
            )
