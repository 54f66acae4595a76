"""A job of higher priority preempts a training, which continues from its checkpoint.

Both jobs run the same script with the same seed on a pool of one instance. It is done twice: with periodic checkpoints
only, and with a checkpoint on SIGTERM too. The example fails if more steps are lost than lie between two checkpoints,
or if the weights of the preempted job differ from those of the job that ran undisturbed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from examples.submission import Account, log, training_request, unique
from headway_client import QueuedJob, TrainingQueue

SCRIPT = "examples/checkpoints/train.py"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/numpy:1"
RESOURCES = {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1}
STEPS, CHECKPOINT_EVERY = 300, 10
STEP_S = 0.05
"""Pause in each step of the job of low priority, so that it still trains when the other one arrives."""
PREEMPT_AFTER = 25
"""Steps, so that one checkpoint at least has been written."""
TIMEOUT_S = 300.0

_BEGIN = re.compile(r"begins after step (\d+)")
_STEP = re.compile(r"step (\d+) loss=")
_WEIGHTS = re.compile(r"weights (\w+)")


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What the log of one attempt says."""

    begin: int
    """The steps of its checkpoint."""
    last: int
    """Its last step."""
    weights: str | None
    """The digest of the trained weights; None if it did not finish."""

    @classmethod
    def from_log(cls, lines: Iterable[str]) -> Attempt:
        """Read a log.

        Raises:
            ValueError: It does not begin with a line of the script.
        """
        text = "\n".join(lines)
        begins, weights = _BEGIN.search(text), _WEIGHTS.search(text)
        if begins is None:
            raise ValueError("The log has no line 'begins after step N': has the script run?")
        begin = int(begins[1])
        steps = [int(step) for step in _STEP.findall(text)]
        return cls(begin=begin, last=max(steps, default=begin), weights=weights[1] if weights else None)


def steps_lost(low: Sequence[Attempt]) -> int:
    """Return how many steps of a job that was preempted once had to be trained again."""
    stopped, resumed = low
    return stopped.last - resumed.begin


def problems(low: Sequence[Attempt], high: Sequence[Attempt], *, at_most: int) -> list[str]:
    """Return what is wrong with a preemption, in sentences.

    Args:
        low: The attempts of the preempted job.
        high: Those of the job that preempted it.
        at_most: How many steps may be lost.
    """
    if (len(low), len(high)) != (2, 1):
        return [f"the jobs had {len(low)} and {len(high)} attempts, not 2 and 1"]
    found = []
    if not 0 <= steps_lost(low) <= at_most:
        found.append(f"{steps_lost(low)} steps were lost, not 0 to {at_most}")
    if low[-1].weights is None or low[-1].weights != high[-1].weights:
        found.append("the preempted job has other weights than the undisturbed one")
    return found


def main() -> None:
    """Run both cases and print their table."""
    account = Account.from_command_line(__doc__)
    rows = []
    for saves, at_most in (("no", CHECKPOINT_EVERY), ("yes", 0)):
        low, high = preempt(account, saves)
        if found := problems(low, high, at_most=at_most):
            raise SystemExit(f"✗ with --save-on-sigterm {saves}: {'; '.join(found)}")
        rows.append([saves, CHECKPOINT_EVERY, low[0].last, low[1].begin, steps_lost(low), low[1].weights])
    headers = ["saves on SIGTERM", "every", "stopped after", "resumed after", "steps lost", "weights"]
    print(tabulate(rows, headers=headers))
    print("the preempted jobs have the weights of those that ran undisturbed")


def preempt(account: Account, saves: str) -> tuple[list[Attempt], list[Attempt]]:
    """Run a job that is preempted, and the one that preempts it; return the attempts of both.

    Args:
        account: Where they run.
        saves: The option `--save-on-sigterm` of both.
    """
    queue = TrainingQueue()

    def submit(name: str, *, priority: int, pause_s: float) -> QueuedJob:
        arguments = {
            "steps": STEPS,
            "checkpoint-every": CHECKPOINT_EVERY,
            "save-on-sigterm": saves,
            "pause-s": pause_s,
        }
        request = training_request(
            account, unique(name), [SCRIPT], arguments, image=IMAGE, resources=RESOURCES, checkpoints=True
        )
        return queue.submit(request, priority=priority)

    low = submit("low", priority=1, pause_s=STEP_S)
    wait_for_step(low, PREEMPT_AFTER)
    high = submit("high", priority=5, pause_s=0)
    for job in (high, low):
        job.result(timeout=TIMEOUT_S, poll_s=0.5, tell=print)
    return attempts_of(low), attempts_of(high)


def attempts_of(job: QueuedJob) -> list[Attempt]:
    """Return the attempts of a job that has ended."""
    details = job.describe()
    events = log(details)
    return [
        Attempt.from_log(event.message for event in events if event.attempt == attempt.number)
        for attempt in details.attempts
    ]


def wait_for_step(job: QueuedJob, step: int) -> None:
    """Wait until a job has logged a step.

    Raises:
        SystemExit: It ended before, or did not reach the step in time.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not any(event.message.startswith(f"step {step} ") for event in log(job.describe())):
        if job.describe().has_ended or time.monotonic() > deadline:
            raise SystemExit(f"✗ {job.job_name} did not reach step {step}: {job.describe().reason.message}")
        time.sleep(0.5)


if __name__ == "__main__":
    main()
