"""A bar on a terminal's standard error, for what takes a while."""

from __future__ import annotations

import sys

_WIDTH = 30

# Back to the first column, then erase the line (source: ECMA-48, EL).
_ERASE = "\r\x1b[K"


class ProgressBar:
    """Counts up to `total`; shows nothing where standard error is no terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty()

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        if self._shown:
            filled = _WIDTH * self._done // self._total
            bar = "#" * filled + "." * (_WIDTH - filled)
            print(f"{_ERASE}[{bar}] {self._done}/{self._total}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._shown:
            print(_ERASE, end="", file=sys.stderr, flush=True)
