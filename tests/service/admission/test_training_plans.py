"""Which requests may use a training plan, and what they demand."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.admit import admit
from headway_service.admission.admitted import Admitted
from headway_service.config.document import validate
from headway_service.errors import ImpossibleDemand, InvalidRequest
from tests.service.world import P5, ROOT, on, request

POOL = f"{P5}.plan.spring"
PREFIX = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/"
SPRING = f"{PREFIX}spring"
CONFIGURATION = validate({"pools": {P5: {"size": 2}, POOL: {"plan": SPRING, "size": 4}}})
CHECKPOINTS: dict[str, Any] = {"CheckpointConfig": {"S3Uri": "s3://jobs/checkpoints"}}


def asked(value: str) -> dict[str, Any]:
    return {"Tags": [{"Key": "headway:stop-at-plan-end", "Value": value}]}


def admitted(plan: str = SPRING, count: int = 1, **changes: Any) -> Admitted:
    resources = {**on(count), **({"TrainingPlanArn": plan} if plan else {})}
    return admit(request("a", **{"ResourceConfig": resources, **changes}), CONFIGURATION, ROOT)


@pytest.mark.parametrize(
    ("plan", "pool"), [(SPRING, POOL), (f"{PREFIX}autumn", P5), ("", P5)], ids=["its pool", "no pool", "no plan"]
)
def test_a_job_demands_the_pool_of_its_plan_if_there_is_one(plan: str, pool: str) -> None:
    assert admitted(plan).demand == {pool: 1}


@pytest.mark.parametrize(
    ("plan", "changes", "stops"),
    [
        (SPRING, {}, False),
        (SPRING, CHECKPOINTS, True),
        (SPRING, asked("true"), True),
        (SPRING, asked("false"), False),
        ("", CHECKPOINTS, False),
        ("", asked("true"), False),
        (f"{PREFIX}autumn", CHECKPOINTS, False),
    ],
)
def test_a_job_in_the_pool_of_a_plan_may_be_stopped_at_its_end_if_it_checkpoints_or_asks_for_it(
    plan: str, changes: dict[str, Any], stops: bool
) -> None:
    assert admitted(plan, **changes).terms.stops_for_size is stops


@pytest.mark.parametrize(
    ("plan", "changes", "field", "message"),
    [
        (
            SPRING.replace("eu-west-1", "us-east-1"),
            {},
            "ResourceConfig.TrainingPlanArn",
            f"is not the plan of the pool {POOL}, which is {SPRING}: name that one",
        ),
        (
            f"{PREFIX}autumn",
            {
                "EnableManagedSpotTraining": True,
                "StoppingCondition": {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 60},
            },
            "EnableManagedSpotTraining",
            "cannot be combined with TrainingPlanArn, whose instances are not spot instances: keep one of the two",
        ),
        (SPRING, asked("yes"), "Tags[0].Value", "is 'yes'; headway:stop-at-plan-end is 'true' or 'false'"),
    ],
)
def test_a_request_that_cannot_use_its_plan_is_refused(
    plan: str, changes: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        admitted(plan, **changes)
    assert [(each.field, each.message) for each in raised.value.fields] == [(field, message)]


def test_the_size_of_the_configuration_bounds_a_job_in_the_plan() -> None:
    assert admitted(count=4).demand == {POOL: 4}
    with pytest.raises(ImpossibleDemand, match=f"the pool {POOL} has 4 instances, not 5; a job may have up to 2 {P5}"):
        admitted(count=5)


def test_preferences_with_a_plan_are_refused() -> None:
    preferences = [{"InstanceType": P5, "TrainingPlanArns": [SPRING]}]
    resources = {"InstancePreferences": preferences, "InstanceCount": 1, "VolumeSizeInGB": 30}
    with pytest.raises(InvalidRequest, match="TrainingPlanArns is not supported"):
        admitted(ResourceConfig=resources)
