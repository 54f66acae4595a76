"""The states of a job that is preempted once, for tests of waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.client.fakes.aws_stub import AwsStub, training_job
from tests.client.fakes.server import ContractServer
from tests.client.logs.test_reader import attempt

LINES = ["first begins", "first goes on", "first is asked to stop", "second resumes", "second ends"]
"""What its training jobs write."""

_START_MS = 1_767_323_100_000  # 2026-01-02T03:05:00Z


def preempted_once(server: ContractServer, aws: AwsStub, name: str) -> Iterator[None]:
    """Change the state of a job with each step: it runs, is preempted, runs again and completes."""
    job = server.queue.jobs[name]
    clock_ms = iter(range(_START_MS, _START_MS + 10**9, 1000))

    def write(stream: str, *lines: str) -> None:
        for line in lines:
            aws.logs.write(stream, next(clock_ms), line)

    def history(state: str, minute: int, message: str) -> None:
        reason = {"code": state, "message": message}
        job.update(jobState=state, reason=reason)
        time = f"2026-01-02T03:{minute:02}:00.000Z"
        job["history"].append({"time": time, "jobState": state, "reason": reason, "attemptName": job["liveAttempt"]})

    yield
    first, second = attempt(1, name), attempt(2, f"{name}-r2")
    first["trainingJobStatus"] = None
    job.update(liveAttempt=name, attempts=[first], attemptCount=1)
    history("running", 5, "started on 1 ml.p5.48xlarge")
    yield
    first["trainingJobStatus"] = "InProgress"
    aws.training_jobs[name] = _described(name, "InProgress", "Training", job)
    write(f"{name}/algo-1-1767323100", LINES[0])
    yield
    write(f"{name}/algo-1-1767323100", LINES[1])
    yield
    write(f"{name}/algo-1-1767323100", LINES[2])
    first.update(attemptState="ended", trainingJobStatus="Stopped", endedTime="2026-01-02T03:06:00.000Z")
    aws.training_jobs[name] = _described(name, "Stopped", "Stopped", job)
    job.update(liveAttempt=None)
    history("preempted", 6, "waits for 1 ml.p5.48xlarge")
    yield
    yield
    job.update(liveAttempt=f"{name}-r2", attempts=[first, second], attemptCount=2)
    aws.training_jobs[f"{name}-r2"] = _described(f"{name}-r2", "InProgress", "Training", job)
    history("running", 7, "started on 1 ml.p5.48xlarge")
    write(f"{name}-r2/algo-1-1767323200", LINES[3])
    yield
    write(f"{name}-r2/algo-1-1767323200", LINES[4])
    aws.training_jobs[f"{name}-r2"] = _described(f"{name}-r2", "Completed", "Completed", job)
    second.update(attemptState="ended", trainingJobStatus="Completed", endedTime="2026-01-02T03:08:00.000Z")
    job.update(liveAttempt=None, endedTime="2026-01-02T03:08:00.000Z")
    history("completed", 8, "completed")


def _described(name: str, status: str, secondary: str, job: dict[str, Any]) -> dict[str, Any]:
    """Return SageMaker's description of an attempt, with members of the request and a transition."""
    kept = ("RoleArn", "AlgorithmSpecification", "HyperParameters", "OutputDataConfig", "ResourceConfig")
    repeated = {key: job["request"][key] for key in kept if key in job["request"]}
    repeated["OutputDataConfig"] = {"KmsKeyId": "", **repeated["OutputDataConfig"]}
    started_s = 1767323100.0 + len(job["history"])
    transition = {"Status": secondary, "StartTime": started_s, "StatusMessage": f"{secondary} of {name}"}
    return training_job(
        name, status, secondary, **repeated, LastModifiedTime=started_s, SecondaryStatusTransitions=[transition]
    )


def clock(monkeypatch: pytest.MonkeyPatch, module: str, each_pause: Callable[[], None]) -> None:
    """Replace the clock of an SDK's module: each pause takes no time, advances the clock by a minute and runs a step.

    Caches of jobs are disabled.
    """
    now = [0.0]

    def sleep(_: float) -> None:
        now[0] += 60
        each_pause()

    monkeypatch.setattr(f"{module}.time", SimpleNamespace(sleep=sleep, time=lambda: now[0]))
    monkeypatch.setattr("headway_client.botocore_hooks.job_cache.RECENT_S", 0.0)
    monkeypatch.setattr("headway_client.logs.streams.FRESH_S", 0.0)


def step(life: Iterator[None]) -> Callable[[], None]:
    """Return a function that runs the next step, if there is one."""
    return lambda: next(life, None)


def interrupt() -> None:
    """Raise KeyboardInterrupt, as Ctrl-C does."""
    raise KeyboardInterrupt


def in_order(text: str, parts: list[str]) -> bool:
    """Return whether a text contains each part once and in this order."""
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places) and all(text.count(part) == 1 for part in parts)
