"""Whatever jobs and testers do: no instance is given or counted twice, and all of it survives a restart."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.capacity.training_plan import Block, TrainingPlan
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from headway_sandbox.sagemaker.state_machine import SageMakerSettings
from tests.sandbox.fleets import on, request

P5, G5 = "ml.p5.48xlarge", "ml.g5.48xlarge"
QUOTA, PLANNED = 3, 2
SPRING = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
BLOCKS = (Block(start=1000.0, end=5000.0), Block(start=6000.0, end=20_000.0))

KINDS: dict[str, dict[str, Any]] = {
    "cold": on(P5),
    "warm": {**on(P5), "KeepAlivePeriodInSeconds": 400},
    "two": {**on(P5, 2), "KeepAlivePeriodInSeconds": 100},
    "planned": {**on(P5), "TrainingPlanArn": SPRING},
    "choosy": {
        "InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}],
        "InstanceCount": 1,
        "VolumeSizeInGB": 30,
    },
}
ACTIONS = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(sorted(KINDS))),
    st.tuples(st.sampled_from(["stop", "release", "finish", "fail"]), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.sampled_from([1, 10, 60, 200, 900])),
)


def account(choice: str = "oldest", counts: str = "all") -> FakeSageMaker:
    faults = Faults(
        quotas={P5: QUOTA, G5: QUOTA},
        capacity={P5: QUOTA, G5: 1},
        capacity_wait_s=500.0,
        warm_pool_quotas={P5: 2},
        warm_pool_choice=choice,
        preferences_count=counts,
    )
    fleet = FakeSageMaker(settings=SageMakerSettings(rates={}), faults=faults, rng=random.Random(1))
    plan = TrainingPlan(name="spring", instance_type=P5, instance_count=PLANNED, blocks=BLOCKS)
    fleet.put_plan(plan, now=0.0)
    return fleet


def act(fleet: FakeSageMaker, number: int, action: str, subject: Any, now: float) -> None:
    """Perform an action, which may be refused."""
    names = [job.name for job in fleet.jobs(now=now)]
    name = names[subject % len(names)] if isinstance(subject, int) and names else "nobody"
    try:
        match action:
            case "create":
                limits = {"MaxRuntimeInSeconds": 100_000}
                document = request(f"job-{number:02}", ResourceConfig=KINDS[subject], StoppingCondition=limits)
                fleet.create(document, now=now)
            case "stop":
                fleet.stop(name, now=now)
            case "release":
                fleet.keep_alive(name, 0, now=now)
            case "finish":
                fleet.finish(name, now=now)
            case "fail":
                fleet.fail(name, "AlgorithmError: no", now=now)
            case _:
                assert action == "wait"
    except AwsError:
        pass  # the promises hold after a refused call too


def counted(fleet: FakeSageMaker, now: float) -> Counter[str]:
    """Return the instances that count against the quota: of jobs on demand, and of warm pools."""
    total = Counter(fleet.kept_warm(now=now))
    for job in fleet.jobs(now=now):
        if not job.ended and not job.plan:
            total.update(job.instances)
    return total


def in_plan(fleet: FakeSageMaker, now: float) -> int:
    used: int = fleet.call("DescribeTrainingPlan", {"TrainingPlanName": "spring"}, now=now)["InUseInstanceCount"]
    return used


WAITING_TOGETHER = [("create", "planned"), ("create", "planned"), ("wait", 60), ("create", "planned"), ("wait", 200)]
"""The saved order decides which of three jobs get the two instances of the plan."""


@example(WAITING_TOGETHER, "oldest", "all")
@given(st.lists(ACTIONS, max_size=40), st.sampled_from(["oldest", "any", "none"]), st.sampled_from(["all", "selected"]))
def test_neither_quota_nor_plan_is_exceeded_and_a_restart_changes_nothing(actions, choice, counts):
    fleet, now = account(choice, counts), 0.0
    saved: dict[str, Any] = {}
    for number, (action, subject) in enumerate(actions):
        if action == "wait":
            now += subject
        act(fleet, number, action, subject, now)
        fleet.advance(now)
        saved |= fleet.pop_changes()
        assert all(count <= QUOTA for count in counted(fleet, now).values())
        assert in_plan(fleet, now) <= PLANNED
    again = FakeSageMaker(settings=SageMakerSettings(rates={}))
    again.load(json.loads(json.dumps(list(saved.values()))), json.loads(json.dumps(fleet.to_document())))
    for later in (now, now + 100.0, now + 30_000.0):
        again.advance(later)
        fleet.advance(later)
        entries = [each.list_jobs(now=later, MaxResults=100)["TrainingJobSummaries"] for each in (fleet, again)]
        assert entries[0] == entries[1]
        assert counted(again, later) == counted(fleet, later)
