"""Controls of training jobs for tests, which AWS does not have."""

from __future__ import annotations

from headway_sandbox.sagemaker import service_facts
from headway_sandbox.sagemaker.state_machine import JobStateMachine
from headway_sandbox.sagemaker.training_job import TrainingJob


class JobControls(JobStateMachine):
    """Training jobs that a test can finish, fail and interrupt at any time."""

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
            self._decide(job, 0)
            self._allocate(job, now)
        for stage in _stages_after(job.secondary):
            self._enter(job, stage, now)
        self._end(job, service_facts.COMPLETED, "Completed", now)

    def fail(self, name: str, reason: str, *, now: float) -> None:
        """Fail a job at once.

        Args:
            name: Its name.
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
        self._enter(job, "Interrupted", now, lasts_s=self.settings.durations.restart_s)

    def _active(self, name: str, now: float) -> TrainingJob:
        self._settle(now)
        job = self._found(name)
        if job.ended:
            raise service_facts.not_stoppable(job.status)
        return job


def _stages_after(secondary: str) -> tuple[str, ...]:
    stages = ("Downloading", "Training", "Uploading")
    return stages[stages.index(secondary) + 1 :] if secondary in stages else stages
