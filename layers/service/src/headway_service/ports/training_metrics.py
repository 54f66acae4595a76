"""The metrics that training jobs report, as the service needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Series = tuple[tuple[int, float], ...]
"""The averages of a metric, by the start of their period, s since the epoch; in the order of time."""

MAX_METRICS = 500
"""The most metrics of one call (API reference, GetMetricData)."""


@dataclass(frozen=True, slots=True)
class JobMetric:
    """A metric of MetricDefinitions, of one training job."""

    training_job: str
    metric: str


class TrainingMetrics(Protocol):
    """The metrics that training jobs report."""

    def read(
        self, metrics: Sequence[JobMetric], *, since_s: int, until_s: int, period_s: int
    ) -> Mapping[JobMetric, Series]:
        """GetMetricData.

        Args:
            metrics: one or more, up to :data:`MAX_METRICS`, each one once.
            since_s: the start of the time that is asked for, s since the epoch.
            until_s: its end.
            period_s: the time of which a value is the average, s; a multiple of 60.

        Returns:
            The metrics of which all values are known. Those without values have an empty series.

        Raises:
            RetryLater: CloudWatch cannot answer now.
            MetricsRefused: CloudWatch does not take the metrics as they are named.
        """
