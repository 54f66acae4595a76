"""Demonstrates the queue on this machine: two instances, four jobs, one preemption.

    python -m headway_sandbox.demo.preemption          (or `make demo`, `headway sandbox demo`)

The demo starts a temporary sandbox, deploys the template to it, and uses the HTTP API. It checks every announced state;
the exit code is 1 if one is missing. It removes the sandbox at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from headway_sandbox.demo.stage import Stage, StoryFailed, run
from headway_sandbox.sagemaker.request_builder import P5, training_request

CAPACITY = 2
SPEED = 60.0
"""Acceleration of training time: the 120 s of a stopping job take 2 s, long enough to be visible."""

# Training time of each job in real seconds, longer than the demo. The demo finishes the jobs explicitly, so that it
# does not depend on the machine's speed.
_TRAINS_S = 86_400


def play(stage: Stage) -> None:
    """Play the demo.

    Raises:
        StoryFailed: The queue does not behave as expected.
    """
    for name, priority in (("job1", 1), ("job2", 2), ("job3", 1)):
        submit(stage, name, priority)
    stage.expect("two fit, the third has to wait", {"job1": "running", "job2": "running", "job3": "pending"})
    stage.expect_training("job1", "job2")
    submit(stage, "job4", 3)
    stage.expect("job4 outranks job1, so job1 is asked to stop", {"job1": "stopping", "job4": "pending"})
    stage.expect(
        "job4 waits until the instance is really free",
        {"job1": "preempted", "job4": "running"},
        meanwhile={"job2": "running", "job3": "pending"},
    )
    stage.expect_queue("job1", "job3")
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
    stage.expect_queue()


def submit(stage: Stage, name: str, priority: int) -> None:
    """Submit a job for one instance: an ordinary request to SageMaker with one more tag.

    Args:
        name: The job's name.
    """
    request = training_request(name, [(P5, 1)], run_s=_TRAINS_S, tags={"priority": str(priority)})
    request["CheckpointConfig"] = {"S3Uri": f"s3://jobs/checkpoints/{name}"}
    stage.submit(f"submit {name} with priority {priority}", request)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the demo on a new sandbox and return the exit code."""
    return run(
        play,
        title="The queue's story on this machine: two instances, four jobs, one preemption.",
        opening=f"start the sandbox and deploy the template, with a pool of {CAPACITY} {P5}",
        capacity={P5: CAPACITY},
        speed=SPEED,
        parameters={"PoolInstanceType": P5, "PoolSize": str(CAPACITY)},
        arguments=arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
