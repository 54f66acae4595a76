"""The way of figures to CloudWatch: printed to the function's log in its embedded metric format, without a call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from aws_lambda_powertools.metrics import EphemeralMetrics

from headway_service.observability.metrics import NAMESPACE, MetricValue, is_published


def record(figures: Iterable[MetricValue]) -> None:
    """Publish figures that are worth it, those of one combination of dimensions in one line of the log."""
    together: dict[tuple[str, str], list[MetricValue]] = defaultdict(list)
    for figure in filter(is_published, figures):
        together[figure.metric.by, figure.which].append(figure)
    for (dimension, value), some in together.items():
        metrics = EphemeralMetrics(namespace=NAMESPACE)
        if dimension:
            metrics.add_dimension(dimension, value)
        for figure in some:
            metrics.add_metric(figure.metric.name, figure.metric.unit, figure.value)
        if metrics.metric_set:  # each hundredth value of a metric has had a line written
            metrics.flush_metrics()
