"""What must hold of what is expected of run times: it rises only when it is extended, and stays within the limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway_verification.soak.violations import require


@dataclass(frozen=True, kw_only=True)
class _Expectation:
    """What is expected of one job, in ms."""

    entered_ms: int
    expected_ms: int
    extension_ms: int
    handicap_ms: int


class ExpectationInvariants:
    """Compares the jobs of one queue with what they were before."""

    def __init__(self) -> None:
        self._last: dict[str, _Expectation] = {}

    def check(self, jobs: Mapping[str, Mapping[str, Any]]) -> None:
        """Check that more is expected only after an extension, within the limit, and that turns follow it.

        Args:
            jobs: the jobs as stored, by name.

        Raises:
            Violated: that is not so.
        """
        last, self._last = self._last, {}
        for name, job in jobs.items():
            summary = job.get("summary", {})
            if "expectedMs" not in summary:
                continue
            now = _Expectation(
                entered_ms=job["entryTime"],
                expected_ms=summary["expectedMs"],
                extension_ms=summary["extensionMs"],
                handicap_ms=summary["handicapMs"],
            )
            self._last[name] = now
            left_ms = summary["leftMs"]
            require(1 <= now.expected_ms <= left_ms, f"of {name} {now.expected_ms} ms are expected, {left_ms} are left")
            before = last.get(name)
            if before is None or before.entered_ms != now.entered_ms:
                # It has entered since, or again with another request.
                continue
            is_extended = now.extension_ms > before.extension_ms
            require(now.extension_ms >= before.extension_ms, f"the extension of {name} falls to {now.extension_ms}")
            require(
                is_extended or now.expected_ms <= before.expected_ms, f"more is expected of {name}, and not extended"
            )
            # One weight leads from what is expected to the handicap.
            require(
                now.handicap_ms * before.expected_ms == before.handicap_ms * now.expected_ms,
                f"the handicap of {name} does not follow what is expected of it",
            )

    def table_restored(self) -> None:
        """The jobs are those of an earlier state."""
        self._last.clear()
