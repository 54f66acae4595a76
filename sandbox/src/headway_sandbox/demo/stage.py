"""Where a story is played on a sandbox: it shows the queue whenever it changes, and checks what it shows."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.credentials import Credentials

from headway.errors import HeadwayError
from headway_client.cli.output import jobs_table, output_width
from headway_client.http.api import HeadwayApi
from headway_client.models import ENDED_STATES, Job
from headway_sandbox.local.sandbox import Sandbox

TIMEOUT_S = 45.0
_POLL_S = 0.1


class StoryFailed(HeadwayError):
    """The queue did not do what the story says."""


class Stage:
    """A stage on a deployed sandbox.

    Args:
        sandbox: the sandbox.
        capacity: instances of each type; SageMaker may never run more.
    """

    def __init__(self, sandbox: Sandbox, capacity: Mapping[str, int]) -> None:
        self.sandbox = sandbox
        self._capacity = capacity
        credentials = Credentials(sandbox.info.access_key, sandbox.info.secret_key)
        self.api = HeadwayApi(sandbox.endpoint, region=sandbox.info.region, credentials=credentials)
        self._shown: list[tuple[str, str]] = []

    def submit(self, sentence: str, request: Mapping[str, Any]) -> None:
        """Submit a job and show the queue."""
        say(sentence)
        self.api.submit(request)
        self._show(self._jobs())

    def finish(self, name: str) -> None:
        """Have a job's training complete."""
        say(f"{name} has learnt enough")
        self.sandbox.finish(self.attempts(name)[-1])

    def expect(self, sentence: str, states: Mapping[str, str], *, meanwhile: Mapping[str, str] | None = None) -> None:
        """Wait until jobs are in these states.

        Args:
            sentence: what is about to happen.
            states: the states to wait for.
            meanwhile: states that may not change until then.

        Raises:
            StoryFailed: they do not come, or something else happens meanwhile.
        """
        self.wait(sentence, lambda jobs: all(jobs.get(name) == state for name, state in states.items()), meanwhile)
        check(", ".join(f"{name} {state}" for name, state in states.items()))

    def expect_training(self, *names: str) -> None:
        """Wait until SageMaker trains these jobs."""

        def trains(_: Mapping[str, str]) -> bool:
            training = [job["Tags"] for job in self.sandbox.jobs() if job["SecondaryStatus"] == "Training"]
            return {tags.get("headway:job") for tags in training} >= set(names)

        self.wait(f"SageMaker trains {' and '.join(names)}", trains)

    def expect_line(self, *names: str) -> None:
        """Check who waits, in order.

        Raises:
            StoryFailed: somebody else does.
        """
        waiting = [job.name for job in self._jobs() if job.place is not None]
        if waiting != list(names):
            raise StoryFailed(f"in line stand {waiting}, not {list(names)}")
        check(f"in line: {', '.join(names) or 'nobody'}")

    def started(self, name: str) -> str:
        """When a job's last attempt was started."""
        attempts = self.api.get_job(name).attempts
        return attempts[-1].started_time or ""

    def attempts(self, name: str) -> list[str]:
        """The training jobs that were launched for a job."""
        return [attempt.name for attempt in self.api.get_job(name).attempts]

    def wait(
        self,
        sentence: str,
        holds: Callable[[Mapping[str, str]], bool],
        meanwhile: Mapping[str, str] | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Wait until something holds of the states of all jobs.

        Raises:
            StoryFailed: it does not come, or a state changes that may not ``meanwhile``.
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
                    raise StoryFailed(f"{name} is {states.get(name)} before its time; it should still be {state}")
            if time.monotonic() > deadline:
                raise StoryFailed(f"not within {timeout_s:g} s: {sentence}; the queue holds {states}")
            time.sleep(_POLL_S)

    def _jobs(self) -> list[Job]:
        for pool, used in self.sandbox.in_use().items():
            if used > self._capacity.get(pool, 0):
                raise StoryFailed(f"SageMaker runs {used} {pool}, and there are {self._capacity.get(pool, 0)}")
        live = list(self.api.list_jobs())
        ended = list(self.api.list_jobs(states=ENDED_STATES))
        # Who ended between the two is in both.
        names = {job.name for job in ended}
        return [*(job for job in live if job.name not in names), *reversed(ended)]

    def _show(self, jobs: Sequence[Job]) -> None:
        now = [(job.name, str(job.state)) for job in jobs]
        if now == self._shown:
            return
        self._shown = now
        live = [job for job in jobs if not job.has_ended]
        table = jobs_table(live, width=output_width()) if live else "(empty)"
        print("\n" + "\n".join(f"    {line}" for line in table.splitlines()) + "\n")


def tell(
    story: Callable[[Stage], None],
    *,
    title: str,
    opening: str,
    capacity: Mapping[str, int],
    speed: float,
    parameters: Mapping[str, str],
    arguments: Sequence[str] | None = None,
) -> int:
    """Play a story on a sandbox of its own, and return the exit code: 1 if what it says does not come.

    Args:
        story: plays it, and raises StoryFailed.
        title: what the story is about, for its help.
        opening: the first sentence.
        capacity: instances of each type.
        speed: how much faster training time passes, unless the command line says otherwise.
        parameters: of the template.
        arguments: of the command line.
    """
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--speed", type=float, default=speed, help="how much faster training time passes (%(default)g)")
    options = parser.parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _end)
    begun = time.monotonic()
    say(opening)
    try:
        with Sandbox(speed=options.speed, parameters=parameters) as sandbox:
            check(f"the queue answers at {sandbox.endpoint} after {time.monotonic() - begun:.0f} s")
            story(Stage(sandbox, capacity))
    except StoryFailed as error:
        print(f"\n✗ {error}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)
    print(f"\nThe queue is empty and the story is told, in {time.monotonic() - begun:.0f} s.")
    return 0


def say(sentence: str) -> None:
    """Say what happens next."""
    print(f"▶ {sentence}", flush=True)


def check(sentence: str) -> None:
    """Say what has come as it should."""
    print(f"  ✓ {sentence}", flush=True)


def _end(number: int, _frame: object) -> None:
    """Leave by an exception, as Ctrl-C does, so that the sandbox is stopped and nothing stays behind."""
    sys.exit(128 + number)
