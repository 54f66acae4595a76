"""The fake SageMaker: training jobs as a deterministic state machine.

No clock, no thread, no I/O. Every call says what time it is (`now`, in seconds, never going back), chance
comes from the random source that is handed in, and the events that came due are collected with `advance`. So
the same calls give the same answers and events, whether `now` comes from a wall clock or from a simulator.

    Starting → Pending → Downloading → Training → Uploading → Completed
    on the way: Failed; Stopping → Stopped, MaxRuntimeExceeded or MaxWaitTimeExceeded;
                Interrupted → Restarting → Downloading

The request's Environment says what a run does (`headway_sandbox.sagemaker.run_script`), `Faults` what goes wrong.
Requests and answers are documents as they go over the wire: timestamps are epoch seconds.
"""

from __future__ import annotations

import copy
import heapq
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headway_sandbox.sagemaker import (
    list_training_jobs,
    quotas,
    request_validation,
    run_script,
    service_facts,
    utilization,
)
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.event_delivery import EventDelivery
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.token_bucket import Rate, Throttle
from headway_sandbox.sagemaker.training_job import Durations, TrainingJob

Document = dict[str, Any]
_Handler = Callable[[Mapping[str, Any], float], Document]


@dataclass(frozen=True, kw_only=True)
class SageMakerSettings:
    account: str = "123456789012"
    region: str = "eu-west-1"
    clock: Clock = field(default_factory=Clock)
    durations: Durations = field(default_factory=Durations)
    rates: Mapping[str, Rate] = field(default_factory=lambda: service_facts.RATES)
    """How often an operation may be called; those named neither here nor in `Faults.rates` are not limited."""


class FakeSageMaker:
    """The training jobs of one account in one region."""

    def __init__(
        self,
        *,
        settings: SageMakerSettings | None = None,
        faults: Faults | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.settings = settings or SageMakerSettings()
        self.faults = faults or Faults()
        self._rng = rng or random.Random(0)
        self._clock = self.settings.clock
        self._jobs: dict[str, TrainingJob] = {}
        self._live: dict[str, TrainingJob] = {}  # those that have not ended: all that most quotas are counted from
        self._agenda: list[tuple[float, int, str, int]] = []
        self._planned = 0
        self._mail = EventDelivery(clock=self._clock, rng=self._rng)
        self._throttle = Throttle(self.settings.rates)
        self._operations: Mapping[str, _Handler] = {
            "CreateTrainingJob": self._create,
            "StopTrainingJob": self._stop,
            "DescribeTrainingJob": self._describe,
            "ListTrainingJobs": self._list,
            "DeleteTrainingJob": self._delete,
            "ListTags": self._list_tags,
            "AddTags": self._add_tags,
            "DeleteTags": self._delete_tags,
        }

    # ------------------------------------------------------------------------------------------------ the API

    def call(self, operation: str, request: Mapping[str, Any], *, now: float) -> Document:
        """Answer one API call, e.g. `call("StopTrainingJob", {"TrainingJobName": "a"}, now=12.0)`.

        Raises:
            AwsError: what the service would answer.
        """
        handler = self._operations.get(operation)
        if handler is None:
            raise service_facts.unknown_operation("SageMaker", operation, self._operations)
        self._settle(now)
        throttled, self.faults = self.faults.used_up("throttle", operation)
        if throttled or not self._throttle.admits(operation, now, rate=self.faults.rate(operation)):
            raise service_facts.throttled()
        request_validation.check(operation, request)
        answer = handler(request, now)
        lost, self.faults = self.faults.used_up("lose_answer", operation)
        if lost:
            raise service_facts.answer_lost()
        return answer

    def create(self, request: Mapping[str, Any], *, now: float) -> Document:
        """CreateTrainingJob; tags ride in the request."""
        return self.call("CreateTrainingJob", request, now=now)

    def stop(self, name: str, *, now: float) -> None:
        """StopTrainingJob."""
        self.call("StopTrainingJob", {"TrainingJobName": name}, now=now)

    def describe(self, name: str, *, now: float) -> Document:
        """DescribeTrainingJob."""
        return self.call("DescribeTrainingJob", {"TrainingJobName": name}, now=now)

    def list_jobs(self, *, now: float, **filters: Any) -> Document:
        """ListTrainingJobs."""
        return self.call("ListTrainingJobs", filters, now=now)

    def delete(self, name: str, *, now: float) -> None:
        """DeleteTrainingJob, the one way to free a name."""
        self.call("DeleteTrainingJob", {"TrainingJobName": name}, now=now)

    def list_tags(self, arn: str, *, now: float) -> Document:
        """ListTags."""
        return self.call("ListTags", {"ResourceArn": arn}, now=now)

    def add_tags(self, arn: str, tags: Mapping[str, str], *, now: float) -> Document:
        """AddTags."""
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        return self.call("AddTags", {"ResourceArn": arn, "Tags": listed}, now=now)

    # ---------------------------------------------------------------------------------------- time and events

    def advance(self, now: float) -> list[Document]:
        """Let time pass until `now`, and return the details of the state-change events due by then."""
        self._settle(now)
        return self._mail.take(now, faults=self.faults)

    def next_due(self) -> float | None:
        """When `advance` has something to do next; None while nothing is under way."""
        while self._agenda and self._is_stale(self._agenda[0]):
            heapq.heappop(self._agenda)
        moments = [entry[0] for entry in self._agenda[:1]]
        letter = self._mail.next_due()
        if letter is not None:
            moments.append(letter)
        return min(moments, default=None)

    # -------------------------------------------------------------------------------- what only a test can do

    def finish(self, name: str, *, now: float) -> None:
        """Have a job complete at once, wherever it is; it passes through the stages in no time."""
        job = self._going(name, now)
        if job.spell_started is None:
            job.take_instances(now)
        for stage in _stages_after(job.secondary):
            self._enter(job, stage, now)
        self._end(job, service_facts.COMPLETED, "Completed", now)

    def fail(self, name: str, reason: str, *, now: float) -> None:
        """Have a job fail at once, with that FailureReason."""
        job = self._going(name, now)
        self._fail(job, reason, now)

    def interrupt(self, name: str, *, now: float) -> None:
        """Take a spot job's instances away. SageMaker restarts it by itself: its status stays InProgress.

        Raises:
            AwsError: it isn't a spot job, or holds no instances now.
        """
        job = self._going(name, now)
        if not job.spot or job.spell_started is None or job.status != service_facts.IN_PROGRESS:
            raise service_facts.validation(f"Sandbox: {name} is not a spot job that holds instances.")
        if job.secondary == "Training" and job.request.get("CheckpointConfig"):
            # With a checkpoint it goes on where it was; without, it starts from the beginning (guide, managed
            # spot).
            done_s = self._clock.world_s(now - job.transitions[-1].start)
            job.run_left_s = max(0.0, job.run_left_s - done_s)
        else:
            job.run_left_s = job.script.run_s
        job.give_instances_back(now, self._clock)
        self._enter(job, "Interrupted", now, lasts_s=self.settings.durations.restart_s)

    def jobs(self, *, now: float) -> list[TrainingJob]:
        """Every job, oldest first. Read, don't write."""
        self._settle(now)
        return list(self._jobs.values())

    def find(self, name: str, *, now: float) -> TrainingJob | None:
        """The job of that name, if there is one. Read, don't write."""
        self._settle(now)
        return self._jobs.get(name)

    def in_use(self) -> dict[str, int]:
        """Instances per type of every job that has not ended, spot or not."""
        used: Counter[str] = Counter()
        for job in self._live.values():
            used.update(job.instances)
        return dict(used)

    # --------------------------------------------------------------------------------------------- operations

    def _create(self, request: Mapping[str, Any], now: float) -> Document:
        request_validation.check_create(request)
        run = run_script.read(request.get("Environment") or {})
        utilization.check(request, run)
        name = request["TrainingJobName"]
        arn = self.arn(name)
        if self.faults.quota_before_name:
            self._check_quotas(request, now)
        if name in self._jobs:
            raise service_facts.repeated_create(arn, self.faults.repeated_create)
        self._check_quotas(request, now)
        job = TrainingJob(
            name=name,
            arn=arn,
            request=copy.deepcopy({key: value for key, value in request.items() if key != "Tags"}),
            tags={tag["Key"]: tag["Value"] for tag in request.get("Tags") or []},
            created=now,
            script=run,
            run_left_s=run.run_s,
        )
        self._jobs[name] = self._live[name] = job
        self._enter(job, "Starting", now, lasts_s=self.settings.durations.provisioning_s * 0.1)
        return {"TrainingJobArn": arn}

    def _check_quotas(self, request: Mapping[str, Any], now: float) -> None:
        jobs = self._jobs if self.faults.quota_lag_s else self._live
        quotas.check(request, jobs.values(), self.faults, now=now, clock=self._clock)

    def _stop(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._visible(request, now)
        if job.status != service_facts.IN_PROGRESS:
            raise service_facts.not_stoppable(job.status)
        self._begin_stop(job, "Stopped", now)
        return {}

    def _describe(self, request: Mapping[str, Any], now: float) -> Document:
        return self._visible(request, now).describe(self._clock)

    def _list(self, request: Mapping[str, Any], now: float) -> Document:
        lag_s = self.faults.list_lag_s
        return list_training_jobs.page([job for job in self._jobs.values() if self._is_older(job, lag_s, now)], request)

    def _delete(self, request: Mapping[str, Any], _now: float) -> Document:
        job = self._found(request)
        if not job.ended:
            raise service_facts.not_deletable(job.name, job.status)
        del self._jobs[job.name]
        return {}

    def _list_tags(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._tagged(request)
        tags = job.tags if self._is_older(job, self.faults.tags_lag_s, now) else {}
        return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def _add_tags(self, request: Mapping[str, Any], now: float) -> Document:
        job = self._tagged(request)
        request_validation.check_tags(request["Tags"])
        tags = {**job.tags, **{tag["Key"]: tag["Value"] for tag in request["Tags"]}}
        if len(tags) > service_facts.TAGS_MAX:
            raise service_facts.validation(f"A resource has at most {service_facts.TAGS_MAX} tags.")
        job.tags = tags
        return self._list_tags(request, now)

    def _delete_tags(self, request: Mapping[str, Any], _now: float) -> Document:
        job = self._tagged(request)
        job.tags = {key: value for key, value in job.tags.items() if key not in request["TagKeys"]}
        return {}

    def arn(self, name: str) -> str:
        return f"arn:aws:sagemaker:{self.settings.region}:{self.settings.account}:training-job/{name}"

    def tags_of(self, arn: str) -> dict[str, str]:
        """The tags of a job by ARN, none if there is no such job: for policies that ask for them."""
        job = self._jobs.get(arn.rpartition("/")[2])
        return dict(job.tags) if job is not None and job.arn == arn else {}

    def _found(self, request: Mapping[str, Any]) -> TrainingJob:
        job = self._jobs.get(request["TrainingJobName"])
        if job is None:
            raise service_facts.not_found()
        return job

    def _visible(self, request: Mapping[str, Any], now: float) -> TrainingJob:
        """The job of that name, if Describe and Stop find it by now."""
        job = self._found(request)
        if not self._is_older(job, self.faults.describe_lag_s, now):
            raise service_facts.not_found()
        return job

    def _is_older(self, job: TrainingJob, lag_s: float, now: float) -> bool:
        return now >= job.created + self._clock.wait_s(lag_s)

    def _tagged(self, request: Mapping[str, Any]) -> TrainingJob:
        arn = request["ResourceArn"]
        job = self._jobs.get(arn.rpartition("/")[2])
        if job is None or job.arn != arn:
            raise service_facts.not_found()
        return job

    def _going(self, name: str, now: float) -> TrainingJob:
        self._settle(now)
        job = self._found({"TrainingJobName": name})
        if job.ended:
            raise service_facts.not_stoppable(job.status)
        return job

    # ------------------------------------------------------------------------------------------ state machine

    def _settle(self, now: float) -> None:
        """Do everything that is due by `now`, each at its own time."""
        while self._agenda and self._agenda[0][0] <= now:
            entry = heapq.heappop(self._agenda)
            if not self._is_stale(entry):
                self._proceed(self._jobs[entry[2]], entry[0])

    def _is_stale(self, entry: tuple[float, int, str, int]) -> bool:
        job = self._jobs.get(entry[2])
        return job is None or job.version != entry[3]

    def _proceed(self, job: TrainingJob, now: float) -> None:
        limit = job.runtime_ends(self._clock)
        patience = job.waiting_ends(self._clock)
        if job.phase_ends is not None and job.phase_ends <= now:
            self._next_stage(job, now)
        elif limit is not None and limit <= now:
            self._begin_stop(job, "MaxRuntimeExceeded", now)
        elif patience is not None and patience <= now:
            self._begin_stop(job, "MaxWaitTimeExceeded", now)

    def _next_stage(self, job: TrainingJob, now: float) -> None:
        durations = self.settings.durations
        match job.secondary:
            case "Starting":
                self._enter(job, "Pending", now, lasts_s=durations.provisioning_s * 0.9)
            case "Pending" | "Restarting":
                self._provision(job, now)
            case "Downloading":
                self._enter(job, "Training", now, lasts_s=job.run_left_s)
            case "Training" if job.script.failure is not None:
                self._fail(job, job.script.failure, now)
            case "Training":
                self._enter(job, "Uploading", now, lasts_s=durations.upload_s)
            case "Uploading":
                self._end(job, service_facts.COMPLETED, "Completed", now)
            case "Stopping":
                self._end(job, service_facts.STOPPED, job.stop_becomes, now)
            case "Interrupted":
                self._enter(job, "Restarting", now, lasts_s=durations.provisioning_s)
            case _:
                raise AssertionError(f"{job.name} is {job.secondary}, which does not end by itself")

    def _provision(self, job: TrainingJob, now: float) -> None:
        if job.script.lacks_capacity or not self._capacity_for(job):
            self._fail(job, job.script.failure if job.script.lacks_capacity else service_facts.CAPACITY_ERROR, now)
            return
        job.take_instances(now)
        self._enter(job, "Downloading", now, lasts_s=self.settings.durations.download_s)

    def _capacity_for(self, job: TrainingJob) -> bool:
        held: Counter[str] = Counter()
        for other in self._live.values():
            if other.spell_started is not None:
                held.update(other.instances)
        return all(
            held[kind] + count <= self.faults.capacity.get(kind, held[kind] + count)
            for kind, count in job.instances.items()
        )

    def _begin_stop(self, job: TrainingJob, becomes: str, now: float) -> None:
        job.stop_becomes = becomes
        holds = job.spell_started is not None
        lasts_s = job.script.stop_s if holds else self.settings.durations.release_s
        self._enter(job, "Stopping", now, lasts_s=lasts_s, status=service_facts.STOPPING)

    def _fail(self, job: TrainingJob, reason: str | None, now: float) -> None:
        job.failure_reason = reason
        self._end(job, service_facts.FAILED, "Failed", now)

    def _end(self, job: TrainingJob, status: str, secondary: str, now: float) -> None:
        job.give_instances_back(now, self._clock)
        if job.training_started is not None:
            job.training_ended = now
        del self._live[job.name]
        self._enter(job, secondary, now, status=status, message=job.failure_reason)

    def _enter(
        self,
        job: TrainingJob,
        secondary: str,
        now: float,
        *,
        lasts_s: float = 0.0,
        status: str | None = None,
        message: str | None = None,
    ) -> None:
        """Change a job's status, tell the world, and note when something happens to it next."""
        job.enter(secondary, now, status=status, message=message)
        job.version += 1
        job.phase_ends = None if job.ended else now + self._clock.wait_s(lasts_s)
        if job.phase_ends is not None:
            limits = (job.runtime_ends(self._clock), job.waiting_ends(self._clock))
            # A limit that was over before this stage began strikes now, not in the past.
            due = max(now, min([job.phase_ends, *(limit for limit in limits if limit is not None)]))
            self._planned += 1
            heapq.heappush(self._agenda, (due, self._planned, job.name, job.version))
        self._mail.post(job.event_detail(self._clock), now=now, faults=self.faults)

    # ------------------------------------------------------------------------------------------ save and load

    def to_document(self) -> Document:
        """Everything, as JSON. `from_document` goes on exactly from there, chance included."""
        return {
            "account": self.settings.account,
            "region": self.settings.region,
            "speed": self._clock.speed,
            "durations": asdict(self.settings.durations),
            "faults": self.faults.to_document(),
            "jobs": [job.to_document() for job in self._jobs.values()],
            "agenda": [list(entry) for entry in sorted(self._agenda) if not self._is_stale(entry)],
            "mail": self._mail.to_document(),
            "random": self._rng.getstate(),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], *, settings: SageMakerSettings | None = None) -> FakeSageMaker:
        """Go on from a saved state; `settings` change how long what is yet to come takes."""
        settings = settings or SageMakerSettings(
            account=document["account"],
            region=document["region"],
            clock=Clock(speed=document["speed"]),
            durations=Durations(**document["durations"]),
        )
        rng = random.Random()
        kind, words, gauss = document["random"]
        rng.setstate((kind, tuple(words), gauss))
        fleet = cls(settings=settings, faults=Faults(**document["faults"]), rng=rng)
        fleet._load(document)
        return fleet

    def _load(self, document: Mapping[str, Any]) -> None:
        self._jobs = {entry["name"]: TrainingJob.from_document(entry) for entry in document["jobs"]}
        self._live = {name: job for name, job in self._jobs.items() if not job.ended}
        for due, number, name, version in document["agenda"]:
            heapq.heappush(self._agenda, (due, number, name, version))
            self._planned = max(self._planned, number)
        self._mail.load(document["mail"])


def _stages_after(secondary: str) -> tuple[str, ...]:
    stages = ("Downloading", "Training", "Uploading")
    return stages[stages.index(secondary) + 1 :] if secondary in stages else stages
