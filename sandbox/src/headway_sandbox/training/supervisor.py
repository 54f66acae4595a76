"""`python -m headway_sandbox.training.supervisor FOLDER`: SageMaker around one container.

Its argument, the job's folder, is for those who list processes. The server writes an `Assignment` to its standard
input, and later `stop` for StopTrainingJob. A rehearsal also writes `stop all`, for a SIGTERM to all processes, and
`lose`, for the loss of the hosts: all processes are killed and nothing more is uploaded. When the input ends, the job
is not wanted any more, or its server was killed: the supervisor ends the job's processes and removes its files.

It prints one JSON object per line:

    {"kind": "restored", "files": …}                  files of earlier checkpoints that the script finds
    {"kind": "downloaded"}                            the container starts
    {"kind": "checkpoint", "files": …}                changed files of checkpoints that were uploaded
    {"kind": "log", "host": 1, "time": …, "text": …}  a line of output; times are machine time, s since the epoch
    {"kind": "metric", "name": …, "value": …, "time": …}
    {"kind": "utilization", "host": 1, "percent": {"CPUUtilization": …}, "time": …}
    {"kind": "trained"}                               all hosts have ended with exit code 0
    {"kind": "ended", "failure": …}                   the end; `failure` is the FailureReason, or null
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from headway_sandbox.training import endpoint
from headway_sandbox.training.assignment import Assignment
from headway_sandbox.training.container.limits import Limits
from headway_sandbox.training.container.process import Container
from headway_sandbox.training.container.spec import ContainerSpec, HostSpec
from headway_sandbox.training.errors import RequestFault, StorageFault
from headway_sandbox.training.platform import (
    artifacts,
    channels,
    config_files,
    failure_reason,
    folders,
    output_lines,
    utilization,
)
from headway_sandbox.training.platform.checkpoints import Checkpoints
from headway_sandbox.training.platform.hosts import Host, hosts_of
from headway_sandbox.training.platform.meter import Meter
from headway_sandbox.training.platform.metric_definitions import MetricDefinitions
from headway_sandbox.training.platform.s3_objects import Objects

STOP, STOP_ALL, LOSE = b"stop\n", b"stop all\n", b"lose\n"
_LOOK_EVERY_S = 0.2
CHECKPOINTS_EVERY_S = 2
"""How often changed checkpoints are uploaded, s. AWS does not document it."""
_DISK_EVERY_S = 1.0
_READERS_S = 5.0
_FAILURE = PurePosixPath("output/failure")


class Supervisor:
    """Runs one training job.

    Args:
        assignment: The job.
        messages: Where its messages go.
    """

    def __init__(self, assignment: Assignment, messages: BinaryIO) -> None:
        self._assignment = assignment
        self._messages = messages
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._stop = threading.Event()
        self._lost = threading.Event()
        self._everyone = False
        self._container: Container | None = None
        self._limits = Limits(disk_bytes=assignment.disk_bytes, memory_bytes=assignment.memory_bytes)
        self._hosts = hosts_of(assignment.resources, assignment.path)
        self._last_lines = dict.fromkeys((host.number for host in self._hosts), "")
        self._metrics = MetricDefinitions(assignment.request)

    # ------------------------------------------------------------------------------------- from other threads

    def stop(self, *, everyone: bool = False) -> None:
        """Stop the job: SIGTERM, then SIGKILL after the grace period.

        Args:
            everyone: Whether all processes of the hosts get SIGTERM, not only process 1.
        """
        self._everyone = everyone
        self._stop.set()

    def lose(self) -> None:
        """Lose the hosts: end the job's processes at once, and upload nothing more."""
        self._lost.set()
        if self._container is not None:
            self._container.end()

    def abandon(self) -> None:
        """End the job's processes at once and remove its files."""
        with self._ending:
            if self._container is not None:
                self._container.kill()
            self._metrics.close()
            folders.remove(self._assignment.path)

    # --------------------------------------------------------------------------------------------- the stages

    def run(self) -> None:
        """Run the job until its end."""
        try:
            failure = self._run()
        finally:
            self.abandon()
        self._tell("ended", failure=failure)

    def _run(self) -> str | None:
        """Run the job and return its FailureReason; None if it has none."""
        assignment = self._assignment
        objects = Objects(endpoint=assignment.endpoint, region=assignment.region, credentials=assignment.credentials)
        try:
            checkpoints = self._prepare(objects)
        except (RequestFault, StorageFault) as error:
            return failure_reason.of_request(str(error))
        self._tell("downloaded")
        failure = None
        if not self._stop.is_set():
            failure = self._train(checkpoints)
        if self._lost.is_set():
            return failure
        try:
            self._save(checkpoints)
            if failure is None and not self._stop.is_set():
                self._tell("trained")
            artifacts.upload(assignment.request, self._hosts, objects, scratch=assignment.path)
        except StorageFault as error:
            return failure or failure_reason.of_artifacts(str(error))
        return failure

    def _prepare(self, objects: Objects) -> Checkpoints:
        request, user = self._assignment.request, self._assignment.isolation.user()
        for host in self._hosts:
            for name in ("ml/model", "ml/output/data", "ml/code", "tmp"):
                (host.folder / name).mkdir(parents=True)
        config_files.write(request, self._hosts)
        channels.download(request, self._hosts, objects, disk_bytes=self._limits.disk_bytes)
        checkpoints = Checkpoints(request, self._hosts, objects)
        found = checkpoints.restore()
        self._tell("restored", files=found)
        for host in self._hosts:
            folders.give(host.folder, user)
            self._log(host, f"Sandbox: runs {' '.join(self._assignment.command)} ({self._assignment.isolation})")
            self._log(host, f"Sandbox: {found} checkpoint files were restored")
            for text in self._metrics.invalid:
                self._log(host, f"Sandbox: {text}")
        return checkpoints

    def _train(self, checkpoints: Checkpoints) -> str | None:
        with self._uploading(checkpoints), ExitStack() as readers:
            container = self._start(readers)
            failure = self._watch(container) if container.endpoint else failure_reason.OF_SERVICE
            container.kill()
        if failure is not None or self._stop.is_set() or self._lost.is_set():
            return failure
        if len(container.exit_codes) < len(self._hosts):
            return failure_reason.OF_SERVICE
        failed = [(host, code) for host in self._hosts if (code := container.exit_codes[host.number - 1]) != 0]
        if not failed:
            return None
        host, code = failed[0]
        written = folders.read_start(host.ml, _FAILURE, failure_reason.LONGEST)
        return failure_reason.of_script(
            code,
            failure=written.decode(errors="replace"),
            last_line=self._last_lines[host.number],
            host=host.name,
        )

    def _start(self, readers: ExitStack) -> Container:
        assignment, hosts = self._assignment, []
        for host in self._hosts:
            read, write = os.pipe()
            hosts.append(HostSpec(name=host.name, address=host.address, folder=str(host.folder), output=write))
            reader = threading.Thread(target=self._read, args=(host, read), daemon=True)
            reader.start()
            readers.callback(reader.join, _READERS_S)
        spec = ContainerSpec(
            command=assignment.command,
            environment=assignment.environment(),
            hosts=hosts,
            user=assignment.isolation.user(),
            programs=assignment.interpreter.programs,
            port=assignment.port,
            limits=self._limits,
        )
        self._container = Container(spec, assignment.path / "container.json", prefix=assignment.isolation.prefix)
        if self._container.endpoint is not None:
            endpoint.serve(self._container.endpoint, relay=Path(assignment.relay), access_key=assignment.credentials[0])
        return self._container

    def _watch(self, container: Container) -> str | None:
        """Wait until all hosts have ended, or must be; return a FailureReason that is not the script's."""
        killed_at: float | None = None
        meter = Meter(self._hosts, self._limits, log=self._log)
        measure_at = time.monotonic()
        publish_at_s = utilization.next_moment(time.time())
        while not container.ended:
            container.wait(_LOOK_EVERY_S)
            if self._lost.is_set():
                return None
            now = time.monotonic()
            usages = {host + 1: usage for host, usage in container.usages.items()}
            if self._stop.is_set() and killed_at is None:
                container.terminate(everyone=self._everyone)
                killed_at = now + self._assignment.stop_grace_s
            if killed_at is not None and now >= killed_at:
                return None
            failure = meter.memory_exceeded(usages)
            if failure is None and now >= measure_at:
                failure = meter.disk_exceeded()
                measure_at = time.monotonic() + _DISK_EVERY_S
            if failure is not None:
                return failure
            if time.time() >= publish_at_s:
                for host, percent in meter.figures(usages):
                    self._tell("utilization", host=host.number, percent=percent, time=publish_at_s)
                publish_at_s = utilization.next_moment(time.time())
        return None

    @contextmanager
    def _uploading(self, checkpoints: Checkpoints) -> Iterator[None]:
        """Upload changed checkpoints from time to time, on a thread: large ones must not delay a stop or a limit."""
        ended = threading.Event()

        def upload() -> None:
            while not (ended.wait(CHECKPOINTS_EVERY_S) or self._lost.is_set()):
                try:
                    self._save(checkpoints)
                except StorageFault as error:
                    self._log(self._hosts[0], f"Sandbox: the checkpoints are not uploaded yet: {error}")

        thread = threading.Thread(target=upload, name="checkpoints", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _save(self, checkpoints: Checkpoints) -> None:
        if files := checkpoints.upload():
            self._tell("checkpoint", files=files)

    # ------------------------------------------------------------------------------------------ the messages

    def _read(self, host: Host, descriptor: int) -> None:
        with open(descriptor, "rb") as output:
            for text in output_lines.lines(output):
                self._last_lines[host.number] = text
                self._log(host, text)
                found = self._metrics.read(text)
                for name, value in found.values:
                    self._tell("metric", name=name, value=value, time=time.time())
                for complaint in found.complaints:
                    self._log(host, f"Sandbox: {complaint}")

    def _log(self, host: Host, text: str) -> None:
        self._tell("log", host=host.number, time=time.time(), text=text)

    def _tell(self, kind: str, **members: Any) -> None:
        line = json.dumps({"kind": kind, **members}).encode() + b"\n"
        # Without a server nobody reads it, and the input's end says so.
        with self._lock, suppress(BrokenPipeError):
            self._messages.write(line)
            self._messages.flush()


def main() -> int:
    """Run the job that standard input names."""
    commands = sys.stdin.buffer
    supervisor = Supervisor(Assignment.from_line(commands.readline()), sys.stdout.buffer)

    def obey() -> None:
        actions: dict[bytes, Callable[[], None]] = {
            STOP: supervisor.stop,
            STOP_ALL: partial(supervisor.stop, everyone=True),
            LOSE: supervisor.lose,
        }
        while command := commands.readline():
            actions[command]()
        supervisor.abandon()
        os._exit(1)

    threading.Thread(target=obey, daemon=True).start()
    supervisor.run()
    # Without waiting for the thread, which reads until the server closes the input.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
