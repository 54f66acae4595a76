"""What one run of a script did, from its supervisor's messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(kw_only=True)
class Attempt:
    """One run of a script, as a training job of its own."""

    step_name: str
    """The metric that counts steps."""
    metric_name: str = ""
    """The metric that is compared; empty: none."""
    restored: int = 0
    """Files of earlier checkpoints in its folder when it started."""
    uploaded: int = 0
    """Files of checkpoints in S3."""
    uploads: int = 0
    """How often changed files were uploaded, from the first checkpoint on."""
    first_upload_s: float | None = None
    """When there was the first one, s since the start of the script."""
    started_s: float | None = None
    """Start of the script, on the clock of the caller; None: it has not started."""
    ended_s: float | None = None
    """Its end, on the same clock."""
    first_step: int | None = None
    last_step: int | None = None
    stride: int = 1
    """The smallest positive difference between two consecutive steps; 1 if there is none."""
    metric: float | None = None
    """The last value of the metric."""
    trained: bool = False
    """Whether all hosts ended by themselves with exit code 0."""
    failure: str | None = None
    """Its FailureReason."""
    timed_out: bool = False
    """Whether it was ended at the timeout."""
    preempted_s: float | None = None
    """When it was preempted, s since the start of the script; None: it was not."""
    written_in: str = ""
    """The checkpoint file that was being written when its hosts were lost."""
    elsewhere: tuple[str, ...] = ()
    """Files that it had written outside of its checkpoint folder when it was preempted."""

    def note(self, message: Mapping[str, Any], *, now_s: float) -> None:
        """Add a message of its supervisor (`headway_sandbox.training.supervisor`).

        Args:
            now_s: The time, on the clock of the caller.
        """
        match message:
            case {"kind": "restored", "files": files}:
                self.restored = files
            case {"kind": "downloaded"}:
                self.started_s = now_s
            case {"kind": "metric", "name": self.step_name, "value": value}:
                self._note_step(round(value))
            case {"kind": "metric", "name": self.metric_name, "value": value}:
                self.metric = value
            case {"kind": "trained"}:
                self.trained = True
                self.ended_s = now_s
            case {"kind": "ended", "failure": failure}:
                self.failure = failure
                self.ended_s = self.ended_s or now_s
            case _:  # lines of the log, other metrics, uploads
                pass

    def note_upload(self, files: int, *, now_s: float) -> None:
        """Add an upload of changed files in the checkpoint folder.

        Args:
            files: Files of checkpoints that are in S3 then. Other files may be uploaded, too.
            now_s: The time, on the clock of the caller.
        """
        if not files:
            return
        self.uploaded = files
        self.uploads += 1
        if self.first_upload_s is None:
            self.first_upload_s = self.since_start_s(now_s)

    def _note_step(self, step: int) -> None:
        if self.first_step is None or self.last_step is None:
            self.first_step = step
        elif step > self.last_step:
            found = step - self.last_step
            self.stride = found if self._strides == 0 else min(self.stride, found)
            self._strides += 1
        self.last_step = step

    _strides: int = 0

    def since_start_s(self, now_s: float) -> float:
        """Return the time since the start of the script, s; 0 before it."""
        return 0.0 if self.started_s is None else now_s - self.started_s

    @property
    def run_s(self) -> float:
        """How long the script ran, s; 0 if it did not start or has not ended."""
        return 0.0 if self.ended_s is None else self.since_start_s(self.ended_s)
