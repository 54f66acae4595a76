"""One training job of the fake SageMaker: its state, its deadlines and its API documents."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from headway_sandbox.sagemaker import requested_instances, service_facts
from headway_sandbox.sagemaker import run_script as script
from headway_sandbox.sagemaker.requested_instances import Choice
from headway_sandbox.sagemaker.warm_pool import WarmPool

NO_TRAINING = "the sandbox was started without --train"
"""Why all jobs are timers by default."""


@dataclass(frozen=True, kw_only=True)
class Durations:
    """Durations of the stages in training time. Users report minutes for the first."""

    provisioning_s: float = 180.0
    """From CreateTrainingJob until the instances are provisioned (Starting, then Pending)."""
    download_s: float = 30.0
    upload_s: float = 20.0
    release_s: float = 30.0
    """Duration of a stop before the instances are provisioned."""
    warm_start_s: float = 20.0
    """The same as `provisioning_s`, for a job that takes a warm pool."""
    restart_s: float = 300.0
    """From a spot interruption until spot instances are available again."""


SPOT_BILLED = 0.3
"""The part of the time of spot instances that is billed. AWS documents up to 90 % off, and no figure for a type."""


@dataclass(kw_only=True)
class Transition:
    """An entry of SecondaryStatusTransitions."""

    status: str
    start: float
    end: float | None = None
    message: str = ""


@dataclass(kw_only=True)
class TrainingJob:
    """A training job. All times are training time, in seconds since the epoch."""

    name: str
    arn: str
    request: dict[str, Any]
    tags: dict[str, str]
    created: float
    script: script.Script
    why_timer: str = NO_TRAINING
    """Why it is a timer; empty if its script runs (`headway_sandbox.training`)."""
    final_metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The last value of each metric that it has reported, by name, as in FinalMetricDataList."""
    status: str = service_facts.IN_PROGRESS
    secondary: str = "Starting"
    transitions: list[Transition] = field(default_factory=list)
    modified: float = 0.0
    failure_reason: str | None = None
    training_started: float | None = None
    training_ended: float | None = None
    phase_ends: float | None = None
    """When the current stage ends by itself; None once the job has ended."""
    allocated_at: float | None = None
    """Since when it has instances; None if it has none."""
    vacates: bool = False
    """Whether spot instances are being taken from it: processes of its script, if it has one, still run there."""
    block_ends: float | None = None
    """When its instances go, as they are of a training plan."""
    held_s: float = 0.0
    """Seconds for which it had instances before its last interruption (spot)."""
    run_left_s: float = 0.0
    """How long it still trains, s."""
    stop_becomes: str = "Stopped"
    """Secondary status at the end of the current stop."""
    warm_pool: WarmPool | None = None
    """The instances that it has left; also after they are gone."""
    selected: int | None = None
    """Which of its InstancePreferences SageMaker has selected, from 0; None: none yet, or it has no preferences."""
    reuses: str = ""
    """Name of the job whose warm pool it takes."""
    cluster_since: float | None = None
    """Since when training jobs use the instances of that pool."""
    version: int = 0
    """Incremented with each stage, so that agenda entries of earlier stages are recognized as stale."""

    def report(self, metric: str, value: float, *, at: float) -> None:
        """Record the last value of a metric.

        Args:
            metric: Name of the metric.
            at: Its time, s.
        """
        self.final_metrics[metric] = {"MetricName": metric, "Value": value, "Timestamp": at}

    @property
    def ended(self) -> bool:
        """Whether it is Completed, Failed or Stopped."""
        return self.status in service_facts.ENDED

    @property
    def waits_for_processes(self) -> bool:
        """Whether its stage ends when its processes have ended it, not at a time."""
        return not self.why_timer and (self.allocated_at is not None or self.vacates)

    @property
    def spot(self) -> bool:
        """Whether it uses managed spot training."""
        return bool(self.request.get("EnableManagedSpotTraining"))

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What it can run on, the most preferred first."""
        return requested_instances.choices(self.request)

    @property
    def choice(self) -> Choice | None:
        """What it runs on; None before SageMaker has selected one of several preferences."""
        if self._has_preferences:
            return None if self.selected is None else self.choices[self.selected]
        return self.choices[0]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Instance type of each of its hosts; none before they are selected."""
        return self.choice.hosts if self.choice is not None else ()

    @property
    def instances(self) -> dict[str, int]:
        """Its instances per type; none before they are selected."""
        return self.choice.instances if self.choice is not None else {}

    @property
    def plan(self) -> str:
        """ARN of the training plan that it runs in, or waits for; empty if none, or if it is not selected yet."""
        return self.choice.plan if self.choice is not None else ""

    @property
    def wants_plan(self) -> bool:
        """Whether it can only run in training plans."""
        return all(choice.plan for choice in self.choices)

    @property
    def _has_preferences(self) -> bool:
        return bool((self.request.get("ResourceConfig") or {}).get("InstancePreferences"))

    def enter(self, secondary: str, now: float, *, status: str | None = None, message: str | None = None) -> None:
        """Change the secondary status and record the transition.

        Args:
            secondary: The new secondary status.
            now: The time, s.
            status: The new status; None: unchanged.
            message: StatusMessage of the transition; None: the usual one.
        """
        if self.transitions:
            self.transitions[-1].end = now
        self.secondary = secondary
        self.vacates = self.vacates and secondary in {"Interrupted", "Stopping"}
        self.status = status or self.status
        self.modified = now
        self.transitions.append(
            Transition(status=secondary, start=now, message=message or service_facts.MESSAGES.get(secondary, ""))
        )
        if self.ended:
            self.transitions[-1].end = now

    def allocate_instances(self, now: float) -> None:
        """Record that its instances are provisioned."""
        self.allocated_at = now
        if self.training_started is None:
            self.training_started = now

    def release_instances(self, now: float) -> None:
        """Record that its instances, if any, are released."""
        if self.allocated_at is not None:
            self.held_s += now - self.allocated_at
            self.allocated_at = None

    def runtime_ends(self) -> float | None:
        """When MaxRuntimeInSeconds is reached; None if it has no instances or is already stopping."""
        if self.allocated_at is None or self.status != service_facts.IN_PROGRESS:
            return None
        limit_s = self._condition().get("MaxRuntimeInSeconds", service_facts.DEFAULT_MAX_RUNTIME_S)
        return self.allocated_at + max(0.0, float(limit_s) - self.held_s)

    def plan_ends(self) -> float | None:
        """When its instances go, as they are of a training plan; None if it has none, or is already stopping."""
        return self.block_ends if self.allocated_at is not None and self.status == service_facts.IN_PROGRESS else None

    def waiting_ends(self) -> float | None:
        """When MaxWaitTimeInSeconds is reached, counted from a spot job's creation."""
        limit_s = self._condition().get("MaxWaitTimeInSeconds")
        if limit_s is None or self.status != service_facts.IN_PROGRESS:
            return None
        return self.created + float(limit_s)

    @property
    def max_pending_s(self) -> float | None:
        """Its MaxPendingTimeInSeconds; None if it has none, or instances that this has no effect on."""
        limit_s = self._condition().get("MaxPendingTimeInSeconds")
        kinds = [kind for choice in self.choices for kind in choice.hosts]
        accelerated = all(kind.startswith(service_facts.ACCELERATED) for kind in kinds)
        return float(limit_s) if limit_s is not None and accelerated else None

    def _condition(self) -> dict[str, Any]:
        condition: dict[str, Any] = self.request.get("StoppingCondition") or {}
        return condition

    def describe(self) -> dict[str, Any]:
        """Return DescribeTrainingJob's response in wire format: timestamps are epoch seconds."""
        request = copy.deepcopy(self.request)
        answer: dict[str, Any] = {
            "EnableNetworkIsolation": False,
            "EnableInterContainerTrafficEncryption": False,
            "EnableManagedSpotTraining": False,
            # The response has no SessionChainingConfig (model).
            **{name: value for name, value in request.items() if name != "SessionChainingConfig"},
            "TrainingJobArn": self.arn,
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
            "ModelArtifacts": {"S3ModelArtifacts": self._artifacts()},
            "CreationTime": _wire(self.created),
            "LastModifiedTime": _wire(self.modified),
            "SecondaryStatusTransitions": [_transition(entry) for entry in self.transitions],
            "StoppingCondition": {"MaxRuntimeInSeconds": service_facts.DEFAULT_MAX_RUNTIME_S, **self._condition()},
            # Seen: a missing key id is an empty string in the response.
            "OutputDataConfig": {"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
            "ProfilingStatus": "Disabled",
        }
        if self.selected is not None:
            answer["ResourceConfig"] |= {
                "SelectedInstanceType": self.hosts[0],
                "SelectedInstanceCount": len(self.hosts),
            }
        if self.final_metrics:
            answer["FinalMetricDataList"] = list(self.final_metrics.values())
        if self.failure_reason is not None:
            answer["FailureReason"] = self.failure_reason[:1024]
        if self.training_started is not None:
            answer["TrainingStartTime"] = _wire(self.training_started)
        if self.training_ended is not None:
            answer["TrainingEndTime"] = _wire(self.training_ended)
        if self.training_started is not None and self.training_ended is not None:
            elapsed_s = self.training_ended - self.training_started
            answer["TrainingTimeInSeconds"] = max(1, round(elapsed_s))
            answer["BillableTimeInSeconds"] = max(1, round(self.held_s * (SPOT_BILLED if self.spot else 1)))
        return answer

    def summary(self) -> dict[str, Any]:
        """Return its entry in ListTrainingJobs: no instance type, no count (model, TrainingJobSummary)."""
        entry: dict[str, Any] = {
            "TrainingJobName": self.name,
            "TrainingJobArn": self.arn,
            "CreationTime": _wire(self.created),
            "LastModifiedTime": _wire(self.modified),
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
        }
        if self.training_ended is not None:
            entry["TrainingEndTime"] = _wire(self.training_ended)
        if self.plan:
            entry["TrainingPlanArn"] = self.plan
        return entry

    def event_detail(self, *, hides_selection: bool = False, hides_metrics: bool = False) -> dict[str, Any]:
        """Return its event's `detail`: like DescribeTrainingJob, with epoch milliseconds and Tags as a map.

        Args:
            hides_selection: Whether it lacks the selected one of the job's InstancePreferences.
            hides_metrics: Whether it lacks the final metrics.
        """
        detail = self.describe()
        if hides_metrics:
            detail.pop("FinalMetricDataList", None)
        if hides_selection:
            for name in ("SelectedInstanceType", "SelectedInstanceCount"):
                detail.get("ResourceConfig", {}).pop(name, None)
        for name in ("CreationTime", "LastModifiedTime", "TrainingStartTime", "TrainingEndTime"):
            if name in detail:
                detail[name] = round(detail[name] * 1000)
        for entry in detail["SecondaryStatusTransitions"]:
            for name in ("StartTime", "EndTime"):
                if name in entry:
                    entry[name] = round(entry[name] * 1000)
        detail["Tags"] = dict(self.tags)
        return detail

    def _artifacts(self) -> str:
        return f"{self.request['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{self.name}/output/model.tar.gz"

    def to_document(self) -> dict[str, Any]:
        """Return its state as JSON, for `from_document`."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> TrainingJob:
        """Load a job that `to_document` saved."""
        return cls(
            **{
                **document,
                # Jobs that an earlier version saved are timers.
                "why_timer": document.get("why_timer", NO_TRAINING),
                "script": script.Script.from_document(document["script"]),
                "warm_pool": WarmPool.from_document(document.get("warm_pool")),
                "transitions": [Transition(**entry) for entry in document["transitions"]],
            }
        )


def _transition(entry: Transition) -> dict[str, Any]:
    shown: dict[str, Any] = {"Status": entry.status, "StartTime": _wire(entry.start)}
    if entry.end is not None:
        shown["EndTime"] = _wire(entry.end)
    if entry.message:
        shown["StatusMessage"] = entry.message
    return shown


def _wire(moment: float) -> float:
    return round(moment, 3)  # the service's timestamps have milliseconds
