"""Which requests may use a training plan, and what they demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from headway_service.admission.admit import admit
from headway_service.admission.admitted import Admitted
from headway_service.admission.checks.training_plans import plan_pools, require_usable
from headway_service.config.document import validate
from headway_service.errors import ImpossibleDemand, InvalidRequest
from headway_service.store.records.capacity.training_plan import Block, PlanRecord
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


def test_all_that_is_wrong_with_a_plan_is_said() -> None:
    spot: dict[str, Any] = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxWaitTimeInSeconds": 90_000},
    }
    with pytest.raises(InvalidRequest) as raised:
        admitted(SPRING.replace("eu-west-1", "us-east-1"), **spot)
    assert [each.field for each in raised.value.fields] == [
        "EnableManagedSpotTraining",
        "ResourceConfig.TrainingPlanArn",
    ]


def test_the_size_of_the_configuration_bounds_a_job_in_the_plan() -> None:
    assert admitted(count=4).demand == {POOL: 4}
    with pytest.raises(ImpossibleDemand) as raised:
        admitted(count=5)
    assert str(raised.value) == f"the pool {POOL} has 4 instances, not 5; a job may have up to 2 {P5}"


def test_preferences_with_a_plan_are_refused() -> None:
    preferences = [{"InstanceType": P5, "TrainingPlanArns": [SPRING]}]
    resources = {"InstancePreferences": preferences, "InstanceCount": 1, "VolumeSizeInGB": 30}
    with pytest.raises(InvalidRequest, match="TrainingPlanArns is not supported"):
        admitted(ResourceConfig=resources)


HOUR_MS = 3_600_000
MARGIN_MS = 35 * 60_000
"""So long before the end of a block what still runs is stopped: SageMaker's 30 minutes and the queue's 5."""


def plan(name: str = "spring", *counts: int, **more: Any) -> PlanRecord:
    """A plan with as many instances in its first hour, in its second, and so on."""
    blocks = [Block(start_ms=i * HOUR_MS, end_ms=(i + 1) * HOUR_MS, count=count) for i, count in enumerate(counts)]
    fields = {"status": "Active", "end_ms": len(counts) * HOUR_MS, **more}
    return PlanRecord(pool=f"{P5}.plan.{name}", arn=f"{PREFIX}{name}", blocks=tuple(blocks), **fields)


def test_the_pools_of_plans_among_those_of_a_demand() -> None:
    assert plan_pools([P5, f"{P5}.plan.b", f"{P5}.spot", f"{P5}.plan.a"]) == [f"{P5}.plan.a", f"{P5}.plan.b"]


TWO_PLANS = validate(
    {
        "pools": {
            P5: {"size": 9},
            POOL: {"plan": SPRING, "size": 3},
            f"{P5}.plan.summer": {"plan": f"{PREFIX}summer", "size": 9},
        }
    }
)
CLAUSE = "the training plan `spring` ends at 02:00 UTC"


def require(demand: dict[str, int], *plans: PlanRecord, now_ms: int = 0) -> None:
    """Check a demand of pools of which these plans are known."""
    known = {each.pool: each for each in plans}

    def find(pools: Sequence[str]) -> Iterable[PlanRecord]:
        return [known[pool] for pool in pools if pool in known]

    require_usable(demand, find, TWO_PLANS, now_ms)


USABLE: list[tuple[str, dict[str, int], list[PlanRecord], int]] = [
    ("as many as it has later", {POOL: 3}, [plan("spring", 1, 3)], 0),
    ("as many as it has now", {POOL: 3}, [plan("spring", 3, 1)], 0),
    ("a plan that is not known yet", {POOL: 3}, [], 0),
    ("a plan whose times are not known yet", {POOL: 3}, [plan("spring", status="", end_ms=None)], 0),
    ("no plan at all", {P5: 9}, [plan("spring", 1)], 0),
]


@pytest.mark.parametrize(("demand", "plans", "now_ms"), [row[1:] for row in USABLE], ids=[row[0] for row in USABLE])
def test_a_demand_that_a_plan_may_satisfy_once_is_not_refused(
    demand: dict[str, int], plans: list[PlanRecord], now_ms: int
) -> None:
    require(demand, *plans, now_ms=now_ms)


TOO_MANY: list[tuple[str, dict[str, int], list[PlanRecord], int, int]] = [
    ("more than it ever has", {POOL: 3}, [plan("spring", 2, 1)], 0, 2),
    ("as many as it had once", {POOL: 3}, [plan("spring", 3, 2)], HOUR_MS - MARGIN_MS, 2),
    ("more than the configuration has", {POOL: 4}, [plan("spring", 4, 4)], 0, 3),
    ("another plan has enough", {POOL: 3, f"{P5}.plan.summer": 9}, [plan("spring", 1, 2), plan("summer", 9)], 0, 2),
]


@pytest.mark.parametrize(
    ("demand", "plans", "now_ms", "most"), [row[1:] for row in TOO_MANY], ids=[row[0] for row in TOO_MANY]
)
def test_a_demand_that_no_plan_satisfies_from_now_on_is_refused(
    demand: dict[str, int], plans: list[PlanRecord], now_ms: int, most: int
) -> None:
    with pytest.raises(ImpossibleDemand) as raised:
        require(demand, *plans, now_ms=now_ms)
    message = f"the pool {POOL} has {most} instances at most from now on, not {demand[POOL]}: {CLAUSE}"
    assert str(raised.value) == message
    assert [(each.field, each.message) for each in raised.value.fields] == [("ResourceConfig.InstanceCount", message)]


@pytest.mark.parametrize(
    ("over", "clause"),
    [
        (plan("summer", 9, status="Expired"), "the training plan `summer` ended at 01:00 UTC"),
        (plan("summer", 9, problem="has UltraServers"), "the training plan `summer` has UltraServers"),
    ],
    ids=["it has ended", "the queue cannot use it"],
)
def test_a_demand_of_a_plan_that_is_over_is_refused(over: PlanRecord, clause: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        require({POOL: 1, over.pool: 1}, plan("spring", 1), over)
    message = f"cannot be used, as {clause}: name another plan, or none"
    assert str(raised.value) == f"ResourceConfig.TrainingPlanArn {message}"
    assert [(each.field, each.message) for each in raised.value.fields] == [("ResourceConfig.TrainingPlanArn", message)]
