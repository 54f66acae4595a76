"""Of several GPUs, at most one is used."""

from __future__ import annotations

from collections import Counter

from headway.advice.figures import JobFigures
from headway.advice.outcome import Advice, Confidence, PriceOf, option
from headway.instances import all_specs

ONE_GPU_PERCENT = 105.0
"""Highest sum of the utilization of a host's GPUs that one GPU explains: 100, and what an idle one may show."""

USED_PERCENT = 5.0
"""Highest sum up to which no GPU is used at all."""


def uses_one_gpu(figures: JobFigures) -> bool:
    """Whether each host has several GPUs, and uses no more than one at any time."""
    peaks = [(host.gpu_peak_percent, spec.gpus) for host, spec in figures.gpu_hosts]
    return bool(peaks) and all(peak is not None and peak <= ONE_GPU_PERCENT and gpus > 1 for peak, gpus in peaks)


def unused_gpus(figures: JobFigures, price_of: PriceOf) -> Advice | None:
    """A smaller instance type, for a job that uses one GPU of several.

    Args:
        figures: of the job.
        price_of: the price of an instance per hour.
    """
    if not uses_one_gpu(figures):
        return None
    host, spec = figures.gpu_hosts[0]
    peak = max(host.gpu_peak_percent or 0.0 for host, _ in figures.gpu_hosts)
    smaller = [each for each in all_specs() if each.gpu == spec.gpu and each.gpus == 1 and each.vcpus <= spec.vcpus]
    now = Counter(host.instance_type for host in figures.hosts)
    used = "no GPU" if peak <= USED_PERCENT else "at most one GPU"
    remedy = f"Use all {spec.gpus} GPUs of the host, with a distributed training"
    if smaller:
        remedy += ", or run the job on an instance with one GPU of the same kind"
    return Advice(
        code="UnusedGpus",
        finding=f"Of the {spec.gpus} GPUs of {host.instance_type}, {used} is used at a time.",
        remedy=f"{remedy}.",
        figures=(
            f"GPUUtilization, sum of a host's GPUs, at most {peak:.0f} % of {100 * spec.gpus} %",
            f"{figures.minutes} min of values",
        ),
        # The sum does not tell one busy GPU from several that are hardly used.
        confidence=Confidence.MEDIUM,
        options=tuple(
            option(now, {each.name: now[host.instance_type]}, 1.0, price_of)
            for each in sorted(smaller, key=lambda each: -each.vcpus)[:1]
        ),
    )
