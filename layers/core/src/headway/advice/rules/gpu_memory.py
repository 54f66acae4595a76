"""The memory of the GPUs is nearly empty."""

from __future__ import annotations

from collections import Counter

from headway.advice.figures import JobFigures
from headway.advice.outcome import Advice, Confidence, PriceOf, option
from headway.advice.rules.unused_gpus import uses_one_gpu
from headway.instances import all_specs

EMPTY_PERCENT = 30.0
"""Highest utilization of the GPUs' memory up to which it counts as nearly empty."""

MARGIN = 1.5
"""How many times the memory that was used a smaller GPU has to have."""


def gpu_memory(figures: JobFigures, price_of: PriceOf) -> Advice | None:
    """A larger batch or a smaller GPU, for a job that uses little of the GPUs' memory.

    Args:
        figures: of the job.
        price_of: the price of an instance per hour.
    """
    hosts = figures.gpu_hosts
    if not hosts or uses_one_gpu(figures):
        return None
    peaks = [
        host.gpu_memory_peak_percent / spec.gpus for host, spec in hosts if host.gpu_memory_peak_percent is not None
    ]
    if len(peaks) < len(hosts) or not 0 < max(peaks) <= EMPTY_PERCENT:
        return None
    spec, peak = hosts[0][1], max(peaks)
    needed_mib = spec.gpu_memory_mib * peak / 100 * MARGIN
    smaller = [
        each
        for each in all_specs()
        if each.gpus == spec.gpus and needed_mib <= each.gpu_memory_mib < spec.gpu_memory_mib
    ]
    now = Counter(host.instance_type for host in figures.hosts)
    # Of the smallest GPUs that suffice, the instance with as many vCPUs; the data may need them.
    smaller.sort(key=lambda each: (each.gpu_memory_mib, abs(each.vcpus - spec.vcpus), each.name))
    return Advice(
        code="EmptyGpuMemory",
        finding=f"The memory of the GPUs of {spec.name} is nearly empty.",
        remedy="Use a larger batch, or an instance type with smaller GPUs; how fast these are is not estimated.",
        figures=(
            f"GPUMemoryUtilization at most {peak:.0f} % of {spec.gpus} times {spec.gpu_memory_mib} MiB",
            f"{figures.minutes} min of values",
        ),
        # It is the average of the GPUs, of which one may need more; and other GPUs have another speed.
        confidence=Confidence.LOW,
        options=tuple(option(now, {each.name: len(hosts)}, None, price_of) for each in smaller[:1]),
    )
