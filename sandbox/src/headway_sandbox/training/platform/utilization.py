"""The utilization of a host as SageMaker publishes it, from what its processes use. Pure.

Source: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch": one value per minute; of the processors in
percent of one core, of the GPUs in percent of one GPU, of memory and disk in percent of what the host has.
"""

from __future__ import annotations

import math

from headway_sandbox.sagemaker.telemetry.utilization import CPU, DISK, GPU, INTERVAL_S, MEMORY
from headway_sandbox.training.container.usage import Usage


def next_moment(now_s: float) -> float:
    """Return when the next values are due, s since the epoch: in the middle of a minute.

    CloudWatch evaluates alarms at the end of a minute, and values have to be there then.

    Args:
        now_s: The time, s since the epoch.
    """
    return (math.floor((now_s - INTERVAL_S / 2) / INTERVAL_S) + 1) * INTERVAL_S + INTERVAL_S / 2


def percentages(
    before: Usage, now: Usage, *, memory_bytes: int, disk_used: int, disk_bytes: int, gpu: float | None
) -> dict[str, float]:
    """Return the values of a host by the name of their metric, in percent.

    Args:
        before: What its processes used at the last value.
        now: What they use, measured later.
        memory_bytes: The memory that it has.
        disk_used: Size of its files, bytes.
        disk_bytes: The disk space that it has.
        gpu: Utilization of its GPUs; None if there is none.
    """
    found = {
        CPU: 100 * max(0.0, now.cpu_s - before.cpu_s) / (now.at_s - before.at_s),
        MEMORY: min(100.0, 100 * now.memory_bytes / memory_bytes),
        DISK: min(100.0, 100 * disk_used / disk_bytes),
    }
    return found if gpu is None else {**found, GPU: gpu}
