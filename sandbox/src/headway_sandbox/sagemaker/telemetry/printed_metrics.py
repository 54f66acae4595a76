"""What the script of a timer prints: its numeric hyperparameters, and `epoch`, the minutes that it has trained.

So members of an array differ in their metrics as in their hyperparameters. Pure, as the metrics of utilization are.
"""

from __future__ import annotations

from headway_sandbox.sagemaker.telemetry.training_intervals import training_intervals
from headway_sandbox.sagemaker.training_job import TrainingJob

DIMENSION = "TrainingJobName"
EPOCH = "epoch"
INTERVAL_S = 60.0


def values_of(job: TrainingJob, metric: str, *, after_s: float, until_s: float) -> list[tuple[float, float]]:
    """Return times and values of one metric; none if its script does not print it.

    Args:
        job: The training job.
        metric: Name of the metric.
        after_s: Start of the range, inclusive, s since the epoch.
        until_s: End of the range, exclusive, s since the epoch.
    """
    found = []
    for interval in training_intervals(job):
        ended_s = until_s if interval.ended_s is None else min(until_s, interval.ended_s)
        minute = 0
        while (at_s := interval.started_s + minute * INTERVAL_S) < ended_s:
            epoch = interval.trained_s / INTERVAL_S + minute
            value = epoch if metric == EPOCH else _number((job.request.get("HyperParameters") or {}).get(metric))
            if value is not None and at_s >= after_s:
                found.append((at_s, value))
            minute += 1
    return found


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
