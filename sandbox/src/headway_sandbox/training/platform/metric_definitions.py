"""The metrics that a script prints: MetricDefinitions are regular expressions whose first group is a value.

Source: API reference, MetricDefinition; SageMaker guide, "Define training metrics".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any


class MetricDefinitions:
    """The MetricDefinitions of a request.

    Args:
        request: The CreateTrainingJob request.
    """

    def __init__(self, request: Mapping[str, Any]) -> None:
        definitions = request["AlgorithmSpecification"].get("MetricDefinitions") or []
        self._patterns: list[tuple[str, re.Pattern[str]]] = []
        self.invalid: list[str] = []
        """Why some of them find nothing."""
        for definition in definitions:
            name, regex = definition["Name"], definition["Regex"]
            try:
                pattern = re.compile(regex)
            except re.error as error:
                self.invalid.append(f"MetricDefinition {name}: '{regex}' is not a regular expression: {error}.")
                continue
            if pattern.groups:
                self._patterns.append((name, pattern))
            else:
                self.invalid.append(
                    f"MetricDefinition {name}: '{regex}' has no group, such as ([0-9.]+), for the value."
                )

    def values(self, line: str) -> Iterator[tuple[str, float]]:
        """Return the names and values in a line of output."""
        for name, pattern in self._patterns:
            for found in pattern.finditer(line):
                try:
                    value = float(found[1])
                except (TypeError, ValueError):
                    continue
                if math.isfinite(value):  # CloudWatch refuses others
                    yield name, value
