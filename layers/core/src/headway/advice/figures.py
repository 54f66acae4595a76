"""The figures that advice rests on, with their units and sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headway.instances import InstanceSpec, spec_of

ENOUGH_MINUTES = 10
"""Values of a host, one a minute, below which its utilization says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """The utilization of a host while an attempt trained (CloudWatch, ``/aws/sagemaker/TrainingJobs``).

    Attributes:
        instance_type: its type.
        minutes: how many values its averages have, one a minute.
        cpu_percent: average of CPUUtilization, which runs to 100 for each vCPU; None if it is not known.
        gpu_percent: average of GPUUtilization, which runs to 100 for each GPU; None without GPUs or values.
        gpu_peak_percent: the highest value of it.
        gpu_memory_peak_percent: the highest value of GPUMemoryUtilization, which runs to 100 for each GPU.
    """

    instance_type: str
    minutes: int
    cpu_percent: float | None = None
    gpu_percent: float | None = None
    gpu_peak_percent: float | None = None
    gpu_memory_peak_percent: float | None = None

    @property
    def spec(self) -> InstanceSpec | None:
        """What it has; None if its type is not known."""
        return spec_of(self.instance_type)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFigures:
    """What is known of a job.

    Attributes:
        hosts: the hosts of its newest attempt that has values.
        attempt_s: how long that attempt has run, s (DescribeTrainingJob, SecondaryStatusTransitions).
        downloading_s: how long of that it was Downloading, s; None if it is not known (the same).
        reads_files: whether a channel is copied before the training begins (InputMode File, in the request).
        limit_s: MaxRuntimeInSeconds, s; None without a limit of its own (the request).
        completed_s: how long the attempt that completed the job ran, s; None if none has (the queue).
        preempted_s: how long each attempt that was preempted ran, s (the queue).
        checkpoints: whether the request has a CheckpointConfig.
    """

    hosts: tuple[Host, ...] = ()
    attempt_s: float | None = None
    downloading_s: float | None = None
    reads_files: bool = False
    limit_s: int | None = None
    completed_s: float | None = None
    preempted_s: tuple[float, ...] = ()
    checkpoints: bool = False

    @property
    def gpu_hosts(self) -> tuple[tuple[Host, InstanceSpec], ...]:
        """The hosts with GPUs that have enough values, with what they have."""
        found = ((host, host.spec) for host in self.hosts if host.minutes >= ENOUGH_MINUTES)
        return tuple((host, spec) for host, spec in found if spec is not None and spec.gpus)

    @property
    def minutes(self) -> int:
        """The fewest values of a host with GPUs."""
        return min((host.minutes for host, _ in self.gpu_hosts), default=0)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean of at least one value."""
    listed = list(values)
    return sum(listed) / len(listed)
