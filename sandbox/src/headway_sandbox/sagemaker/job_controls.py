"""Controls of training jobs for tests, which AWS does not have."""

from __future__ import annotations

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.capacity.training_plan import TrainingPlan
from headway_sandbox.sagemaker.state_machine import JobStateMachine
from headway_sandbox.sagemaker.training_job import TrainingJob


class JobControls(JobStateMachine):
    """Training jobs that a test can finish, fail and interrupt at any time, and the training plans that it sets."""

    def finish(self, name: str, *, now: float) -> None:
        """Complete a job at once: it passes through its remaining stages without delay.

        Args:
            name: the name of the training job.
            now: the current time, s.

        Raises:
            AwsError: It does not exist or has ended.
        """
        job = self._active(name, now)
        if job.allocated_at is None:
            self._allocate(job, 0, now)
        for stage in _stages_after(job.secondary):
            self._enter(job, stage, now)
        self._end(job, service_facts.COMPLETED, "Completed", now)

    def fail(self, name: str, reason: str, *, now: float) -> None:
        """Fail a job at once.

        Args:
            reason: Its FailureReason.
            now: The time, s.

        Raises:
            AwsError: It does not exist or has ended.
        """
        job = self._active(name, now)
        self._fail(job, reason, now)

    def interrupt(self, name: str, *, now: float) -> None:
        """Interrupt a spot job. SageMaker restarts it by itself: its status stays InProgress.

        Args:
            name: the name of the training job.
            now: the current time, s.

        Raises:
            AwsError: It is not a spot job, or has no instances now.
        """
        job = self._active(name, now)
        if not job.spot or job.allocated_at is None or job.status != service_facts.IN_PROGRESS:
            raise service_facts.validation(f"Sandbox: {name} is not a spot job with instances.")
        if job.secondary == "Training" and job.request.get("CheckpointConfig"):
            # With a checkpoint it resumes; without, it starts from the beginning (guide, managed spot).
            job.run_left_s = max(0.0, job.run_left_s - (now - job.transitions[-1].start))
        else:
            job.run_left_s = job.script.run_s
        job.release_instances(now)
        job.vacates = True
        self._enter(job, "Interrupted", now, lasts_s=self.settings.durations.restart_s)

    def end_stage(self, name: str, stage: str, *, failure: str | None = None, now: float) -> None:
        """End a stage of a job whose processes have ended it. Without effect if the job has left the stage.

        Args:
            stage: The secondary status that the stage has.
            failure: Its FailureReason, if it has failed. A job that is stopping is stopped all the same, and one that
                was interrupted begins again.
            now: The time, s.
        """
        self._settle(now)
        job = self._jobs.get(name)
        if job is None or job.secondary != stage or not job.waits_for_processes:
            return
        if failure is not None and job.secondary not in {"Stopping", "Interrupted"}:
            self._fail(job, failure, now)
        else:
            self._next_stage(job, now)

    def put_metric(self, name: str, metric: str, value: float, *, at: float) -> None:
        """Record the last value of a metric that a job's script has printed.

        Args:
            name: Name of the job.
            metric: Name of the metric.
            at: When it was printed, s.
        """
        job = self._jobs.get(name)
        if job is not None:
            job.report(metric, value, at=at)
            self._changed.add(name)

    def put_plan(self, plan: TrainingPlan, *, now: float) -> None:
        """Create or change a training plan; its jobs get other ends, and pending ones look for instances at once.

        Args:
            now: the current time, s.

        Raises:
            ValueError: No plan has such instances.
        """
        self._settle(now)
        self._supply.plans.put(plan)
        arn = self._supply.plans.arn(plan.name)
        for job in self._live.values():
            if job.plan == arn and job.allocated_at is not None:
                job.block_ends = self._supply.plans.block_end(arn, now) or now
            elif job.secondary != "Pending" or job.phase_ends is None or arn not in {each.plan for each in job.choices}:
                continue
            elif job.phase_ends > now + self.settings.durations.provisioning_s:
                job.phase_ends = now
            self._changed.add(job.name)
            self._schedule(job)

    def plans(self, *, now: float) -> list[TrainingPlan]:
        """Return all training plans. Read-only."""
        self._settle(now)
        return self._supply.plans.all()

    def _active(self, name: str, now: float) -> TrainingJob:
        self._settle(now)
        job = self._found(name)
        if job.ended:
            raise service_facts.not_stoppable(job.status)
        return job


def _stages_after(secondary: str) -> tuple[str, ...]:
    stages = ("Downloading", "Training", "Uploading")
    return stages[stages.index(secondary) + 1 :] if secondary in stages else stages
