"""Runs a script once, as a training job, and preempts it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from headway_sandbox.errors import SandboxError
from headway_sandbox.rehearsal.attempt import Attempt
from headway_sandbox.rehearsal.cases import Case, Disturbance
from headway_sandbox.rehearsal.writes import Writes, Written
from headway_sandbox.training import launch, supervisor
from headway_sandbox.training.assignment import Assignment
from headway_sandbox.training.container.root_folder import ML
from headway_sandbox.training.platform import folders
from headway_sandbox.training.platform.hosts import Host, hosts_of

_LOOK_EVERY_S = 0.05
_END_S = 30.0
_READ_BYTES = 65_536
_COMMANDS = {Disturbance.SIGTERM: supervisor.STOP, Disturbance.SIGTERM_TO_ALL: supervisor.STOP_ALL}
# What the platform places in /opt/ml, or takes from it as something else than a checkpoint.
_NOT_WRITTEN_BY_SCRIPTS = {"input", "code"}
_BYTECODE = "__pycache__"


class SupervisorLost(SandboxError):
    """The supervisor of a run ended without a report."""


@dataclass(frozen=True, kw_only=True)
class CheckpointFolder:
    """The checkpoint folder of a run."""

    path: PurePosixPath
    """Relative to /opt/ml."""
    is_checkpoint: Callable[[PurePosixPath], bool]
    """Whether a file in it is one of a checkpoint."""
    count_uploaded: Callable[[], int]
    """Returns the number of files of checkpoints in S3."""


class Run:
    """One run.

    Args:
        assignment: The job.
        attempt: Where to put down what the script does.
        folder: Its checkpoint folder.
        case: How it is preempted; None: it is not.
        timeout_s: When it is ended, s.
    """

    def __init__(
        self,
        assignment: Assignment,
        attempt: Attempt,
        *,
        folder: CheckpointFolder,
        case: Case | None,
        timeout_s: float,
    ) -> None:
        self._assignment = assignment
        self._attempt = attempt
        self._folder = folder
        self._case = case
        self._timeout_s = timeout_s
        self._hosts = hosts_of(assignment.resources, assignment.path)
        self._looked = False
        self.written: Written | None = None
        """The file that was being written when the hosts were lost."""

    def run(self) -> None:
        """Run the script until its end. All of its processes and files are gone then, also after an error.

        Raises:
            SupervisorLost: Its supervisor has died.
        """
        deadline_s = time.monotonic() + self._timeout_s
        with ExitStack() as stack:
            child = stack.enter_context(_Supervisor(self._assignment))
            selector = stack.enter_context(selectors.DefaultSelector())
            selector.register(child, selectors.EVENT_READ)
            writes: Writes | None = None
            while not child.ended:
                selector.select(_LOOK_EVERY_S)
                for message in child.read():
                    self._attempt.note(message, now_s=time.monotonic())
                    if message["kind"] == "checkpoint":
                        self._attempt.note_upload(self._folder.count_uploaded(), now_s=time.monotonic())
                if writes is None and self._waits_for_writes:
                    roots = [host.ml / self._folder.path for host in self._hosts]
                    writes = stack.enter_context(Writes(roots))
                    selector.register(writes, selectors.EVENT_READ)
                if time.monotonic() >= deadline_s:
                    self._attempt.timed_out = True
                    return
                self._disturb(child, writes)
        if self._attempt.ended_s is None:
            raise SupervisorLost("The process that ran the script ended without a report. Its errors are above.")

    @property
    def _waits_for_writes(self) -> bool:
        started = self._attempt.started_s is not None
        return started and self._case is not None and self._case.disturbance is Disturbance.LOST_IN_WRITE

    def _disturb(self, child: _Supervisor, writes: Writes | None) -> None:
        """Preempt the script, if it is time."""
        case, attempt = self._case, self._attempt
        found = [each for each in (writes.read() if writes else ()) if self._folder.is_checkpoint(each.path)]
        if case is None or attempt.started_s is None or attempt.preempted_s is not None or attempt.trained:
            return
        since_start_s = attempt.since_start_s(time.monotonic())
        if since_start_s < case.at_s:
            return
        if not self._looked:
            self._looked = True
            attempt.elsewhere = tuple(_written_elsewhere(self._hosts, self._folder.path))
            if case.on_sigterm:
                child.write(supervisor.STOP)
        if case.disturbance in _COMMANDS:
            child.write(_COMMANDS[case.disturbance])
            attempt.preempted_s = since_start_s
        elif found and (attempt.uploaded or not case.after_upload):
            child.write(supervisor.LOSE)
            attempt.preempted_s = since_start_s
            self.written = found[0]


class _Supervisor:
    """A supervisor as a child process, which ends with the context and removes the files of its job."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._received = b""
        self.ended = False

    def __enter__(self) -> _Supervisor:
        self._process = subprocess.Popen(
            launch.command(self._assignment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=launch.environment(),
            start_new_session=True,
        )
        os.set_blocking(self.fileno(), False)
        self.write(self._assignment.to_line())
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            # The end of its input: it ends the job.
            self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        finally:
            folders.remove(self._assignment.path)

    def fileno(self) -> int:
        """Return the file descriptor of its messages."""
        return cast(BinaryIO, self._process.stdout).fileno()

    def write(self, command: bytes) -> None:
        commands = cast(BinaryIO, self._process.stdin)
        with suppress(BrokenPipeError):  # it has ended, as the end of its messages will say
            commands.write(command)
            commands.flush()

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Yield the messages that have come."""
        try:
            received = os.read(self.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        self.ended = not received
        *lines, self._received = (self._received + received).split(b"\n")
        yield from map(json.loads, lines)


def _written_elsewhere(hosts: Sequence[Host], checkpoints: PurePosixPath) -> Iterator[str]:
    """Yield the files that scripts have written outside of their checkpoint folder, as they name them."""
    for host in hosts:
        for found in folders.files(host.ml, PurePosixPath()):
            top = found.path.parts[0]
            if top not in _NOT_WRITTEN_BY_SCRIPTS and checkpoints not in found.path.parents:
                yield str(ML / found.path)
        for found in folders.files(host.folder, PurePosixPath("tmp")):
            if _BYTECODE not in found.path.parts:
                yield f"/tmp/{found.path}"  # noqa: S108  the container's own
