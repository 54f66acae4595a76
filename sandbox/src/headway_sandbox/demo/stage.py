"""Runs a demo on a sandbox: prints the queue after each change and checks the states of its jobs."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from textwrap import indent
from typing import Any

from botocore.credentials import Credentials

from headway.errors import HeadwayError
from headway_client.cli.output import jobs_table, output_width, times
from headway_client.http.api import HeadwayApi
from headway_client.models import ENDED_STATES, Job
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.training_job import Durations
from headway_sandbox.training.settings import TrainingSettings

TIMEOUT_S = 45.0
_POLL_S = 0.1
_INDENT = " " * 4


class StoryFailed(HeadwayError):
    """The queue did not behave as the demo expects."""


class Stage:
    """A demo's access to a deployed sandbox.

    Args:
        capacity: Instances per type. More instances in use are an error.
    """

    def __init__(self, sandbox: Sandbox, capacity: Mapping[str, int]) -> None:
        self.sandbox = sandbox
        self._capacity = capacity
        credentials = Credentials(sandbox.info.access_key, sandbox.info.secret_key)
        self.api = HeadwayApi(sandbox.endpoint, region=sandbox.info.region, credentials=credentials)
        # The ages of jobs are in training time, which is that of the queue.
        times.now_s = self.api.now_s
        self._shown: list[tuple[str, str]] = []

    def submit(self, sentence: str, request: Mapping[str, Any]) -> None:
        """Submit a job and print the queue.

        Args:
            sentence: Describes the submission.
            request: The CreateTrainingJob request, or the result of `with_alternatives`.
        """
        say(sentence)
        self.api.submit(request)
        self._show(self._jobs())

    def finish(self, name: str) -> None:
        """Complete a job's training."""
        say(f"{name} completes its training")
        self.sandbox.finish(self.attempts(name)[-1])

    def expect(self, sentence: str, states: Mapping[str, str], *, meanwhile: Mapping[str, str] | None = None) -> None:
        """Wait until jobs have given states.

        Args:
            sentence: Describes what happens.
            states: The expected states by job.
            meanwhile: States that must not change until then, by job.

        Raises:
            StoryFailed: A state is not reached, or another one changes meanwhile.
        """
        self.wait(sentence, lambda jobs: all(jobs.get(name) == state for name, state in states.items()), meanwhile)
        check(", ".join(f"{name} {state}" for name, state in states.items()))

    def expect_training(self, *names: str) -> None:
        """Wait until SageMaker trains these jobs.

        Raises:
            StoryFailed: One of them does not train.
        """

        def trains(_: Mapping[str, str]) -> bool:
            training = [job["Tags"] for job in self.sandbox.jobs() if job["SecondaryStatus"] == "Training"]
            return {tags.get("headway:job") for tags in training} >= set(names)

        self.wait(f"SageMaker trains {' and '.join(names)}", trains)

    def expect_queue(self, *names: str) -> None:
        """Check the waiting jobs and their order.

        Raises:
            StoryFailed: Other jobs wait, or in another order.
        """
        waiting = [job.name for job in self._jobs() if job.place is not None]
        if waiting != list(names):
            raise StoryFailed(f"the queue has {waiting}, not {list(names)}")
        check(f"in the queue: {', '.join(names) or 'no jobs'}")

    def started(self, name: str) -> str:
        """Return the start time of a job's last attempt."""
        attempts = self.api.get_job(name).attempts
        return attempts[-1].started_time or ""

    def attempts(self, name: str) -> list[str]:
        """Return the names of a job's training jobs."""
        return [attempt.name for attempt in self.api.get_job(name).attempts]

    def wait(
        self,
        sentence: str,
        holds: Callable[[Mapping[str, str]], bool],
        meanwhile: Mapping[str, str] | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Wait until a condition on the states of all jobs is true.

        Args:
            sentence: Describes what happens.
            holds: The condition on the states by job.
            meanwhile: States that must not change until then, by job.
            timeout_s: Longest wait.

        Raises:
            StoryFailed: The condition does not become true, or a state changes meanwhile.
        """
        say(sentence)
        deadline = time.monotonic() + timeout_s
        while True:
            jobs = self._jobs()
            self._show(jobs)
            states = {job.name: job.state for job in jobs}
            if holds(states):
                return
            for name, state in (meanwhile or {}).items():
                if states.get(name) != state:
                    raise StoryFailed(f"{name} is {states.get(name)} too early; it should still be {state}")
            if time.monotonic() > deadline:
                raise StoryFailed(f"not within {timeout_s:g} s: {sentence}; the jobs are {states}")
            time.sleep(_POLL_S)

    def _jobs(self) -> list[Job]:
        for pool, used in self.sandbox.in_use().items():
            if used > self._capacity.get(pool, 0):
                raise StoryFailed(f"SageMaker runs {used} {pool}, but there are {self._capacity.get(pool, 0)}")
        live = list(self.api.list_jobs())
        ended = list(self.api.list_jobs(states=ENDED_STATES))
        # A job that ended between the two calls is in both.
        names = {job.name for job in ended}
        return [*(job for job in live if job.name not in names), *reversed(ended)]

    def _show(self, jobs: Sequence[Job]) -> None:
        now = [(job.name, str(job.state)) for job in jobs]
        if now == self._shown:
            return
        self._shown = now
        live = [job for job in jobs if not job.has_ended]
        width = output_width()
        room = None if width is None else width - len(_INDENT)
        table = jobs_table(live, width=room) if live else "(empty)"
        print("\n" + indent(table, _INDENT) + "\n")


def run(
    story: Callable[[Stage], None],
    *,
    title: str,
    opening: str,
    capacity: Mapping[str, int],
    speed: float,
    parameters: Mapping[str, str],
    training: TrainingSettings | None = None,
    durations: Durations | None = None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Play a demo on a temporary sandbox.

    Args:
        story: Plays the demo, or raises StoryFailed.
        title: Description of the demo, for its help.
        opening: Its first sentence.
        capacity: Instances per type.
        speed: Default acceleration of training time.
        parameters: Template parameters.
        training: How the scripts of training jobs run; None if they are timers.
        durations: Of the stages of a training job; None for the sandbox's own.
        arguments: Command line.

    Returns:
        The exit code: 1 if the demo failed.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--speed", type=float, default=speed, help="acceleration of training time (%(default)g)")
    options = parser.parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _end)
    begun = time.monotonic()
    say(opening)
    try:
        with Sandbox(speed=options.speed, parameters=parameters, training=training, durations=durations) as sandbox:
            check(f"the queue answers at {sandbox.endpoint} after {time.monotonic() - begun:.0f} s")
            story(Stage(sandbox, capacity))
    except StoryFailed as error:
        print(f"\n✗ {error}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)
    print(f"\nAll jobs have ended, after {time.monotonic() - begun:.0f} s.")
    return 0


def say(sentence: str) -> None:
    """Print the next step."""
    print(f"▶ {sentence}", flush=True)


def check(sentence: str) -> None:
    """Print a passed check."""
    print(f"  ✓ {sentence}", flush=True)


def _end(number: int, _frame: object) -> None:
    """Exit by an exception, like Ctrl-C, so that the sandbox is stopped and removed."""
    sys.exit(128 + number)
