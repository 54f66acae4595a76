"""The time for which functions of two versions ran side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

from headway_sandbox.errors import SandboxError
from headway_sandbox.local.sandbox import Sandbox

LOOK_S = 0.05
"""The interval between two observations of the processes."""


class Overlap:
    """Observes the processes of functions while a stack is updated.

    Args:
        before: the code of each function before the update.

    Attributes:
        side_by_side_s: how long processes of both versions were alive concurrently.
        in_both: functions with busy processes of the old and the new code at the same time.
    """

    def __init__(self, sandbox: Sandbox, before: Mapping[str, str]) -> None:
        self._sandbox = sandbox
        self._before = before
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.side_by_side_s = 0.0
        self.in_both: set[str] = set()

    def __enter__(self) -> Overlap:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        last = time.monotonic()
        while not self._over.wait(LOOK_S):
            with suppress(OSError, SandboxError):
                both = self._look()
                now = time.monotonic()
                self.side_by_side_s += now - last if both else 0.0
                last = now

    def _look(self) -> bool:
        old: set[str] = set()
        new: set[str] = set()
        for process in self._sandbox.functions():
            function = process["function"]
            (old if process["code"] == self._before.get(function) else new).add(function)
        self.in_both |= old & new
        return bool(old and new)
