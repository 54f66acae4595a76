"""The queue for tests: submits and stops through the command line, reads through the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from botocore.credentials import Credentials

from headway_client.errors import ConflictError
from headway_client.http.api import HeadwayApi
from headway_client.models import JOB_STATES, Job, JobDetails
from headway_sandbox.errors import SandboxError
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos.invariants import most_at_once
from tests.e2e.command_line import CommandLine
from tests.e2e.waiting import USUAL_S, eventually, nothing
from tests.service.world import P5, request

ENDLESS = {"SANDBOX_RUN_SECONDS": "86400"}
"""The environment of a training job that ends only when a test ends it."""


class QueueView:
    """The jobs of one test, whose names get a prefix, as a training job's name cannot be reused.

    Args:
        sandbox: the sandbox of the queue.
        cli: the user's command line.
        prefix: the prefix of all job names.
    """

    def __init__(self, sandbox: Sandbox, cli: CommandLine, prefix: str) -> None:
        self.sandbox = sandbox
        self.cli = cli
        self.prefix = prefix
        self.api = HeadwayApi(
            sandbox.endpoint,
            region=sandbox.info.region,
            credentials=Credentials(sandbox.info.access_key, sandbox.info.secret_key),
        )

    # ---------------------------------------------------------------------------------------------------------- actions

    def request(self, name: str, priority: int | None = None, **changes: Any) -> dict[str, Any]:
        """Return a CreateTrainingJob request for one instance that trains until a test ends it.

        Args:
            name: the name of the job, without the prefix.
            priority: its priority; None for the default.
            changes: further members of the request.
        """
        return request(self.prefix + name, priority, **{"Environment": ENDLESS, **changes})

    def submit(self, name: str, priority: int | None = None, **changes: Any) -> None:
        """Submit a request.

        Args:
            name: the name of the job, without the prefix.
            priority: its priority; None for the default.
            changes: further members of the request.
        """
        self.cli("submit", "-", stdin=self.request(name, priority, **changes))

    def finish(self, name: str) -> None:
        """Complete a job's training now."""
        self.sandbox.finish(eventually(lambda: self._training(name), lambda: f"{name} trains: {self.summary()}"))

    def _training(self, name: str) -> str:
        live = self.job(name).live_attempt
        found = [job for job in self.sandbox.jobs() if job["TrainingJobName"] == live]
        return live if live and found and found[0]["TrainingJobStatus"] == "InProgress" else ""

    def resume(self) -> None:
        """Resume all pools."""
        self.api.resume()
        for pool in self.api.capacity().pools:
            if pool.pause is not None:
                self.api.resume(pool.pool)

    def empty(self) -> None:
        """End all jobs of all users, and wait until they have ended."""
        stopped: set[str] = set()

        def no_job_is_left() -> bool:
            live = list(self.api.list_jobs())
            for job in live:
                with suppress(ConflictError, SandboxError):  # it has just ended
                    if job.name not in stopped:
                        self.api.stop_job(job.name)
                        stopped.add(job.name)
                    if job.live_attempt is not None:
                        # Tests do not wait for the regular stop.
                        self.sandbox.finish(job.live_attempt)
            return not live and not self.sandbox.in_use()

        eventually(no_job_is_left, lambda: f"all jobs end: {self.summary()}")

    # ---------------------------------------------------------------------------------------------------------- reading

    def job(self, name: str) -> Job:
        """Return a job."""
        return self.details(name).job

    def details(self, name: str) -> JobDetails:
        """Return all details of a job."""
        return self.api.get_job(self.prefix + name)

    def jobs(self, *, states: Iterable[str] = JOB_STATES) -> dict[str, Job]:
        """Return the test's jobs by name."""
        mine = [job for job in self.api.list_jobs(states=states) if job.name.startswith(self.prefix)]
        return {job.name.removeprefix(self.prefix): job for job in mine}

    def states(self) -> dict[str, str]:
        """Return the state of each job."""
        return {name: job.state for name, job in self.jobs().items()}

    def waiting(self) -> list[str]:
        """Return the waiting jobs in queue order."""
        return [job.name.removeprefix(self.prefix) for job in self.api.list_jobs() if job.place is not None]

    def history(self, name: str) -> list[str]:
        """Return the states that a job went through."""
        return [entry.state for entry in self.details(name).history]

    def attempts(self, name: str) -> list[str]:
        """Return the training jobs that the queue launched for a job."""
        return [attempt.name for attempt in self.details(name).attempts]

    def summary(self) -> str:
        """Describe the queue in a line, for failure messages."""
        return ", ".join(f"{name} {job.state} ({job.reason.message})" for name, job in self.jobs().items()) or "no jobs"

    def wait_for(self, *, meanwhile: Callable[[], object] = nothing, timeout_s: float = USUAL_S, **states: str) -> None:
        """Wait until jobs are in these states; see `eventually`."""

        def all_are() -> bool:
            now = self.states()
            return all(now.get(name) == state for name, state in states.items())

        eventually(
            all_are,
            lambda: f"{states}; the queue holds {self.summary()}",
            meanwhile=meanwhile,
            timeout_s=timeout_s,
        )

    def wait_until_training(self, *names: str, meanwhile: Callable[[], object] = nothing) -> None:
        """Wait until SageMaker trains these jobs."""

        def all_train() -> bool:
            training = {job["TrainingJobName"] for job in self.sandbox.jobs() if job["SecondaryStatus"] == "Training"}
            return training >= {self.job(name).live_attempt for name in names}

        eventually(all_train, lambda: f"{' and '.join(names)} train: {self.summary()}", meanwhile=meanwhile)

    # ------------------------------------------------------------------------------------------- SageMaker's records

    def training_jobs(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return SageMaker's training jobs for a job, or for all of the test's."""
        marked = [(job["Tags"].get("headway:job", ""), job) for job in self.sandbox.jobs()]
        if name is None:
            return [job for mark, job in marked if mark.startswith(self.prefix)]
        return [job for mark, job in marked if mark == self.prefix + name]

    def check_records(self, *, size: int) -> None:
        """Check that the test's training jobs never exceeded a pool of that size, and never overlapped for one job.

        SageMaker records the start and end of each, so nothing is missed between two reads.
        """
        jobs = self.training_jobs()
        held = most_at_once((each, each["Instances"].get(P5, 0)) for each in jobs)
        assert held <= size, f"SageMaker held {held} instances at once, and there are {size}: {jobs}"
        for name in {each["Tags"]["headway:job"] for each in jobs}:
            live = most_at_once((each, 1) for each in jobs if each["Tags"]["headway:job"] == name)
            assert live == 1, f"{name} had {live} live attempts at once: {jobs}"
