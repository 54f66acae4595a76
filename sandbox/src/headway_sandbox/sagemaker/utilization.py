"""How busy the hosts of a training job are, as CloudWatch is told.

Source: SageMaker guide, "Amazon SageMaker AI metrics in Amazon CloudWatch", on training jobs: a figure a minute, with
the dimension Host, in percent; those of CPU and GPU are sums over the cores and GPUs. Nothing is told of the cores of
Trainium and Inferentia. The request's Environment says what the figures are (`headway_sandbox.sagemaker.run_script`).

Pure: all of it follows from the job and the time, so nothing has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headway.jobpolicy.accelerators import gpus_of
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.run_script import GPU_UTILIZATION, Course, Script
from headway_sandbox.sagemaker.training_intervals import spells
from headway_sandbox.sagemaker.training_job import TrainingJob

NAMESPACE, DIMENSION, UNIT = "/aws/sagemaker/TrainingJobs", "Host", "Percent"
CPU, MEMORY, DISK = "CPUUtilization", "MemoryUtilization", "DiskUtilization"
GPU, GPU_MEMORY = "GPUUtilization", "GPUMemoryUtilization"
_INTERVAL_S = 60.0
# Where the clock is fast, a minute is too short to tell figures apart: at most one in this time, s.
_SHORTEST_INTERVAL_S = 1.0
_USUAL = {CPU: 90.0, MEMORY: 40.0, DISK: 20.0}
_USUAL_PER_GPU = {GPU: 90.0, GPU_MEMORY: 70.0}


class Figure(NamedTuple):
    """One figure of one host."""

    metric: str
    host: str
    """The value of its dimension."""
    time_s: float
    percent: float


def check(request: Mapping[str, Any], script: Script) -> None:
    """Check that the hosts of a request can be as busy as its script says.

    Raises:
        AwsError: a host has fewer GPUs.
    """
    for number, instance_type in enumerate(service_facts.hosts(request), start=1):
        gpus = gpus_of(instance_type)
        course = _course_of(script.gpu, number)
        if gpus and any(percent > 100 * gpus for _since_s, percent in course):
            raise service_facts.validation(f"Sandbox: {GPU_UTILIZATION} is at most {100 * gpus} for {instance_type}.")


def figures(job: TrainingJob, clock: Clock, *, after_s: float, until_s: float) -> Iterator[Figure]:
    """All figures of a job that come to be after one moment and not after another, s since the epoch."""
    moments = list(_moments(job, clock, after_s=after_s, until_s=until_s))
    if not moments:
        return
    for number, instance_type in enumerate(service_facts.hosts(job.request), start=1):
        for metric in _metrics(instance_type):
            for moment_s, trained_s in moments:
                percent = _percent(job.script, instance_type, number, metric, trained_s)
                yield Figure(metric, f"{job.name}/algo-{number}", moment_s, percent)


def figures_of(
    job: TrainingJob, clock: Clock, *, metric: str, number: int, after_s: float, until_s: float
) -> list[tuple[float, float]]:
    """The times and values of one metric of its n-th host; none if there is no such host, or no such figure of it."""
    hosts = service_facts.hosts(job.request)
    if not 1 <= number <= len(hosts) or metric not in _metrics(hosts[number - 1]):
        return []
    return [
        (moment_s, _percent(job.script, hosts[number - 1], number, metric, trained_s))
        for moment_s, trained_s in _moments(job, clock, after_s=after_s, until_s=until_s)
    ]


def _metrics(instance_type: str) -> tuple[str, ...]:
    return (*_USUAL, *(_USUAL_PER_GPU if gpus_of(instance_type) else ()))


def _moments(job: TrainingJob, clock: Clock, *, after_s: float, until_s: float) -> Iterator[tuple[float, float]]:
    """When there is a figure, and for how long it has trained by then, s of the real world."""
    interval_s = max(clock.wait_s(_INTERVAL_S), _SHORTEST_INTERVAL_S)
    for started_s, ended_s, trained_s, _then in spells(job, clock):
        # One or two too many, as fractions are rounded; those are sorted out below.
        number = max(0, int((after_s - started_s) / interval_s) - 1)
        moment_s = started_s + number * interval_s
        while moment_s <= until_s and (ended_s is None or moment_s < ended_s):
            if moment_s > after_s:
                yield moment_s, trained_s + clock.world_s(moment_s - started_s)
            number += 1
            moment_s = started_s + number * interval_s


def _percent(script: Script, instance_type: str, number: int, metric: str, trained_s: float) -> float:
    course = _course_of({GPU: script.gpu, CPU: script.cpu}.get(metric, ()), number)
    if course:
        return [percent for since_s, percent in course if since_s <= trained_s][-1]
    return _USUAL[metric] if metric in _USUAL else _USUAL_PER_GPU[metric] * (gpus_of(instance_type) or 0)


def _course_of(courses: Sequence[Course], number: int) -> Course:
    return courses[min(number, len(courses)) - 1] if courses else ()
