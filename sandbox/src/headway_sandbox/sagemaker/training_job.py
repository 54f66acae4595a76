"""One training job of the fake SageMaker: what it is, what happens to it next, how it describes itself."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field
from typing import Any

from headway_sandbox.sagemaker import run_script as script
from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Durations:
    """How long the stages take, in seconds of the real world. Users report minutes for the first."""

    provisioning_s: float = 180.0
    """From CreateTrainingJob until the instances are there (Starting, then Pending)."""
    download_s: float = 30.0
    upload_s: float = 20.0
    release_s: float = 30.0
    """What a stop takes before there are instances."""
    restart_s: float = 300.0
    """From a spot interruption until there are spot instances again."""


@dataclass(kw_only=True)
class Transition:
    status: str
    start: float
    end: float | None = None
    message: str = ""


@dataclass(kw_only=True)
class TrainingJob:
    """Times are seconds since the epoch (whatever epoch the caller's clock has)."""

    name: str
    arn: str
    request: dict[str, Any]
    tags: dict[str, str]
    created: float
    script: script.Script
    status: str = service_facts.IN_PROGRESS
    secondary: str = "Starting"
    transitions: list[Transition] = field(default_factory=list)
    modified: float = 0.0
    failure_reason: str | None = None
    training_started: float | None = None
    training_ended: float | None = None
    phase_ends: float | None = None
    """When the present stage is over by itself; None once the job has ended."""
    spell_started: float | None = None
    """Since when it holds instances, if it does."""
    held_s: float = 0.0
    """Seconds of the real world for which it held instances in earlier spells (spot)."""
    run_left_s: float = 0.0
    """Training that is still to be done, in seconds of the real world."""
    stop_becomes: str = "Stopped"
    """The secondary status that a stop under way ends in."""
    version: int = 0
    """Counts changes of plan, so that what was planned before is recognised as out of date."""

    @property
    def ended(self) -> bool:
        return self.status in service_facts.ENDED

    @property
    def spot(self) -> bool:
        return bool(self.request.get("EnableManagedSpotTraining"))

    @property
    def instances(self) -> dict[str, int]:
        return service_facts.instances(self.request)

    def enter(self, secondary: str, now: float, *, status: str | None = None, message: str | None = None) -> None:
        """Go over to another secondary status, and keep the transition."""
        if self.transitions:
            self.transitions[-1].end = now
        self.secondary = secondary
        self.status = status or self.status
        self.modified = now
        self.transitions.append(
            Transition(status=secondary, start=now, message=message or service_facts.MESSAGES.get(secondary, ""))
        )
        if self.ended:
            self.transitions[-1].end = now

    def take_instances(self, now: float) -> None:
        self.spell_started = now
        if self.training_started is None:
            self.training_started = now

    def give_instances_back(self, now: float, clock: Clock) -> None:
        if self.spell_started is not None:
            self.held_s += clock.world_s(now - self.spell_started)
            self.spell_started = None

    def runtime_ends(self, clock: Clock) -> float | None:
        """When MaxRuntimeInSeconds is used up, if it holds instances and isn't stopping already."""
        if self.spell_started is None or self.status != service_facts.IN_PROGRESS:
            return None
        limit_s = self._condition().get("MaxRuntimeInSeconds", service_facts.DEFAULT_MAX_RUNTIME_S)
        return self.spell_started + clock.wait_s(max(0.0, limit_s - self.held_s))

    def waiting_ends(self, clock: Clock) -> float | None:
        """When MaxWaitTimeInSeconds is over, which counts from the creation of a spot job."""
        limit_s = self._condition().get("MaxWaitTimeInSeconds")
        if limit_s is None or self.status != service_facts.IN_PROGRESS:
            return None
        return self.created + clock.wait_s(float(limit_s))

    def _condition(self) -> dict[str, Any]:
        condition: dict[str, Any] = self.request.get("StoppingCondition") or {}
        return condition

    def describe(self, clock: Clock) -> dict[str, Any]:
        """DescribeTrainingJob's answer as it goes over the wire: timestamps are epoch seconds."""
        request = copy.deepcopy(self.request)
        answer: dict[str, Any] = {
            "EnableNetworkIsolation": False,
            "EnableInterContainerTrafficEncryption": False,
            "EnableManagedSpotTraining": False,
            # SessionChainingConfig is not told (model).
            **{name: value for name, value in request.items() if name != "SessionChainingConfig"},
            "TrainingJobArn": self.arn,
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
            "ModelArtifacts": {"S3ModelArtifacts": self._artifacts()},
            "CreationTime": _wire(self.created),
            "LastModifiedTime": _wire(self.modified),
            "SecondaryStatusTransitions": [_transition(entry) for entry in self.transitions],
            "StoppingCondition": {"MaxRuntimeInSeconds": service_facts.DEFAULT_MAX_RUNTIME_S, **self._condition()},
            # Seen: a missing key id comes back as an empty string, one reason why this is not a request.
            "OutputDataConfig": {"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
            "ProfilingStatus": "Disabled",
        }
        config = request.get("ResourceConfig")
        if config and config.get("InstancePreferences"):
            ((kind, count),) = self.instances.items()
            answer["ResourceConfig"] = {
                **config,
                "SelectedInstanceType": kind,
                "SelectedInstanceCount": count,
            }
        if self.failure_reason is not None:
            answer["FailureReason"] = self.failure_reason[:1024]
        if self.training_started is not None:
            answer["TrainingStartTime"] = _wire(self.training_started)
        if self.training_ended is not None:
            answer["TrainingEndTime"] = _wire(self.training_ended)
        if self.training_started is not None and self.training_ended is not None:
            elapsed_s = clock.world_s(self.training_ended - self.training_started)
            answer["TrainingTimeInSeconds"] = max(1, round(elapsed_s))
            answer["BillableTimeInSeconds"] = max(1, round(self.held_s))
        return answer

    def summary(self) -> dict[str, Any]:
        """Its line in ListTrainingJobs' answer: no instance type, no count (model, TrainingJobSummary)."""
        line: dict[str, Any] = {
            "TrainingJobName": self.name,
            "TrainingJobArn": self.arn,
            "CreationTime": _wire(self.created),
            "LastModifiedTime": _wire(self.modified),
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
        }
        if self.training_ended is not None:
            line["TrainingEndTime"] = _wire(self.training_ended)
        return line

    def event_detail(self, clock: Clock) -> dict[str, Any]:
        """The `detail` of its event: like a description, with epoch milliseconds and Tags as a map."""
        detail = self.describe(clock)
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
        """As JSON, to be read again with `from_document`."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> TrainingJob:
        return cls(
            **{
                **document,
                "script": script.Script.from_document(document["script"]),
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
