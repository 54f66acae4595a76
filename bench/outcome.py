"""How parts of the suite ended: in words, and as the table with which it closes."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench.part_process import TOO_LONG

_WIDEST_WHY = 160


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a part ended.

    Attributes:
        code: its exit code.
        skipped: why it can't be measured here; empty if it can.
        said: the last line of its output.
        took_s: how long it took, s.
    """

    code: int
    skipped: str = ""
    said: str = ""
    took_s: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether something is wrong: with the part, or with a promise or a goal that it checks."""
        return bool(self.code) and not self.skipped

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.skipped:
            return "skipped"
        return "FAILED" if self.failed else "passed"

    @property
    def why(self) -> str:
        """Why it did not pass; empty if it did."""
        if self.skipped:
            return self.skipped
        if not self.failed:
            return ""
        if self.code == TOO_LONG:
            return "took too long, and was broken off"
        how = f"ended by {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"
        return f"{how}: {self.said.removeprefix('FAILED: ')}" if self.said else how

    def __str__(self) -> str:
        told = f"{self.verdict} after {self.took_s:.0f} s"
        return f"{told}: {self.why}" if self.why else told


def outcomes_table(parts: Iterable[str], outcomes: Mapping[str, Outcome]) -> str:
    """A table of all parts: seconds, how each ended, and why; including those that did not end."""
    lines = [f"{'part':<10}{'seconds':>8}"]
    for part in parts:
        outcome = outcomes.get(part)
        if outcome is None:
            lines.append(f"{part:<10}{'':>8}  not done")
            continue
        lines.append(f"{part:<10}{outcome.took_s:>8.1f}  {outcome.verdict:<9}{outcome.why[:_WIDEST_WHY]}".rstrip())
    lines.append(f"{'in all':<10}{sum(outcome.took_s for outcome in outcomes.values()):>8.1f}")
    return "\n".join(lines)
