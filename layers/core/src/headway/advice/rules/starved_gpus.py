"""GPUs wait for processors that prepare their data.

The model: a step takes the longer of two times, that of the GPUs, and that of the data, which is inversely proportional
to the vCPUs that prepare it. So with k times as many vCPUs the job is k times as fast, until the GPUs are always busy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil

from headway.advice.figures import JobFigures, mean
from headway.advice.outcome import Advice, Option, PriceOf, by_minutes, option
from headway.advice.rules.unused_gpus import uses_one_gpu
from headway.instances import InstanceSpec, all_specs, spec_of

FULL_CPU_PERCENT = 85.0
"""Average utilization of all vCPUs from which they count as full."""

STARVED_GPU_PERCENT = 60.0
"""Average utilization of all GPUs up to which they count as starved."""

IDLE_GPU_PERCENT = 1.0
"""Average up to which they are idle for another reason: the estimate would have no bound."""

FEW_HOSTS = 4
"""Most hosts in a group that prepares data, of which each is another instance to wait for."""

DATA_FAMILIES = ("c5", "c6i", "c7i")
"""Families of hosts that prepare data, if the caller names no types."""


def speed_with(vcpus: int, *, now_vcpus: int, gpu_share: float) -> float:
    """How many times as fast a starved job is with other vCPUs for its data.

    Args:
        vcpus: those that prepare its data then.
        now_vcpus: those that do now.
        gpu_share: the share of time in which its GPUs are busy now, 0 to 1.
    """
    return max(1.0, min(vcpus / now_vcpus, 1 / gpu_share))


def starved_gpus(figures: JobFigures, price_of: PriceOf, data_types: Sequence[str] = ()) -> Advice | None:
    """More vCPUs per GPU, for a job whose processors are full while its GPUs wait.

    Args:
        figures: of the job.
        price_of: the price of an instance per hour.
        data_types: instance types for hosts that prepare data; by default those of :data:`DATA_FAMILIES`.
    """
    hosts = figures.gpu_hosts
    if not hosts or uses_one_gpu(figures):
        return None
    # A host with values of one metric only says nothing about the other one.
    both = [
        (host.cpu_percent / spec.vcpus, host.gpu_percent / spec.gpus)
        for host, spec in hosts
        if host.cpu_percent is not None and host.gpu_percent is not None
    ]
    if len(both) < len(hosts):
        return None
    cpu, gpu = mean(cpu for cpu, _ in both), mean(gpu for _, gpu in both)
    if cpu < FULL_CPU_PERCENT or not IDLE_GPU_PERCENT < gpu <= STARVED_GPU_PERCENT:
        return None
    spec, count = hosts[0][1], len(hosts)
    now = Counter(host.instance_type for host in figures.hosts)
    options = [
        *_larger(spec, count, now, gpu / 100, price_of),
        *_group(spec, count, now, gpu / 100, price_of, data_types),
    ]
    return Advice(
        code="StarvedGpus",
        finding="The GPUs wait for their data: the vCPUs are full, and the GPUs are not.",
        remedy=(
            "Use an instance type with more vCPUs per GPU, or a heterogeneous cluster with a group of CPU instances "
            "that prepare the data. Before that, cheaper preparation (smaller files, a compiled decoder, augmentation "
            "on the GPU) may do."
        ),
        figures=(
            f"CPUUtilization {cpu:.0f} % of the vCPUs of {spec.name}",
            f"GPUUtilization {gpu:.0f} % of its GPUs",
            f"{figures.minutes} min of values",
        ),
        confidence=by_minutes(figures.minutes),
        options=tuple(options),
    )


def _larger(spec: InstanceSpec, count: int, now: Counter[str], gpu_share: float, price_of: PriceOf) -> list[Option]:
    """The smallest type with the same GPUs that keeps them busy, or else the largest."""
    others = [
        each for each in all_specs() if (each.gpu, each.gpus) == (spec.gpu, spec.gpus) and each.vcpus > spec.vcpus
    ]
    if not others:
        return []
    needed = spec.vcpus / gpu_share
    enough = [each for each in others if each.vcpus >= needed]
    chosen = min(enough, key=_vcpus) if enough else max(others, key=_vcpus)
    speed = speed_with(chosen.vcpus, now_vcpus=spec.vcpus, gpu_share=gpu_share)
    return [option(now, {chosen.name: count}, speed, price_of)]


def _group(
    spec: InstanceSpec, count: int, now: Counter[str], gpu_share: float, price_of: PriceOf, data_types: Sequence[str]
) -> list[Option]:
    """The fewest vCPUs in a group of few hosts without GPUs that keep the GPUs busy."""
    needed = count * spec.vcpus / gpu_share
    given = [found for name in data_types if (found := spec_of(name)) is not None]
    candidates = given or [each for each in all_specs() if each.family in DATA_FAMILIES]
    groups = [(each, min(FEW_HOSTS * count, ceil(needed / each.vcpus))) for each in candidates if not each.gpus]
    if not groups:
        return []

    def order(group: tuple[InstanceSpec, int]) -> tuple[bool, int, int, str]:
        each, hosts = group
        total = each.vcpus * hosts
        return total < needed, total if total >= needed else -total, hosts, each.name

    chosen, hosts = min(groups, key=order)
    speed = speed_with(chosen.vcpus * hosts, now_vcpus=count * spec.vcpus, gpu_share=gpu_share)
    # So few small hosts would prepare no more data than the job does by itself.
    return [option(now, {spec.name: count, chosen.name: hosts}, speed, price_of)] if speed > 1 else []


def _vcpus(spec: InstanceSpec) -> tuple[int, str]:
    return spec.vcpus, spec.name
