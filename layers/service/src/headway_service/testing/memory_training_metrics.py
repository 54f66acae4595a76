"""The metrics that training jobs report, without AWS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from headway_service.errors import RetryLater
from headway_service.ports.training_metrics import JobMetric, Series


class MemoryTrainingMetrics:
    """A :class:`headway_service.ports.training_metrics.TrainingMetrics` in memory.

    Attributes:
        unknown: metrics of which not all values are known.
        fails: whether each call fails.
        asked: the metrics of each call.
    """

    def __init__(self) -> None:
        self.unknown: set[JobMetric] = set()
        self.fails = False
        self.asked: list[list[JobMetric]] = []
        self._values: dict[JobMetric, list[tuple[float, float]]] = defaultdict(list)

    def put(self, training_job: str, metric: str, value: float, *, at_s: float) -> None:
        """A training job reports a value.

        Args:
            training_job: its name.
            metric: the name of the metric.
            at_s: when, s since the epoch.
        """
        self._values[JobMetric(training_job, metric)].append((at_s, value))

    def read(
        self, metrics: Sequence[JobMetric], *, since_s: int, until_s: int, period_s: int
    ) -> Mapping[JobMetric, Series]:
        """See :class:`headway_service.ports.training_metrics.TrainingMetrics`."""
        self.asked.append(list(metrics))
        if self.fails:
            raise RetryLater("CloudWatch cannot answer now; try again in a moment")
        return {
            each: _averages(self._values.get(each, []), since_s, until_s, period_s)
            for each in metrics
            if each not in self.unknown
        }


def _averages(values: Sequence[tuple[float, float]], since_s: int, until_s: int, period_s: int) -> Series:
    periods: dict[int, list[float]] = defaultdict(list)
    for at_s, value in values:
        if since_s <= at_s < until_s:
            periods[int(at_s // period_s) * period_s].append(value)
    return tuple((start_s, fmean(each)) for start_s, each in sorted(periods.items()))
