"""Runs the scripts of training jobs: starts a supervisor for each job, and follows what both report.

The fake SageMaker decides in which stage a job is; a supervisor ends the stages of its job that processes end. A
supervisor ends with this server, however the server ends: jobs that it ran fail at the next start, as after a failure
of SageMaker.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.training_job import TrainingJob
from headway_sandbox.training import launch, supervisor
from headway_sandbox.training.assignment import Assignment
from headway_sandbox.training.container.isolation import Isolation
from headway_sandbox.training.platform import folders
from headway_sandbox.training.settings import TrainingSettings

LOST = (
    "InternalServerError: We encountered an internal error. Please try again. Sandbox: the process that ran the job "
    "ended with the sandbox's server."
)
_log = logging.getLogger("headway.sandbox")
# Longer than any message: a line of output has 16 KB, and JSON writes some characters as six.
_LONGEST_MESSAGE_BYTES = 2**20

Credentials = Callable[[str, str], tuple[str, str, str]]


class Telemetry(Protocol):
    """Where the output and the figures of training jobs are written. All times are machine time, s."""

    def log(self, stream: str, time_s: float, text: str) -> None:
        """Write a line of output to a log stream."""

    def metric(self, job: str, name: str, value: float, time_s: float) -> None:
        """Write the value of a metric that a script reports."""

    def utilization(self, host: str, percent: Mapping[str, float], time_s: float) -> None:
        """Write the utilization of a host, percent by metric; `host` is its name in CloudWatch."""


class TrainingRuns:
    """The supervisors of all jobs whose scripts run. Called on the server's event loop only.

    Args:
        fleet: The fake SageMaker.
        settings: Those of `--train`; None: no script runs.
        folder: Folder for the jobs' files. What an earlier server has left there is removed.
        port: Port of the AWS endpoint.
        relay: The server's socket for training jobs.
        credentials: Returns credentials of a role, for the session of a job.
        telemetry: Where their output and figures are written.
    """

    def __init__(
        self,
        fleet: FakeSageMaker,
        settings: TrainingSettings | None,
        *,
        folder: Path,
        port: int,
        relay: Path,
        credentials: Credentials,
        telemetry: Telemetry,
    ) -> None:
        self._fleet = fleet
        self._settings = settings
        self._folder = folder
        self._port = port
        self._relay = relay
        self._credentials = credentials
        self._telemetry = telemetry
        self.changed: Callable[[], None] = lambda: None
        """Called when a job may have changed."""
        self._runs: dict[str, _Run] = {}
        folders.remove(folder)

    @property
    def enabled(self) -> bool:
        """Whether scripts run."""
        return self._settings is not None

    def step(self, now: float) -> None:
        """Start, stop and end supervisors, as the states of their jobs require.

        Args:
            now: The training time, s.
        """
        for job in self._fleet.jobs(now=now):
            if not job.why_timer:
                self._follow(job, now)

    def _follow(self, job: TrainingJob, now: float) -> None:
        run = self._runs.get(job.name)
        if run is not None and run.task.done():
            del self._runs[job.name]
            run = None
        if run is None:
            if job.waits_for_processes:
                self._start(job, now)
        elif job.ended:
            run.abandon()
        elif job.secondary in {"Stopping", "Interrupted"}:
            run.stop()

    def _start(self, job: TrainingJob, now: float) -> None:
        if job.secondary != "Downloading" or self._settings is None:
            # It fails, but one that was stopping is stopped, and one that was interrupted begins again.
            self._fleet.end_stage(job.name, job.secondary, failure=LOST, now=now)
        else:
            assignment = self._assignment(job, self._settings)
            if assignment is None:
                self._fleet.end_stage(job.name, job.secondary, failure=LOST, now=now)
                return
            run = _Run(started_s=job.modified)
            run.task = asyncio.create_task(self._run(job, run, assignment))
            self._runs[job.name] = run
        self.changed()

    def _assignment(self, job: TrainingJob, settings: TrainingSettings) -> Assignment | None:
        interpreter = settings.interpreter(str(job.request["AlgorithmSpecification"].get("TrainingImage", "")))
        if interpreter is None:  # this server has other patterns than the one that accepted the job
            return None
        return Assignment(
            arn=job.arn,
            request=job.request,
            resources=job.describe().get("ResourceConfig", {}),
            folder=str(self._folder / job.name),
            interpreter=interpreter,
            isolation=Isolation(settings.isolation),
            stop_grace_s=settings.stop_grace_s,
            disk_bytes=settings.disk_bytes,
            memory_bytes=settings.memory_bytes,
            port=self._port,
            relay=str(self._relay),
            region=self._fleet.settings.region,
            credentials=self._credentials(job.request["RoleArn"], job.name),
        )

    async def _run(self, job: TrainingJob, run: _Run, assignment: Assignment) -> None:
        """Run a supervisor until its end."""
        _log.warning("job %s runs %s", job.name, assignment.command)
        try:
            run.process = await asyncio.create_subprocess_exec(
                *launch.command(assignment), stdin=PIPE, stdout=PIPE,
                env=launch.environment(), start_new_session=True, limit=_LONGEST_MESSAGE_BYTES,
            )  # fmt: skip
            run.write(assignment.to_line())
            output = run.process.stdout
            while output is not None and (line := await output.readline()):
                self._note(job, run, json.loads(line))
            await run.process.wait()
        except (OSError, ValueError):
            _log.exception("the supervisor of %s failed", job.name)
        finally:
            if run.process is not None and run.process.returncode is None:
                run.process.kill()
            # On another thread, as it may wait for the job's last processes.
            await asyncio.to_thread(folders.remove, assignment.path)
            self.changed()

    def _note(self, job: TrainingJob, run: _Run, message: Mapping[str, Any]) -> None:
        """Apply a supervisor's message."""
        clock = self._fleet.settings.clock
        match message:
            case {"kind": "log", "host": host, "time": time_s, "text": text}:
                self._telemetry.log(f"{job.name}/algo-{host}-{int(run.started_s * 1000)}", time_s, text)
                return
            case {"kind": "metric", "name": name, "value": value, "time": time_s}:
                self._telemetry.metric(job.name, name, value, time_s)
                self._fleet.put_metric(job.name, name, value, at=clock.training_time(time_s))
                return
            case {"kind": "utilization", "host": host, "percent": percent, "time": time_s}:
                self._telemetry.utilization(f"{job.name}/algo-{host}", percent, time_s)
                return
            case {"kind": "restored" | "checkpoint"}:  # for rehearsals
                return
            case {"kind": "downloaded"}:
                self._end_stage(job, "Downloading")
            case {"kind": "trained"}:
                self._end_stage(job, "Training")
            case {"kind": "ended", "failure": failure}:
                self._end_stage(job, job.secondary, failure)
            case _:
                raise ValueError(f"Unknown message of a supervisor: {message}")
        self.changed()

    def _end_stage(self, job: TrainingJob, stage: str, failure: str | None = None) -> None:
        now = self._fleet.settings.clock.training_time(time.time())
        self._fleet.end_stage(job.name, stage, failure=failure, now=now)

    async def close(self) -> None:
        """End all supervisors and wait for them."""
        for run in self._runs.values():
            run.abandon()
        await asyncio.gather(*(run.task for run in self._runs.values()), return_exceptions=True)


class _Run:
    """One run of a job's script."""

    def __init__(self, *, started_s: float) -> None:
        self.started_s = started_s
        self.process: Process | None = None
        self.stopped = False
        self.task: asyncio.Task[None]

    def write(self, line: bytes) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.write(line)

    def stop(self) -> None:
        """Stop the script, with its grace period."""
        if not self.stopped and self.process is not None:
            self.stopped = True
            self.write(supervisor.STOP)

    def abandon(self) -> None:
        """End its processes at once."""
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
