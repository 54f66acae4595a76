"""The metrics that a script prints: MetricDefinitions are regular expressions whose first group is a value.

Source: API reference, MetricDefinition; SageMaker guide, "Define training metrics".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LIMIT_S = 1.0
"""Processor time that a pattern may take for a line of at most 16 KB. Usual ones take microseconds."""

_MATCHER = Path(__file__).with_name("metric_matcher.py")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a line of output holds."""

    values: list[tuple[str, float]]
    """Names of metrics, and values."""
    complaints: list[str]
    """Why some of the MetricDefinitions find nothing from now on."""


class MetricDefinitions:
    """The MetricDefinitions of a request.

    Args:
        request: The CreateTrainingJob request.
        limit_s: See `LIMIT_S`.
    """

    def __init__(self, request: Mapping[str, Any], limit_s: float = LIMIT_S) -> None:
        definitions = request["AlgorithmSpecification"].get("MetricDefinitions") or []
        self._limit_s = limit_s
        self._patterns: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._matcher: subprocess.Popen[str] | None = None
        self.invalid: list[str] = []
        """Why some of them find nothing."""
        for definition in definitions:
            name, regex = definition["Name"], definition["Regex"]
            try:
                groups = re.compile(regex).groups
            except (re.error, OverflowError, RecursionError) as error:
                self.invalid.append(f"MetricDefinition {name}: '{regex}' is not a regular expression: {error}.")
                continue
            if groups:
                self._patterns.append((name, regex))
            else:
                self.invalid.append(
                    f"MetricDefinition {name}: '{regex}' has no group, such as ([0-9.]+), for the value."
                )

    def read(self, line: str) -> Reading:
        """Return what a line of output holds. May be called from several threads."""
        with self._lock:
            answer = self._ask(line) if self._patterns else None
            if answer is None:
                return Reading(values=[], complaints=[])
            return Reading(
                values=[(name, value) for name, value in answer["values"]],
                complaints=[
                    f"MetricDefinition {name} takes more than {self._limit_s:g} s of processor time for one line, so "
                    "it finds nothing from now on. Avoid repetitions inside repetitions, such as (a+)+."
                    for name in answer["slow"]
                ],
            )

    def close(self) -> None:
        """End the process that matches, also while it matches a line: nothing is found any more."""
        self._patterns = []
        if (matching := self._matcher) is not None:
            matching.kill()
        with self._lock:
            if self._matcher is not None:
                self._matcher.kill()
                self._matcher.communicate()

    def _ask(self, line: str) -> dict[str, Any] | None:
        """Ask the process that matches; None if it has ended, such as for want of memory."""
        with suppress(OSError, ValueError):
            matcher = self._matcher = self._matcher or self._start()
            _write(matcher.stdin, line)
            answer: dict[str, Any] = json.loads(matcher.stdout.readline() if matcher.stdout else "")
            return answer
        return None

    def _start(self) -> subprocess.Popen[str]:
        matcher = subprocess.Popen(
            [sys.executable, "-I", str(_MATCHER), str(self._limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Warnings about patterns are of no use to anybody here.
            stderr=subprocess.DEVNULL,
            text=True,
        )
        _write(matcher.stdin, self._patterns)
        return matcher


def _write(pipe: IO[str] | None, document: Any) -> None:
    if pipe is not None:
        pipe.write(json.dumps(document) + "\n")
        pipe.flush()
