"""Utilization metrics of a training job's hosts in CloudWatch.

Source: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch", on training jobs: one value per minute,
with the dimension Host, in percent; CPU and GPU utilization are sums over the cores and GPUs. There are no metrics of
the cores of Trainium and Inferentia. The request's Environment sets the values
(`headway_sandbox.sagemaker.run_script`).

Pure: the values are a function of the job and the time, so there is no state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headway.instances import gpus_of
from headway_sandbox.sagemaker import requested_instances, service_facts
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION, LoadProfile, Script
from headway_sandbox.sagemaker.telemetry.training_intervals import training_intervals
from headway_sandbox.sagemaker.training_job import TrainingJob

NAMESPACE, DIMENSION, UNIT = "/aws/sagemaker/TrainingJobs", "Host", "Percent"
CPU, MEMORY, DISK = "CPUUtilization", "MemoryUtilization", "DiskUtilization"
GPU, GPU_MEMORY = "GPUUtilization", "GPUMemoryUtilization"
INTERVAL_S = 60.0
_DEFAULT = {CPU: 90.0, MEMORY: 40.0, DISK: 20.0}
_DEFAULT_PER_GPU = {GPU: 90.0, GPU_MEMORY: 70.0}


class Figure(NamedTuple):
    """One metric value of one host."""

    metric: str
    host: str
    """Value of its dimension."""
    time_s: float
    percent: float


def check(request: Mapping[str, Any], script: Script) -> None:
    """Validate that a request's hosts can reach the GPU utilization of its script.

    Args:
        request: A CreateTrainingJob request.

    Raises:
        AwsError: A host that it may get has too few GPUs.
    """
    for choice in requested_instances.choices(request):
        _check_hosts(choice.hosts, script)


def _check_hosts(hosts: Sequence[str], script: Script) -> None:
    for number, instance_type in enumerate(hosts, start=1):
        gpus = gpus_of(instance_type)
        profile = _profile_of(script.gpu, number)
        if gpus and any(percent > 100 * gpus for _since_s, percent in profile):
            raise service_facts.validation(f"Sandbox: {GPU_UTILIZATION} is at most {100 * gpus} for {instance_type}.")


def figures(job: TrainingJob, *, after_s: float, until_s: float, interval_s: float = INTERVAL_S) -> Iterator[Figure]:
    """Return a job's metric values of a time range.

    Args:
        job: The training job.
        after_s: Start of the range, exclusive, s since the epoch.
        until_s: End of the range, inclusive, s since the epoch.
        interval_s: Time between two values.
    """
    moments = list(_moments(job, after_s=after_s, until_s=until_s, interval_s=interval_s))
    if not moments:
        return
    for number, instance_type in enumerate(job.hosts, start=1):
        for metric in _metrics(instance_type):
            for moment_s, trained_s in moments:
                percent = _percent(job.script, instance_type, number, metric, trained_s)
                yield Figure(metric, f"{job.name}/algo-{number}", moment_s, percent)


def figures_of(
    job: TrainingJob,
    *,
    metric: str,
    number: int,
    after_s: float,
    until_s: float,
    interval_s: float = INTERVAL_S,
) -> list[tuple[float, float]]:
    """Return times and values of one metric of one host; none if the host or the metric does not exist.

    Args:
        job: The training job.
        metric: Name of the metric.
        number: Number of the host, from 1.
        after_s: Start of the range, exclusive, s since the epoch.
        until_s: End of the range, inclusive, s since the epoch.
        interval_s: Time between two values.
    """
    hosts = job.hosts
    if not 1 <= number <= len(hosts) or metric not in _metrics(hosts[number - 1]):
        return []
    return [
        (moment_s, _percent(job.script, hosts[number - 1], number, metric, trained_s))
        for moment_s, trained_s in _moments(job, after_s=after_s, until_s=until_s, interval_s=interval_s)
    ]


def _metrics(instance_type: str) -> tuple[str, ...]:
    return (*_DEFAULT, *(_DEFAULT_PER_GPU if gpus_of(instance_type) else ()))


def _moments(job: TrainingJob, *, after_s: float, until_s: float, interval_s: float) -> Iterator[tuple[float, float]]:
    """Return the moments of the metric values, and the training time until then."""
    for started_s, ended_s, trained_s, _then in training_intervals(job):
        # Begins one or two values early, because of rounding; they are skipped below.
        number = max(0, int((after_s - started_s) / interval_s) - 1)
        moment_s = started_s + number * interval_s
        while moment_s <= until_s and (ended_s is None or moment_s < ended_s):
            if moment_s > after_s:
                yield moment_s, trained_s + moment_s - started_s
            number += 1
            moment_s = started_s + number * interval_s


def _percent(script: Script, instance_type: str, number: int, metric: str, trained_s: float) -> float:
    profile = _profile_of({GPU: script.gpu, CPU: script.cpu}.get(metric, ()), number)
    if profile:
        return [percent for since_s, percent in profile if since_s <= trained_s][-1]
    return _DEFAULT[metric] if metric in _DEFAULT else _DEFAULT_PER_GPU[metric] * (gpus_of(instance_type) or 0)


def _profile_of(profiles: Sequence[LoadProfile], number: int) -> LoadProfile:
    return profiles[min(number, len(profiles)) - 1] if profiles else ()
