"""The life cycle of training jobs as a deterministic state machine.

No clock, no thread, no I/O. Every call passes the training time (`now`, in seconds, never decreasing), randomness comes
from the injected random source, and `advance` returns the due events. So the same calls produce the same states and
events, with a wall clock or with a simulator.

    Starting → Pending → Downloading → Training → Uploading → Completed
    or: Failed; Stopping → Stopped, MaxRuntimeExceeded or MaxWaitTimeExceeded;
        Interrupted → Restarting → Downloading

The request's Environment sets the behavior of a run (`headway_sandbox.sagemaker.run_script`), `Faults` the faults.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.capacity.supply import Supply
from headway_sandbox.sagemaker.capacity.training_plan import TrainingPlan
from headway_sandbox.sagemaker.clock import Clock
from headway_sandbox.sagemaker.event_delivery import EventDelivery
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.token_bucket import Rate
from headway_sandbox.sagemaker.training_job import NO_TRAINING, Durations, TrainingJob

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SageMakerSettings:
    """Account, region and timing of a fake SageMaker."""

    account: str = "123456789012"
    region: str = "eu-west-1"
    clock: Clock = field(default_factory=Clock)
    durations: Durations = field(default_factory=Durations)
    rates: Mapping[str, Rate] = field(default_factory=lambda: service_facts.RATES)
    """Call rate per operation. Operations named neither here nor in `Faults.rates` are not limited."""
    why_timer: Callable[[Mapping[str, Any]], str] = lambda _request: NO_TRAINING
    """Why the job of a request is a timer; empty if its script runs. It may refuse the request with an AwsError."""


class JobStateMachine:
    """The training jobs of one account in one region, and their events."""

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
        self._jobs: dict[str, TrainingJob] = {}
        self._live: dict[str, TrainingJob] = {}  # jobs that have not ended, as most quotas count only those
        self._agenda: list[tuple[float, int, str, int]] = []
        self._planned = 0
        self._changed: set[str] = set()  # jobs that were created, changed or deleted since `pop_changes`
        self._events = EventDelivery(rng=self._rng)
        self._supply = Supply(arn_prefix=self.arn("").replace("training-job/", "training-plan/"), rng=self._rng)

    # ---------------------------------------------------------------------------------------- time and events

    def advance(self, now: float) -> list[Document]:
        """Advance to `now` and return the details of the due state-change events."""
        self._settle(now)
        return self._events.pop_due(now, faults=self.faults)

    def next_due(self) -> float | None:
        """When `advance` has work next; None if nothing is pending."""
        while self._agenda and self._is_stale(self._agenda[0]):
            heapq.heappop(self._agenda)
        moments = [entry[0] for entry in self._agenda[:1]]
        event_due = self._events.next_due()
        if event_due is not None:
            moments.append(event_due)
        return min(moments, default=None)

    # ------------------------------------------------------------------------------------------------ its jobs

    def jobs(self, *, now: float) -> list[TrainingJob]:
        """Return all jobs, oldest first. Read-only."""
        self._settle(now)
        return list(self._jobs.values())

    def find(self, name: str, *, now: float) -> TrainingJob | None:
        """Return the job with a name, if it exists. Read-only.

        Args:
            name: the name of the training job.
            now: the current time, s.
        """
        self._settle(now)
        return self._jobs.get(name)

    def in_use(self) -> dict[str, int]:
        """Return the instances per type of all jobs that have not ended, spot or not."""
        used: Counter[str] = Counter()
        for job in self._live.values():
            used.update(job.instances)
        return dict(used)

    def kept_warm(self, *, now: float) -> dict[str, int]:
        """Return the instances per type of all warm pools that no job has taken and that are not terminated."""
        return dict(self._supply.warm_pools.counted(now))

    def arn(self, name: str) -> str:
        """Return the ARN of the training job with a name."""
        return f"arn:aws:sagemaker:{self.settings.region}:{self.settings.account}:training-job/{name}"

    def tags_of(self, arn: str) -> dict[str, str]:
        """Return the tags of a job by ARN, none if it does not exist: for policy conditions on tags."""
        job = self._jobs.get(arn.rpartition("/")[2])
        return dict(job.tags) if job is not None and job.arn == arn else {}

    def _found(self, name: str) -> TrainingJob:
        job = self._jobs.get(name)
        if job is None:
            raise service_facts.not_found()
        return job

    # ------------------------------------------------------------------------------------------ state machine

    def _settle(self, now: float) -> None:
        """Execute all agenda entries due by `now`, each at its own time."""
        while self._agenda and self._agenda[0][0] <= now:
            entry = heapq.heappop(self._agenda)
            if not self._is_stale(entry):
                self._proceed(self._jobs[entry[2]], entry[0])

    def _is_stale(self, entry: tuple[float, int, str, int]) -> bool:
        job = self._jobs.get(entry[2])
        return job is None or job.version != entry[3]

    def _proceed(self, job: TrainingJob, now: float) -> None:
        limit = job.runtime_ends()
        wait_limit = job.waiting_ends()
        plan_limit = job.plan_ends()
        if job.phase_ends is not None and job.phase_ends <= now:
            self._next_stage(job, now)
        elif limit is not None and limit <= now:
            self._begin_stop(job, "MaxRuntimeExceeded", now)
        elif wait_limit is not None and wait_limit <= now:
            self._begin_stop(job, "MaxWaitTimeExceeded", now)
        elif plan_limit is not None and plan_limit <= now:
            self._begin_stop(job, self.faults.plan_end, now)

    def _next_stage(self, job: TrainingJob, now: float) -> None:
        durations = self.settings.durations
        match job.secondary:
            case "Starting":
                self._enter(job, "Pending", now, lasts_s=self._provisioning_s(job) * 0.9)
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
            case "Stopping" if job.stop_becomes == "Failed":
                self._fail(job, service_facts.PLAN_ENDED, now)
            case "Stopping":
                self._end(job, service_facts.STOPPED, job.stop_becomes, now)
            case "Interrupted":
                self._enter(job, "Restarting", now, lasts_s=durations.provisioning_s)
            case _:
                raise AssertionError(f"{job.name} is {job.secondary}, which has no next stage")

    def _provision(self, job: TrainingJob, now: float) -> None:
        if job.script.lacks_capacity:
            self._fail(job, job.script.failure, now)
            return
        number = self._supply.select(job, self._live.values(), self.faults, now=now)
        if number is None:
            self._stay_pending(job, now)
            return
        self._allocate(job, number, now)
        self._enter(job, "Downloading", now, lasts_s=self.settings.durations.download_s)

    def _provisioning_s(self, job: TrainingJob) -> float:
        durations = self.settings.durations
        return durations.warm_start_s if job.reuses else durations.provisioning_s

    def _allocate(self, job: TrainingJob, number: int, now: float) -> None:
        """Give a job the instances of one of its choices."""
        if job.choice is None:
            job.selected = number
        job.allocate_instances(now)
        if job.plan:
            job.block_ends = self._supply.plans.block_end(job.plan, now)
        self._hand_over_warm_pool(job)

    def _hand_over_warm_pool(self, job: TrainingJob) -> None:
        left = self._supply.warm_pools.hand_over(job)
        if left is not None:
            self._changed.add(left)

    def _stay_pending(self, job: TrainingJob, now: float) -> None:
        """Try again later, or end a job that has waited for instances as long as it may."""
        next_try = self._supply.next_try(job, self.faults, now=now) if job.secondary == "Pending" else None
        if next_try is not None:
            job.phase_ends = next_try
            # Saved, so that the order among jobs that wait for the same moment survives a restart.
            self._changed.add(job.name)
            self._schedule(job)
            return
        reason = self._supply.shortage(job, now=now) if job.secondary == "Pending" else service_facts.CAPACITY_ERROR
        if reason or self.faults.pending_expiry == "Failed":
            self._fail(job, reason or service_facts.PENDING_EXPIRED, now)
        else:
            self._end(job, service_facts.STOPPED, "Stopped", now)

    def _begin_stop(self, job: TrainingJob, becomes: str, now: float) -> None:
        job.stop_becomes = becomes
        holds = job.allocated_at is not None
        lasts_s = job.script.stop_s if holds else self.settings.durations.release_s
        self._enter(job, "Stopping", now, lasts_s=lasts_s, status=service_facts.STOPPING)

    def _fail(self, job: TrainingJob, reason: str | None, now: float) -> None:
        job.failure_reason = reason
        self._end(job, service_facts.FAILED, "Failed", now)

    def _end(self, job: TrainingJob, status: str, secondary: str, now: float) -> None:
        since = job.allocated_at
        job.release_instances(now)
        if job.training_started is not None:
            job.training_ended = now
        if job.why_timer and status == service_facts.COMPLETED:
            for metric, value in job.script.metrics:
                job.report(metric, value, at=now)
        del self._live[job.name]
        self._hand_over_warm_pool(job)
        self._enter(job, secondary, now, status=status, message=job.failure_reason)
        if since is not None:
            self._supply.warm_pools.keep(job, self.faults, instances_since=since, now=now)

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
        """Change a job's status, send its event, and schedule its next stage."""
        job.enter(secondary, now, status=status, message=message)
        job.version += 1
        job.phase_ends = None if job.ended or job.waits_for_processes else now + lasts_s
        self._changed.add(job.name)
        self._schedule(job)
        detail = job.event_detail(
            hides_selection=self.faults.event_hides_selection, hides_metrics=self.faults.event_hides_metrics
        )
        self._events.send(detail, now=now, faults=self.faults)

    def _schedule(self, job: TrainingJob) -> None:
        ends = (job.phase_ends, job.runtime_ends(), job.waiting_ends(), job.plan_ends())
        known = [end for end in ends if end is not None]
        if not known:
            return
        # A limit that was reached before this stage began applies at its begin, not before.
        due = max(job.modified, min(known))
        self._planned += 1
        heapq.heappush(self._agenda, (due, self._planned, job.name, job.version))

    # ------------------------------------------------------------------------------------------ save and load

    def pop_changes(self) -> dict[str, Document | None]:
        """Return the jobs that have changed since the last call, as JSON by name; None for a deleted one."""
        changed, self._changed = self._changed, set()
        jobs = {name: self._jobs.get(name) for name in sorted(changed)}
        return {name: job.to_document() if job is not None else None for name, job in jobs.items()}

    def to_document(self) -> Document:
        """Return the state without the jobs as JSON: the faults, the training plans and the events to come."""
        return {
            "account": self.settings.account,
            "region": self.settings.region,
            "faults": self.faults.to_document(),
            "events": self._events.to_document(),
            "plans": [plan.to_document() for plan in self._supply.plans.all()],
        }

    def load(self, jobs: Iterable[Document], document: Mapping[str, Any]) -> None:
        """Load a saved state into a new state machine. Jobs continue where they were.

        Args:
            jobs: the documents of its jobs.
            document: the rest of its state, by `to_document`.
        """
        self.faults = Faults(**document["faults"])
        for plan in document.get("plans", []):
            self._supply.plans.put(TrainingPlan.from_document(plan))
        for entry in sorted(jobs, key=lambda entry: (entry["created"], entry["name"])):
            job = TrainingJob.from_document(entry)
            self._jobs[job.name] = job
            if not job.ended:
                self._live[job.name] = job
            self._supply.warm_pools.add(job)
            self._schedule(job)
        self._events.load(document["events"])
