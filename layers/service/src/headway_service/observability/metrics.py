"""All metrics that the queue publishes, and the metrics of each job event.

A metric's dimensions are bounded in number, as each combination of their values is billed as a separate metric. All
have the dimension ``service``, the stack; some have one more. ``docs/how-to/operations.md`` has the table of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aws_lambda_powertools.metrics import MetricUnit

from headway.lifecycle import WAITING, JobTrigger
from headway_service.store.records.job import JobRecord

NAMESPACE = "Headway"
"""Where CloudWatch keeps them."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    Attributes:
        name: its name.
        unit: of its values.
        by: the dimension that it has beside the stack, if it has one.
        noughts: whether a value of 0 is published. A metric is billed for each hour in which it has a value, so it is
            not where 0 means that nothing is wrong, as missing data means the same.
    """

    name: str
    unit: MetricUnit = MetricUnit.Count
    by: Literal["", "pool", "team", "outcome", "code"] = ""
    noughts: bool = False

    def of(self, value: float, which: str = "") -> MetricValue:
        """A figure of it; ``which`` is the value of its dimension.

        Args:
            which: the value of its dimension; empty if it has none.
        """
        return MetricValue(self, value, which)


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One value of a metric, measured now."""

    metric: Metric
    value: float
    which: str = ""


TICK_FAILED = Metric("TickFailed")
STARTED = Metric("Started")
PREEMPTED = Metric("Preempted")
TIME_TO_START = Metric("TimeToStart", MetricUnit.Seconds, "pool", noughts=True)
WORK_LOST = Metric("WorkLost", MetricUnit.Seconds)
ENDED = Metric("Ended", by="outcome")

WAITING_IN_POOL = Metric("Waiting", by="pool")
WAITING_OF_TEAM = Metric("Waiting", by="team")
OLDEST_IN_POOL = Metric("OldestWait", MetricUnit.Seconds, "pool")
OLDEST_OF_TEAM = Metric("OldestWait", MetricUnit.Seconds, "team")
ALLOCATED = Metric("Allocated", by="pool")
RESERVED = Metric("Reserved", by="pool")
ROGUE = Metric("Rogue", by="pool")
FREE = Metric("Free", by="pool", noughts=True)
UTILISATION = Metric("Utilisation", MetricUnit.Percent, "pool")
STARTABLE = Metric("Startable")
UNLAUNCHABLE = Metric("Unlaunchable")
UNLAUNCHABLE_IN_POOL = Metric("Unlaunchable", by="pool")
UNLAUNCHABLE_BY_CODE = Metric("Unlaunchable", by="code")
STUCK = Metric("Stuck")
DRIFT = Metric("Drift")
UNHEARD = Metric("Unheard")
MEASURED = Metric("Measured")

UNWATCHED = Metric("Unwatched")
MEASURES = Metric("Measures")
UNTOLD = Metric("Untold")
UNACCOUNTED = Metric("Unaccounted")

OUTCOMES: Mapping[JobTrigger, str] = {
    JobTrigger.COMPLETE: "completed",
    JobTrigger.FAIL: "failed",
    JobTrigger.RETRY: "retried",
    JobTrigger.PREEMPTED_ENDED: "preempted",
    JobTrigger.END_STOPPED: "stopped",
}
"""What the end of an attempt was for its job."""


def is_published(figure: MetricValue) -> bool:
    """Whether a figure is worth its price."""
    return figure.value != 0 or figure.metric.noughts


def ended(trigger: JobTrigger) -> MetricValue:
    """An attempt has ended."""
    return ENDED.of(1, OUTCOMES[trigger])


def time_to_start(job: JobRecord, now_ms: int) -> list[MetricValue]:
    """A job starts now: its wait in each of its pools, since it was accepted or requeued.

    The time for which it was held counts, as its owner waited that long.
    """
    since_ms = job.entry_time
    for step in reversed(job.history):
        if step.job_state not in WAITING:
            break
        since_ms = step.time_ms
    return [TIME_TO_START.of((now_ms - since_ms) / 1000, pool) for pool in sorted(job.demand)]
