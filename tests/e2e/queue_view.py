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
"""Environment of a training job that a test ends."""


class QueueView:
    """The jobs of one test. Their names get a prefix, since a name is given to a training job once and for good.

    Args:
        sandbox: where the queue is.
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

    # ------------------------------------------------------------------------------------------------------ doing

    def request(self, name: str, priority: int | None = None, **changes: Any) -> dict[str, Any]:
        """A CreateTrainingJob request for one instance that trains until a test ends it."""
        return request(self.prefix + name, priority, **{"Environment": ENDLESS, **changes})

    def submit(self, name: str, priority: int | None = None, **changes: Any) -> None:
        """Hand in a request."""
        self.cli("submit", "-", stdin=self.request(name, priority, **changes))

    def finish(self, name: str) -> None:
        """Have a job's training complete now."""
        self.sandbox.finish(eventually(lambda: self._training(name), lambda: f"{name} trains: {self.told()}"))

    def _training(self, name: str) -> str:
        live = self.job(name).live_attempt
        found = [job for job in self.sandbox.jobs() if job["TrainingJobName"] == live]
        return live if live and found and found[0]["TrainingJobStatus"] == "InProgress" else ""

    def resume(self) -> None:
        """Have nothing paused, neither everything nor single pools."""
        self.api.resume()
        for pool in self.api.capacity().pools:
            if pool.pause is not None:
                self.api.resume(pool.pool)

    def empty(self) -> None:
        """Have all jobs end, whosever they are, and wait until they have."""
        stopped: set[str] = set()

        def nobody_is_left() -> bool:
            live = list(self.api.list_jobs())
            for job in live:
                with suppress(ConflictError, SandboxError):  # it has just ended
                    if job.name not in stopped:
                        self.api.stop_job(job.name)
                        stopped.add(job.name)
                    if job.live_attempt is not None:
                        # Tests do not wait for its regular stop.
                        self.sandbox.finish(job.live_attempt)
            return not live and not self.sandbox.in_use()

        eventually(nobody_is_left, lambda: f"everything that is left over ends: {self.told()}")

    # ---------------------------------------------------------------------------------------------------- looking

    def job(self, name: str) -> Job:
        """One job."""
        return self.details(name).job

    def details(self, name: str) -> JobDetails:
        """All about one job."""
        return self.api.get_job(self.prefix + name)

    def jobs(self, *, states: Iterable[str] = JOB_STATES) -> dict[str, Job]:
        """The test's jobs by name."""
        mine = [job for job in self.api.list_jobs(states=states) if job.name.startswith(self.prefix)]
        return {job.name.removeprefix(self.prefix): job for job in mine}

    def states(self) -> dict[str, str]:
        """The state of each job."""
        return {name: job.state for name, job in self.jobs().items()}

    def line(self) -> list[str]:
        """The waiting jobs, the next one first."""
        return [job.name.removeprefix(self.prefix) for job in self.api.list_jobs() if job.place is not None]

    def history(self, name: str) -> list[str]:
        """The states that a job went through."""
        return [entry.state for entry in self.details(name).history]

    def attempts(self, name: str) -> list[str]:
        """The training jobs that the queue launched for a job."""
        return [attempt.name for attempt in self.details(name).attempts]

    def told(self) -> str:
        """The queue in a line, for messages."""
        return ", ".join(f"{name} {job.state} ({job.reason.message})" for name, job in self.jobs().items()) or "no jobs"

    def wait_for(self, *, meanwhile: Callable[[], object] = nothing, timeout_s: float = USUAL_S, **states: str) -> None:
        """Wait until jobs are in these states; see `eventually`."""

        def all_are() -> bool:
            now = self.states()
            return all(now.get(name) == state for name, state in states.items())

        eventually(
            all_are,
            lambda: f"{states}; the queue holds {self.told()}",
            meanwhile=meanwhile,
            timeout_s=timeout_s,
        )

    def wait_until_training(self, *names: str, meanwhile: Callable[[], object] = nothing) -> None:
        """Wait until SageMaker trains these jobs."""

        def all_train() -> bool:
            training = {job["TrainingJobName"] for job in self.sandbox.jobs() if job["SecondaryStatus"] == "Training"}
            return training >= {self.job(name).live_attempt for name in names}

        eventually(all_train, lambda: f"{' and '.join(names)} train: {self.told()}", meanwhile=meanwhile)

    # ---------------------------------------------------------------------------------------- SageMaker's own books

    def training_jobs(self, name: str | None = None) -> list[dict[str, Any]]:
        """SageMaker's training jobs for a job, or for all of the test's."""
        marked = [(job["Tags"].get("headway:job", ""), job) for job in self.sandbox.jobs()]
        if name is None:
            return [job for mark, job in marked if mark.startswith(self.prefix)]
        return [job for mark, job in marked if mark == self.prefix + name]

    def check_books(self, *, size: int) -> None:
        """Check that at no time the test's training jobs held more than a pool of that size, or one job two of them.

        SageMaker records when each began and ended, so nothing is missed between two reads.
        """
        jobs = self.training_jobs()
        held = most_at_once((each, each["Instances"].get(P5, 0)) for each in jobs)
        assert held <= size, f"SageMaker held {held} instances at once, and there are {size}: {jobs}"
        for name in {each["Tags"]["headway:job"] for each in jobs}:
            live = most_at_once((each, 1) for each in jobs if each["Tags"]["headway:job"] == name)
            assert live == 1, f"{name} had {live} live attempts at once: {jobs}"
