"""Utilization rules for running jobs: the alarms they need, and the verdict of these alarms.

A watch is a rule such as "below 1 % of its GPUs for three times five minutes". For each host of an attempt it takes one
alarm, as each host publishes its own metrics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from headway.errors import InvalidPolicy
from headway.instances import gpus_of
from headway.jobpolicy.patterns import matches
from headway.jobpolicy.rules import When
from headway.jobpolicy.training_job import TrainingJob

MAX_HOSTS = 100
"""The most hosts of a job that a watch covers; a job with more is reported as not monitored."""

TRAINING_JOBS = "/aws/sagemaker/TrainingJobs"
"""Where SageMaker publishes the figures of training jobs (guide, "Amazon SageMaker AI metrics")."""

PUBLISHED_EVERY_S = 60
"""Time between two of these figures (guide, as above). An alarm of a shorter period has periods without data, which
count as normal, so it does not fire (API reference, PutMetricAlarm, Period)."""

HOST = "Host"
"""The dimension of these figures: ``<training job>/algo-<n>``."""

GPU_METRICS = frozenset({"GPUUtilization", "GPUMemoryUtilization"})
"""Figures that run to 100 for each GPU of a host (guide, as above)."""

# They run to 100 whatever the host (guide, as above). CPUUtilization runs to 100 for each core.
_OF_A_HUNDRED = frozenset({"MemoryUtilization", "DiskUtilization"})


class Action(StrEnum):
    """The action on a job with low utilization."""

    NOTIFY = "notify"
    STOP = "stop"
    #: It is stopped, and waits again with a lower priority.
    REQUEUE = "requeue"


@dataclass(frozen=True, kw_only=True, slots=True)
class UtilizationRule:
    """A rule on the use of running jobs.

    Attributes:
        name: of the watch.
        metric: its average is compared.
        namespace: where it is published.
        dimension: it identifies the host.
        below_percent: the threshold of low utilization, in percent of the full scale.
        full_scale: what a host shows that is fully used; None to derive it from the metric and the instance type.
        period_s: of one average, s.
        periods: the number of consecutive averages below the threshold.
        warm_up_ms: what a job does in its first time of training does not count, ms.
        action: the reaction.
        priority: at most, of a job that is requeued.
        all_hosts: whether all hosts of a job have to be below, or any.
        instance_types: patterns; only hosts of these are watched.
        when: which jobs it is for.
    """

    name: str
    metric: str = "GPUUtilization"
    namespace: str = TRAINING_JOBS
    dimension: str = HOST
    below_percent: float = 1.0
    full_scale: float | None = None
    period_s: int = 300
    periods: int = 3
    warm_up_ms: int = 1_800_000
    action: Action = Action.STOP
    priority: int = 0
    all_hosts: bool = True
    instance_types: tuple[str, ...] = ("*",)
    when: When = field(default_factory=When)

    def __post_init__(self) -> None:
        if self.full_scale is None and self.metric not in GPU_METRICS | _OF_A_HUNDRED:
            raise InvalidPolicy(f"the value of {self.metric} on a fully used host is unknown: set it")

    @property
    def window_ms(self) -> int:
        """The time that one verdict covers, ms."""
        return self.period_s * self.periods * 1000

    def scale_of(self, instance_type: str) -> float | None:
        """The value of a fully used host of a type; None if it has none, or it is unknown."""
        if self.full_scale is not None:
            return self.full_scale
        if self.metric in _OF_A_HUNDRED:
            return 100.0
        return 100.0 * gpus if (gpus := gpus_of(instance_type)) else None

    def is_warm(self, training_since_ms: int, now_ms: int) -> bool:
        """Whether an alarm's verdict covers only time after the warm-up.

        A verdict may be as old as the time between two evaluations: a minute, or ten seconds for alarms of shorter
        periods (guide, "Using Amazon CloudWatch alarms"), so that comes on top.

        Args:
            training_since_ms: the start of training, ms.
        """
        age_ms = max(10, min(self.period_s, 60)) * 1000
        return now_ms >= training_since_ms + self.warm_up_ms + self.window_ms + age_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """An attempt as watches see it.

    Attributes:
        attempt: its name, which is that of the training job.
        hosts: their instance types, in the order in which SageMaker numbers them, from 1.
        job: as the conditions see it.
    """

    attempt: str
    hosts: tuple[str, ...]
    job: TrainingJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """An alarm on the average of one host's figures.

    Attributes:
        attempt: the attempt of the host.
        watch: for which watch.
        number: of the host, from 1.
        threshold: it fires below this.
    """

    attempt: str
    watch: str
    number: int
    namespace: str
    metric: str
    dimension: str
    threshold: float
    period_s: int
    periods: int

    @property
    def host(self) -> str:
        """The value of the dimension (guide, "Amazon SageMaker AI metrics": ``[training-job-name]/algo-[number]``)."""
        return f"{self.attempt}/algo-{self.number}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """How a watch covers an attempt.

    Attributes:
        watch: which.
        alarms: one for each host that is watched.
        note: why hosts are not watched, for people; empty if all are.
    """

    watch: UtilizationRule
    alarms: tuple[Alarm, ...]
    note: str = ""

    def is_underused(self, firing: Collection[Alarm]) -> bool:
        """Whether the alarms report low utilization of the job. A host without data never counts as underused."""
        below = sum(alarm in firing for alarm in self.alarms)
        return below > 0 and (not self.watch.all_hosts or below == len(self.alarms))


def coverage(watched: Watched, watches: Iterable[UtilizationRule]) -> tuple[Coverage, ...]:
    """How an attempt is covered by the watches that are for it.

    Args:
        watched: the attempt's properties.
        watches: the watches in force.
    """
    return tuple(_coverage(watched, watch) for watch in watches if watch.when.holds(watched.job))


def _coverage(watched: Watched, watch: UtilizationRule) -> Coverage:
    if len(watched.hosts) > MAX_HOSTS:
        note = f"`{watch.name}` watches jobs of up to {MAX_HOSTS} hosts, and this one has {len(watched.hosts)}"
        return Coverage(watch=watch, alarms=(), note=note)
    scales = {each: watch.scale_of(each) for each in watched.hosts if matches(each, watch.instance_types)}
    alarms = tuple(
        Alarm(
            attempt=watched.attempt,
            watch=watch.name,
            number=number,
            namespace=watch.namespace,
            metric=watch.metric,
            dimension=watch.dimension,
            threshold=scale * watch.below_percent / 100,
            period_s=watch.period_s,
            periods=watch.periods,
        )
        for number, each in enumerate(watched.hosts, 1)
        if (scale := scales.get(each)) is not None
    )
    return Coverage(watch=watch, alarms=alarms, note="; ".join(_silent(watch, scales)))


def _silent(watch: UtilizationRule, scales: Mapping[str, float | None]) -> Iterator[str]:
    """Why hosts of some types are not watched."""
    for instance_type in sorted(each for each, scale in scales.items() if scale is None):
        why = "has no GPU" if gpus_of(instance_type) == 0 else "is not known here"
        yield f"`{watch.name}` does not watch {instance_type}, which {why}: give it a watch with a metric of its own"
