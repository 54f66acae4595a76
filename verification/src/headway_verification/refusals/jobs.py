"""The jobs of a state, and what users and operators do, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.pool_names import SPOT_SUFFIX
from headway_verification.refusals.deployment import BUCKET, RefusingDeployment

P5 = "ml.p5.48xlarge"
P4 = "ml.p4d.24xlarge"
HOUR_S = 3600
BATCH = 100
"""Requests in one call of ``POST /job-batches`` (docs/reference/api.md)."""

IMAGE = f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/train@sha256:{'a' * 64}"

Do = Callable[[RefusingDeployment[Any]], None]
"""What a user, an operator or an accident does at a time of the day."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job.

    Attributes:
        name: its name.
        demand: its instances, per type.
        at_min: when it is submitted, minutes after the begin.
        priority: its priority.
        run_h: how long its script trains, h.
        limit_s: its MaxRuntimeInSeconds.
        spot: whether it uses managed spot training.
        terms: what its submission says beside the request: alternatives, reuse, a sweep.
        changes: other members of its request.
        runs_on: the instances that AWS would give it, per pool; empty if AWS refuses it.
        members: of an array, those that could run; each has the demand.
    """

    name: str
    demand: Mapping[str, int] = field(default_factory=lambda: {P5: 1})
    at_min: int = 0
    priority: int = 0
    run_h: float = 3.0
    limit_s: int = 86_400
    spot: bool = False
    terms: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    runs_on: Mapping[str, int] | None = None
    members: range = range(0)

    @property
    def usable(self) -> Mapping[str, int]:
        """The instances that AWS would give it, per pool."""
        if self.runs_on is not None:
            return self.runs_on
        return {kind + SPOT_SUFFIX if self.spot else kind: count for kind, count in self.demand.items()}

    @property
    def launched_as(self) -> tuple[str, ...]:
        """The names of the jobs that are launched for it."""
        return tuple(f"{self.name}_{index}" for index in self.members) or (self.name,)

    @property
    def body(self) -> dict[str, Any]:
        """The body of its submission."""
        stopping: dict[str, Any] = {"MaxRuntimeInSeconds": self.limit_s}
        if self.spot:
            stopping["MaxWaitTimeInSeconds"] = self.limit_s
        request = {
            "TrainingJobName": self.name,
            "RoleArn": "arn:aws:iam::123456789012:role/HeadwayTrainingRole",
            "AlgorithmSpecification": {"TrainingImage": IMAGE, "TrainingInputMode": "File"},
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/output"},
            "ResourceConfig": resources(self.demand),
            "StoppingCondition": stopping,
            "EnableManagedSpotTraining": self.spot,
            "Environment": {"SANDBOX_RUN_SECONDS": str(int(self.run_h * HOUR_S))},
            "Tags": [{"Key": "priority", "Value": str(self.priority)}],
            **self.changes,
        }
        return {"jobDetails": request, **self.terms}


def resources(demand: Mapping[str, int]) -> dict[str, Any]:
    """The ResourceConfig of a demand: a type and a count, or a group for each type."""
    if len(demand) == 1:
        ((kind, count),) = demand.items()
        return {"InstanceType": kind, "InstanceCount": count, "VolumeSizeInGB": 30}
    groups = [
        {"InstanceGroupName": f"g{number}", "InstanceType": kind, "InstanceCount": count}
        for number, (kind, count) in enumerate(demand.items())
    ]
    return {"InstanceGroups": groups, "VolumeSizeInGB": 30}


def several(count: int, name: str, **terms: Any) -> tuple[Job, ...]:
    """Several jobs that differ in their names only.

    Args:
        count: how many.
        name: the beginning of their names.
        terms: the members of :class:`Job`.
    """
    return tuple(Job(name=f"{name}-{number}", **terms) for number in range(count))


def submit(deployment: RefusingDeployment[Any], jobs: Sequence[Job]) -> dict[str, str]:
    """Submit jobs, and return the sentences with which some were refused, by name.

    Args:
        deployment: the queue.
        jobs: the jobs, in order.
    """
    refused: dict[str, str] = {}
    if len(jobs) == 1:
        _status, answer = deployment.call_api("POST", "/add-job", jobs[0].body)
        results = [answer]
    else:
        results = []
        for first in range(0, len(jobs), BATCH):
            some = [job.body for job in jobs[first : first + BATCH]]
            _status, answer = deployment.call_api("POST", "/job-batches", {"requests": some})
            results += answer["results"]
    for job, result in zip(jobs, results, strict=True):
        if "error" in result:
            refused[job.name] = f"{result['error']['code']}: {result['error']['message']}"
    return refused


def call(method: str, path: str, body: Any = None) -> Do:
    """A call of the API, which has to succeed.

    Args:
        method: the HTTP method.
        body: the JSON body; None without one.
    """

    def do(deployment: RefusingDeployment[Any]) -> None:
        status, answer = deployment.call_api(method, path, body)
        if status >= 300:
            raise RuntimeError(f"{method} {path} was answered by {status}: {answer}")

    return do
