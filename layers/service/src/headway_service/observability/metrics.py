"""All metrics that the queue publishes, and the metrics of each job event.

A metric's dimensions are bounded in number, as each combination of their values is billed as a separate metric. All
have the dimension ``service``, the stack; some have one more. ``docs/how-to/operations.md`` has the table of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from aws_lambda_powertools.metrics import MetricUnit

from headway.lifecycle import WAITING, JobTrigger
from headway_service.store.policy_actions import PolicyAction
from headway_service.store.records.job import JobRecord

NAMESPACE = "Headway"
"""Where CloudWatch keeps them."""


class Neglect(StrEnum):
    """The kinds of states that wait for a person."""

    #: A pool is paused for long.
    PAUSE = "PauseForgotten"
    #: Jobs wait for a training plan that is over, or that the queue cannot use.
    PLAN = "PlanGone"
    #: Rogue training jobs fill a pool for which jobs wait.
    ROGUES = "RoguesFillPool"
    #: A job demands more than it can ever get.
    NEVER_STARTS = "NeverStarts"
    #: No event tells of the training jobs of the queue.
    NO_EVENTS = "NoEvents"


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
NEGLECTED = Metric("Neglected")
NEGLECTED_BY_CODE = Metric("Neglected", by="code")

UNWATCHED = Metric("Unwatched")
MEASURES = Metric("Measures")
WATCH_STOPS = Metric("WatchStops")
UNEXPECTED = Metric("UnexpectedErrors")
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


def measures(actions: Collection[PolicyAction]) -> list[MetricValue]:
    """What watches did about running jobs."""
    return [MEASURES.of(len(actions)), WATCH_STOPS.of(sum(action.cause is not None for action in actions))]


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
