"""The queue's story on this machine: two instances, four jobs, one preemption.

    python -m headway_sandbox.demo          (or `make demo`, `headway sandbox demo`)

A sandbox of its own is started, the real template is deployed to it, and the story is played through the real
HTTP API and the real function handlers. Every state that the story promises is checked; the exit code is 1 if
one does not come. Nothing is left behind.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.credentials import Credentials

from headway.errors import HeadwayError
from headway_client.api import HeadwayApi
from headway_client.documents import ENDED_STATES, Job
from headway_client.render import jobs_table, output_width
from headway_sandbox.sandbox import Sandbox

INSTANCE_TYPE = "ml.p5.48xlarge"
CAPACITY = 2
SPEED = 60.0
"""Training time passes sixty times faster: the 120 s that a stopping job gets are 2 s, long enough to be seen."""

_TIMEOUT_S = 45.0
_POLL_S = 0.1

# For each job, in seconds of the real world: longer than the story is told. Jobs finish when it is their turn in the
# story, however fast the machine is that it is told on.
_TRAINS_S = 86_400


class StoryFailed(HeadwayError):
    """The queue did not do what the story says."""


class Stage:
    """Where the story is played: it shows the queue whenever it changes, and checks what it shows."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        credentials = Credentials(sandbox.info.access_key, sandbox.info.secret_key)
        self._api = HeadwayApi(sandbox.endpoint, region=sandbox.info.region, credentials=credentials)
        self._shown: list[tuple[str, str]] = []

    def submit(self, name: str, priority: int) -> None:
        """Submit a job for one instance and show the queue."""
        _say(f"submit {name} with priority {priority}")
        self._api.submit(_request(self._sandbox, name, priority))
        self._show(self._jobs())

    def finish(self, name: str) -> None:
        """Have a job's training complete."""
        _say(f"{name} has learnt enough")
        self._sandbox.finish(self.attempts(name)[-1])

    def expect(self, sentence: str, states: Mapping[str, str], *, meanwhile: Mapping[str, str] | None = None) -> None:
        """Wait until jobs are in these states.

        Args:
            sentence: what is about to happen.
            states: the states to wait for.
            meanwhile: states that may not change until then.

        Raises:
            StoryFailed: they do not come, or something else happens meanwhile.
        """
        self._wait(sentence, lambda jobs: all(jobs.get(name) == state for name, state in states.items()), meanwhile)
        print(f"  ✓ {', '.join(f'{name} {state}' for name, state in states.items())}")

    def expect_training(self, *names: str) -> None:
        """Wait until SageMaker trains these jobs."""

        def trains(_: Mapping[str, str]) -> bool:
            training = [job["Tags"] for job in self._sandbox.jobs() if job["SecondaryStatus"] == "Training"]
            return {tags.get("headway:job") for tags in training} >= set(names)

        self._wait(f"SageMaker trains {' and '.join(names)}", trains, None)

    def expect_line(self, *names: str) -> None:
        """Check who waits, in order.

        Raises:
            StoryFailed: somebody else does.
        """
        waiting = [job.name for job in self._jobs() if job.place is not None]
        if waiting != list(names):
            raise StoryFailed(f"in line stand {waiting}, not {list(names)}")
        print(f"  ✓ in line: {', '.join(names) or 'nobody'}")

    def started(self, name: str) -> str:
        """When a job's last attempt was started."""
        attempts = self._api.get_job(name).attempts
        return attempts[-1].started_time or ""

    def attempts(self, name: str) -> list[str]:
        """The training jobs that were launched for a job."""
        return [attempt.name for attempt in self._api.get_job(name).attempts]

    def _wait(
        self, sentence: str, holds: Callable[[Mapping[str, str]], bool], meanwhile: Mapping[str, str] | None
    ) -> None:
        _say(sentence)
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            jobs = self._jobs()
            self._show(jobs)
            states = {job.name: job.state for job in jobs}
            if holds(states):
                return
            for name, state in (meanwhile or {}).items():
                if states.get(name) != state:
                    raise StoryFailed(f"{name} is {states.get(name)} before its time; it should still be {state}")
            if time.monotonic() > deadline:
                raise StoryFailed(f"not within {_TIMEOUT_S:g} s: {sentence}; the queue holds {states}")
            time.sleep(_POLL_S)

    def _jobs(self) -> list[Job]:
        used = self._sandbox.in_use().get(INSTANCE_TYPE, 0)
        if used > CAPACITY:
            raise StoryFailed(f"SageMaker runs {used} instances, and there are {CAPACITY}")
        live = list(self._api.list_jobs())
        ended = list(self._api.list_jobs(states=ENDED_STATES))
        # Who ended between the two is in both.
        names = {job.name for job in ended}
        return [*(job for job in live if job.name not in names), *reversed(ended)]

    def _show(self, jobs: Sequence[Job]) -> None:
        now = [(job.name, job.state) for job in jobs]
        if now == self._shown:
            return
        self._shown = now
        live = [job for job in jobs if not job.has_ended]
        table = jobs_table(live, width=output_width()) if live else "(empty)"
        print("\n" + "\n".join(f"    {line}" for line in table.splitlines()) + "\n")


def play(stage: Stage) -> None:
    """The story.

    Raises:
        StoryFailed: the queue does not do what it says.
    """
    for name, priority in (("job1", 1), ("job2", 2), ("job3", 1)):
        stage.submit(name, priority)
    stage.expect("two fit, the third has to wait", {"job1": "running", "job2": "running", "job3": "pending"})
    stage.expect_training("job1", "job2")
    stage.submit("job4", 3)
    stage.expect("job4 outranks job1, so job1 is asked to stop", {"job1": "stopping", "job4": "pending"})
    stage.expect(
        "job4 waits until the instance is really free",
        {"job1": "preempted", "job4": "running"},
        meanwhile={"job2": "running", "job3": "pending"},
    )
    stage.expect_line("job1", "job3")
    stage.expect_training("job4")
    stage.finish("job2")
    stage.expect(
        "job2 finishes, and job1 resumes in its place",
        {"job2": "completed", "job1": "running"},
        meanwhile={"job4": "running", "job3": "pending"},
    )
    if stage.attempts("job1")[0] != "job1" or len(stage.attempts("job1")) != 2:
        raise StoryFailed(f"job1 should have had two attempts, not {stage.attempts('job1')}")
    stage.expect_training("job1")
    stage.finish("job4")
    stage.expect("job3 runs last", {"job4": "completed", "job3": "running"}, meanwhile={"job1": "running"})
    if stage.started("job3") <= max(stage.started(name) for name in ("job1", "job2", "job4")):
        raise StoryFailed("job3 was not the last to start")
    stage.expect_training("job3")
    stage.finish("job1")
    stage.finish("job3")
    stage.expect("everything finishes", dict.fromkeys(("job1", "job2", "job3", "job4"), "completed"))
    stage.expect_line()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the story on a new sandbox and return the exit code."""
    parser = argparse.ArgumentParser(prog="headway sandbox demo", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--speed", type=float, default=SPEED, help="how much faster training time passes (%(default)g)")
    options = parser.parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        return _tell(speed=options.speed)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _frame: object) -> None:
    """Leave by an exception, as Ctrl-C does, so that the sandbox is stopped and nothing stays behind."""
    sys.exit(128 + number)


def _tell(*, speed: float) -> int:
    begun = time.monotonic()
    _say(f"start the sandbox and deploy the template, with a pool of {CAPACITY} {INSTANCE_TYPE}")
    try:
        parameters = {"PoolInstanceType": INSTANCE_TYPE, "PoolSize": str(CAPACITY)}
        with Sandbox(speed=speed, parameters=parameters) as sandbox:
            print(f"  ✓ the queue answers at {sandbox.endpoint} after {time.monotonic() - begun:.0f} s")
            play(Stage(sandbox))
    except StoryFailed as error:
        print(f"\n✗ {error}", file=sys.stderr)
        return 1
    print(f"\nThe queue is empty and the story is told, in {time.monotonic() - begun:.0f} s.")
    return 0


def _request(sandbox: Sandbox, name: str, priority: int) -> dict[str, Any]:
    """What anybody would send to SageMaker, plus a tag."""
    return {
        "TrainingJobName": name,
        "RoleArn": sandbox.info.role_arn,
        "AlgorithmSpecification": {
            "TrainingImage": f"{sandbox.info.account}.dkr.ecr.{sandbox.info.region}.amazonaws.com/train:1",
            "TrainingInputMode": "File",
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{sandbox.info.bucket}/output"},
        "ResourceConfig": {"InstanceType": INSTANCE_TYPE, "InstanceCount": 1, "VolumeSizeInGB": 100},
        "StoppingCondition": {"MaxRuntimeInSeconds": _TRAINS_S},
        "CheckpointConfig": {"S3Uri": f"s3://{sandbox.info.bucket}/checkpoints/{name}"},
        "Environment": {"SANDBOX_RUN_SECONDS": str(_TRAINS_S)},
        "Tags": [{"Key": "priority", "Value": str(priority)}],
    }


def _say(sentence: str) -> None:
    print(f"▶ {sentence}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
