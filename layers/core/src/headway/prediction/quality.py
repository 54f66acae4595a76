"""How good were predictions?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.accounting.histogram import RELATIVE_ERROR, bucket_of, quantile
from headway.prediction.run_times import Prediction

_PARTS = 1000
"""Relative errors are kept as durations are, in parts of this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quality:
    """How far the predictions for completed jobs were off.

    Attributes:
        covered: how many jobs ran for a time within their interval.
        errors: by how much the median was off, as a part of the run time: the counts by bucket.
    """

    covered: int = 0
    errors: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, prediction: Prediction, run_ms: int) -> Quality:
        """The quality of one prediction.

        Args:
            run_ms: how long the job ran, ms.
        """
        error = abs(prediction.median_ms - run_ms) / max(run_ms, 1)
        # The ends of an interval are known within the error of a histogram.
        low, high = prediction.low_ms * (1 - RELATIVE_ERROR), prediction.high_ms * (1 + RELATIVE_ERROR)
        return cls(covered=int(low <= run_ms <= high), errors={bucket_of(error * _PARTS): 1})

    def __add__(self, other: Quality) -> Quality:
        return Quality(covered=self.covered + other.covered, errors=dict(Counter(self.errors) + Counter(other.errors)))

    @property
    def predicted(self) -> int:
        """How many jobs had a prediction."""
        return sum(self.errors.values())

    @property
    def coverage(self) -> float | None:
        """The part of the jobs that ran for a time within their interval; None without jobs."""
        return self.covered / self.predicted if self.predicted else None

    @property
    def median_error(self) -> float | None:
        """The relative error that half of the predictions do not exceed; None without jobs."""
        error = quantile(self.errors, 0.5)
        return None if error is None else error / _PARTS
