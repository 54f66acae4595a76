"""Demonstrates the kinds of capacity that SageMaker sells, on this machine.

    python -m headway_sandbox.demo.capacity          (or `make demo-capacity`)

A job leaves its instances warm, and the next one starts in them. A job that needs other instances has a warm pool
released, and nothing is preempted. A job takes its second alternative, as the pool that it prefers is full. SageMaker
refuses the instance type that a job prefers, and the job is launched on the next one. A pool becomes smaller by its
schedule: a job stops, and resumes when the pool is large again. A training plan ends: its job stops with its
checkpoint, and resumes when the plan has instances again. A missing state ends the demo with exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headway_client.alternatives import with_alternatives
from headway_sandbox.demo.stage import Stage, StoryFailed, check, run, say
from headway_sandbox.sagemaker.request_builder import G5, P5, training_request

CAPACITY = {P5: 2, G5: 1}
SPEED = 60.0
"""Acceleration of training time: a cold start takes four seconds, a warm one less than one."""

_TRAINS_S = 86_400
_KEPT_S = 3600

_MINUTES_S = 150.0
"""Timeout for what functions that run once a minute find out: no event reports the status of a warm pool."""

POLICY: Mapping[str, Any] = {
    "pools": {pool: {"size": size} for pool, size in CAPACITY.items()},
    "warmPools": {"maxSeconds": _KEPT_S},
    "watches": {"idle": None},
}


def play(stage: Stage) -> None:
    """Play the demo.

    Raises:
        StoryFailed: The queue does not behave as expected.
    """
    stage.api.put_config(dict(POLICY), force=True)
    stage.sandbox.set_faults(warm_pool_quotas={P5: CAPACITY[P5]})
    _start_warm(stage)
    _release(stage)
    _use_second_alternative(stage)
    _use_second_preference(stage)
    _shrink(stage)
    _end_plan(stage)
    for name in ("urgent", "flexible", "planned"):
        stage.finish(name)
    finished = ("first", "second", "urgent", "either", "flexible", "planned")
    stage.expect("everything finishes", dict.fromkeys(finished, "completed"))
    stage.expect_queue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the demo on a new sandbox and return the exit code."""
    return run(
        play,
        title="Warm pools, instance preferences, sizes by time and training plans, demonstrated on this machine.",
        opening="start the sandbox, deploy the template and set a policy that keeps warm pools",
        capacity=CAPACITY,
        speed=SPEED,
        parameters={"PoolInstanceType": P5, "PoolSize": str(CAPACITY[P5])},
        arguments=arguments,
    )


def _start_warm(stage: Stage) -> None:
    stage.submit("submit first, which keeps its two instances for an hour", _request("first", [(P5, 2)], kept=True))
    stage.expect_training("first")
    stage.finish("first")
    stage.expect("it completes, and SageMaker keeps its instances warm", {"first": "completed"})
    stage.submit("submit second, which matches them", _request("second", [(P5, 2)], kept=True))
    stage.expect_training("second")
    _expect_reason(stage, "second", "in the warm pool of `first`")
    status = _described(stage, "first").get("WarmPoolStatus", {})
    if status.get("ReusedByJob") != "second":
        raise StoryFailed(f"second did not use the warm pool of first: {status}")
    check("SageMaker reports that second reuses the instances of first")


def _release(stage: Stage) -> None:
    stage.finish("second")
    stage.expect("second completes, and leaves its instances warm", {"second": "completed"})
    stage.submit("submit urgent, which needs one instance of the same type", _request("urgent", [(P5, 1)], priority=5))
    stage.wait(
        "the warm pool of second is released for it, and it starts when SageMaker no longer keeps the instances",
        lambda jobs: jobs.get("urgent") == "running",
        timeout_s=_MINUTES_S,
    )
    _expect_step(stage, "second", "is released so that `urgent`")
    stage.expect_training("urgent")


def _use_second_alternative(stage: Stage) -> None:
    other = {"ResourceConfig": {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 30}}
    request = with_alternatives(_request("either", [(P5, 2)]), [other])
    stage.submit(f"submit either, which prefers 2 {P5} and can run on 1 {G5}", request)
    stage.expect_training("either")
    job = stage.api.get_job("either").job
    if job.demand != {G5: 1} or job.alternative != 1:
        raise StoryFailed(f"either should run on 1 {G5}, not on {job.demand}")
    _expect_reason(stage, "either", f"1 {G5}")
    stage.finish("either")
    stage.expect("either completes on its second alternative", {"either": "completed"}, meanwhile={"urgent": "running"})


def _use_second_preference(stage: Stage) -> None:
    say(f"SageMaker has no quota for a further {P5}")
    stage.sandbox.set_faults(quotas={P5: 1})
    request = _request("flexible", [(P5, 1)])
    request["ResourceConfig"] = {
        "InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}],
        "InstanceCount": 1,
        "VolumeSizeInGB": 30,
    }
    stage.submit(f"submit flexible, which prefers {P5} and takes {G5} as well", request)
    stage.wait(
        f"SageMaker refuses {P5}, and it is launched on {G5}",
        lambda _: stage.api.get_job("flexible").job.demand == {G5: 1},
        timeout_s=_MINUTES_S,
    )
    stage.expect_training("flexible")
    _expect_reason(stage, "flexible", f"1 {G5}")
    used = {pool.pool: pool.allocated for pool in stage.api.capacity().pools}
    if used != {P5: 1, G5: 1}:
        raise StoryFailed(f"urgent and flexible should hold an instance each, not {used}")
    check(f"urgent holds 1 {P5}, and flexible 1 {G5}")


def _shrink(stage: Stage) -> None:
    # The next minute but one, of training time.
    begins = datetime.fromtimestamp(stage.sandbox.training_time() + 120, UTC)
    ends = begins + timedelta(hours=12)
    entry = {"days": [f"{begins:%a}".lower()], "from": f"{begins:%H:%M}", "to": f"{ends:%H:%M}", "size": 0}
    pools = {**POLICY["pools"], P5: {"size": CAPACITY[P5], "schedule": [entry], "atShrink": "stop"}}
    say(f"from {begins:%H:%M} on the pool of {P5} has no instances, by its schedule")
    stage.api.put_config({**POLICY, "pools": pools}, force=True)
    stage.wait(
        "urgent stops with its checkpoint, and waits in its place",
        lambda jobs: jobs.get("urgent") == "pending",
        {"flexible": "running"},
        timeout_s=_MINUTES_S,
    )
    check(f"urgent: {stage.api.get_job('urgent').job.reason.message}")
    say("an operator removes the schedule")
    stage.api.put_config(dict(POLICY), force=True)
    stage.wait("urgent resumes", lambda jobs: jobs.get("urgent") == "running", timeout_s=_MINUTES_S)
    if len(stage.attempts("urgent")) != 2:
        raise StoryFailed(f"urgent should have had two attempts, not {stage.attempts('urgent')}")
    stage.expect_training("urgent")


def _end_plan(stage: Stage) -> None:
    minute_s = 60
    blocks = [(0, 80 * minute_s), (100 * minute_s, 10_000 * minute_s)]
    plan = stage.sandbox.put_plan("spring", blocks, instance_type=P5, instance_count=1)
    pools = {**POLICY["pools"], f"{P5}.plan.spring": {"plan": plan}}
    say(f"a training plan has 1 {P5} for 80 minutes, and after a gap of 20 minutes again; a pool follows it")
    stage.api.put_config({**POLICY, "pools": pools}, force=True)
    request = _request("planned", [(P5, 1)])
    request["ResourceConfig"]["TrainingPlanArn"] = plan

    def reaches(state: str) -> Callable[[Mapping[str, str]], bool]:
        def holds(jobs: Mapping[str, str]) -> bool:
            # It runs once a minute, which is an hour of training time here.
            stage.sandbox.invoke("Reconcile")
            return jobs.get("planned") == state

        return holds

    stage.submit("submit planned, which asks for an instance of the plan and writes checkpoints", request)
    stage.wait("planned starts in the plan", reaches("running"))
    stage.wait(
        "it stops with its checkpoint before SageMaker takes the instance, and waits",
        reaches("pending"),
        timeout_s=_MINUTES_S,
    )
    check(f"planned: {stage.api.get_job('planned').job.reason.message}")
    stage.wait("it resumes when the plan has the instance again", reaches("running"), timeout_s=_MINUTES_S)
    if len(stage.attempts("planned")) != 2:
        raise StoryFailed(f"planned should have had two attempts, not {stage.attempts('planned')}")
    stage.expect_training("planned")


def _expect_reason(stage: Stage, name: str, part: str) -> None:
    message = stage.api.get_job(name).job.reason.message
    if part not in message:
        raise StoryFailed(f"{name}: {message}")
    check(f"{name}: {message}")


def _expect_step(stage: Stage, name: str, part: str) -> None:
    messages = [step.reason.message for step in stage.api.get_job(name).history]
    found = next((message for message in messages if part in message), None)
    if found is None:
        raise StoryFailed(f"{name}: {messages}")
    check(f"{name}: {found}")


def _described(stage: Stage, name: str) -> dict[str, Any]:
    described: dict[str, Any] = stage.sandbox.client("sagemaker").describe_training_job(TrainingJobName=name)
    return described


def _request(name: str, demand: Sequence[tuple[str, int]], *, priority: int = 0, kept: bool = False) -> dict[str, Any]:
    """Return a request to SageMaker with checkpoints."""
    request = training_request(name, demand, run_s=_TRAINS_S, tags={"priority": str(priority)})
    request["CheckpointConfig"] = {"S3Uri": f"s3://jobs/checkpoints/{name}"}
    if kept:
        request["ResourceConfig"]["KeepAlivePeriodInSeconds"] = _KEPT_S
    return request


if __name__ == "__main__":
    sys.exit(main())
