"""The values of a metric over the steps of a training."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Curve:
    """The values of a metric at ascending steps, at least one.

    Attributes:
        steps: strictly ascending; what a step is, such as an epoch or a second, is the same for all compared curves.
        values: one for each step.
    """

    steps: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.steps or len(self.steps) != len(self.values):
            raise ValueError(f"{len(self.steps)} steps and {len(self.values)} values")
        if any(later <= earlier for earlier, later in pairwise(self.steps)):
            raise ValueError("the steps do not ascend")

    @classmethod
    def of_runs(cls, runs: Iterable[Sequence[tuple[float, float]]]) -> Curve | None:
        """Return the curve of a training that was interrupted; None if it has no values.

        A run that continues from a checkpoint repeats steps: its values replace those of earlier runs from its first
        step on. Of values with the same step the last one counts. A value whose step is less than one before it in the
        same run is dropped, as its place is not known.

        Args:
            runs: of each run, in their order, steps and values in the order of time.
        """
        points: list[tuple[float, float]] = []
        for run in runs:
            if run:
                first = run[0][0]
                points = [each for each in points if each[0] < first]
            for step, value in run:
                if points and step == points[-1][0]:
                    points[-1] = (step, value)
                elif not points or step > points[-1][0]:
                    points.append((step, value))
        return cls(*map(tuple, zip(*points, strict=True))) if points else None

    @property
    def last(self) -> float:
        """The last step with a value."""
        return self.steps[-1]

    def average_until(self, step: float) -> float | None:
        """Return the average of the values up to a step, inclusive; None if there are none."""
        count = bisect_right(self.steps, step)
        return fmean(self.values[:count]) if count else None

    def last_until(self, step: float) -> float | None:
        """Return the last step with a value that is not greater than a step; None if there is none."""
        count = bisect_right(self.steps, step)
        return self.steps[count - 1] if count else None
