"""Scenarios of SDK users, run concurrently, each with separate pools.

A story is a generator: it acts, and yields the condition of its next step. One loop runs all stories, so that polling
does not load the machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway_client.http.api import HeadwayApi
from headway_sandbox.local.sandbox import Sandbox
from tests.e2e.client.sdk_users import Script, User, Workplace
from tests.e2e.queue_view import ENDLESS
from tests.service.world import request

STEP_S = 300.0
"""The time limit of a step: SDK 2 polls its job every 30 s, and ten SDKs are imported at once on a busy machine."""

_ROUND_S = 0.3

Step = tuple[str, Callable[[], bool]]
"""A condition, and its description."""

Story = Iterator[Step]


@dataclass(frozen=True, kw_only=True)
class Played:
    """The result of a story."""

    output: str
    """The output of the script."""
    code: int | None
    """The script's exit code; None if it had to be killed."""
    problem: str | None
    """The unmet condition, if any."""


class Stage:
    """The queue and SageMaker, as used by the stories.

    Args:
        sandbox: the sandbox.
        api: the client of the queue.
        folder: the parent of the users' folders.
    """

    def __init__(self, sandbox: Sandbox, api: HeadwayApi, folder: Path) -> None:
        self.sandbox = sandbox
        self.scripts: dict[str, Script] = {}
        self._api = api
        self._folder = folder
        self._jobs: list[dict[str, Any]] = []

    def look(self) -> None:
        """Read SageMaker's training jobs."""
        self._jobs = self.sandbox.jobs()

    def attempts(self, name: str) -> list[dict[str, Any]]:
        """Return SageMaker's training jobs of the job with this prefix, oldest first."""
        return [job for job in self._jobs if job["Tags"].get("headway:job", "").startswith(name)]

    def trains(self, name: str, *, attempt: int = 1) -> bool:
        """Return whether an attempt of a job is training."""
        found = self.attempts(name)
        return len(found) == attempt and found[-1]["SecondaryStatus"] == "Training"

    def submit(self, name: str, pools: Collection[str], priority: int) -> None:
        """Submit a job with an instance of each pool that trains until a test ends it."""
        groups = [
            {"InstanceGroupName": f"g{number}", "InstanceType": pool, "InstanceCount": 1}
            for number, pool in enumerate(pools)
        ]
        resources = {"InstanceGroups": groups, "VolumeSizeInGB": 30}
        self._api.submit(request(name, priority, Environment=ENDLESS, ResourceConfig=resources))

    def finish(self, name: str) -> None:
        """Complete the last attempt of a job now."""
        self.sandbox.finish(self.attempts(name)[-1]["TrainingJobName"])

    def start(self, user: User) -> Script:
        """Run a user's script."""
        script = Workplace(self.sandbox, self._folder / user.name).start(user)
        self.scripts[user.name] = script
        return script


def play(stage: Stage, stories: Mapping[str, Story]) -> dict[str, Played]:
    """Run stories concurrently; a failed story does not delay the others."""
    going = {name: (story, next(story), time.monotonic() + STEP_S) for name, story in stories.items()}
    problems: dict[str, str] = {}
    while going:
        time.sleep(_ROUND_S)
        stage.look()
        for name, (story, (what, has_come), deadline_s) in list(going.items()):
            # Checked first, so that the last condition can hold.
            ended = _has_ended(stage, name)
            if has_come():
                step = next(story, None)
                del going[name]
                if step is not None:
                    going[name] = (story, step, time.monotonic() + STEP_S)
            elif ended or time.monotonic() > deadline_s:
                problems[name] = f"this did not come about: {what}"
                del going[name]
    played = {}
    for name in stories:
        script = stage.scripts.get(name)
        code = script.code() if script else None
        if script:
            script.end()
        played[name] = Played(output=script.output() if script else "", code=code, problem=problems.get(name))
    return played


def _has_ended(stage: Stage, name: str) -> bool:
    script = stage.scripts.get(name)
    return script is not None and script.code() is not None


def preempted_once(stage: Stage, user: User) -> Story:
    """A user's job waits for full pools, starts, is preempted by a job of higher priority, resumes, and ends."""
    holder, urgent = f"holder-of-{user.name}", f"urgent-for-{user.name}"
    stage.submit(holder, user.pools, 0)
    yield "others hold the instances", lambda: stage.trains(holder)

    script = stage.start(user)
    yield "the place in the queue is shown", lambda: user.place in script.output()

    stage.finish(holder)
    yield (
        "the job trains, and is seen to",
        lambda: stage.trains(user.name) and begins(user, script.output()) >= (1 if user.follows_logs else 0),
    )

    stage.submit(urgent, user.pools, 9)
    yield "it gives way, and is seen to", lambda: stage.trains(urgent) and "preempted" in script.output()

    stage.finish(urgent)
    yield (
        "it resumes, and is seen to",
        lambda: stage.trains(user.name, attempt=2) and begins(user, script.output()) >= (2 if user.follows_logs else 0),
    )

    stage.finish(user.name)
    yield "the script ends", lambda: script.code() is not None


def interrupted(stage: Stage, user: User) -> Story:
    """A user interrupts the script before the job starts."""
    holder = f"holder-of-{user.name}"
    stage.submit(holder, user.pools, 0)
    yield "others hold the instances", lambda: stage.trains(holder)
    script = stage.start(user)
    yield "the place in the queue is shown", lambda: user.place in script.output()
    yield "the SDK waits for the job", lambda: (user.waits or user.place) in script.output()
    script.press_ctrl_c()
    yield "the script ends", lambda: script.code() is not None


def alone(stage: Stage, user: User) -> Story:
    """A user's script runs to its end without the queue."""
    script = stage.start(user)
    yield "the script ends", lambda: script.code() is not None


def begins(user: User, output: str) -> int:
    """Return the number of attempts in the logs: each begins with a separate line."""
    return len(re.findall(rf"training job {user.name}\S* begins on algo-1 ", output))
