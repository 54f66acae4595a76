"""Run `headway` on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable

from tests.client.command_line import SOURCES


class Terminal:
    """A process of `headway` with a terminal for output and errors; `seen` is its output so far."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self._end, end = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway_client.cli.main", *arguments],
            stdin=subprocess.DEVNULL, stdout=end, stderr=end,
            env=os.environ | {"PYTHONPATH": SOURCES, "TERM": "xterm", "COLUMNS": "200"} | environment,
        )  # fmt: skip
        os.close(end)
        self.seen = ""

    def read_until(self, reached: Callable[[str], bool]) -> str:
        """Read until the output meets a condition, or the process has ended."""
        while not reached(self.seen):
            try:
                chunk = os.read(self._end, 4096)
            except OSError:  # Linux says EIO once nobody holds the other end
                break
            if not chunk:
                break
            self.seen += chunk.decode()
        return self.seen

    def close(self) -> int:
        """Read the rest and return the exit code."""
        self.read_until(lambda _: False)
        os.close(self._end)
        return self.process.wait(timeout=30)
