"""All that is said of a demand that the pools, or the limit of the team, could never satisfy."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.checks.capacity import errors
from headway_service.config.document import validate
from tests.service.admission.drafts import draft, tagged, told
from tests.service.world import P5, on

G5, G6 = "ml.g5.xlarge", "ml.g6.xlarge"
PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
PLAN_POOL = f"{P5}.plan.spring"
POOLS: dict[str, Any] = {
    P5: {"size": 2},
    f"{P5}.spot": {"size": 5},
    PLAN_POOL: {"plan": PLAN, "size": 4},
    G5: {"size": 8},
    G6: {"size": 0},
}
TEAMS = {"red": {"limit": {G5: 3}}, "blue": {}}
CONFIGURATION = validate({"pools": POOLS, "teams": TEAMS})
WITH_SERVERLESS = validate({"pools": {**POOLS, "serverless": {"size": 0}}, "teams": TEAMS})
EMPTY = validate({"pools": {P5: {"size": 0}}})
OF_ALL = f"a job may have up to 8 {G5} or 2 {P5} or 5 {P5}.spot"
OF_RED = f"a job may have up to 3 {G5} or 2 {P5} or 5 {P5}.spot"
SPOT: dict[str, Any] = {"EnableManagedSpotTraining": True}
SERVERLESS: dict[str, Any] = {"ServerlessJobConfig": {"JobType": "FineTuning"}, "ResourceConfig": None}


def resources(count: int, pool: str = P5, **more: Any) -> dict[str, Any]:
    return {"ResourceConfig": {**on(count, pool), **more}}


def groups(*demands: tuple[str, int]) -> dict[str, Any]:
    return {
        "ResourceConfig": {
            "InstanceGroups": [{"InstanceType": kind, "InstanceCount": count} for kind, count in demands]
        }
    }


ERRORS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("all instances of a pool", resources(2), []),
    ("all that the team may have", {**resources(3, G5), **tagged(("team", "red"))}, []),
    ("all spot instances", {**resources(5), **SPOT}, []),
    ("all instances of the plan", resources(4, TrainingPlanArn=PLAN), []),
    (
        "too many",
        resources(3),
        [("ResourceConfig.InstanceCount", f"the pool {P5} has 2 instances, not 3; {OF_ALL}")],
    ),
    (
        "too many spot instances",
        {**resources(6), **SPOT},
        [("ResourceConfig.InstanceCount", f"the pool {P5}.spot has 5 instances, not 6; {OF_ALL}")],
    ),
    (
        "too many for the plan",
        resources(5, TrainingPlanArn=PLAN),
        [("ResourceConfig.InstanceCount", f"the pool {PLAN_POOL} has 4 instances, not 5; {OF_ALL}")],
    ),
    (
        "too many for the team",
        {**resources(4, G5), **tagged(("team", "red"))},
        [
            (
                "ResourceConfig.InstanceCount",
                f"the team red may use 3 instances of the pool {G5}, not 4; {OF_RED}",
            )
        ],
    ),
    (
        "too many for the team, and for the pool",
        {**resources(9, G5), **tagged(("team", "red"))},
        [("ResourceConfig.InstanceCount", f"the pool {G5} has 8 instances, not 9; {OF_RED}")],
    ),
    (
        "some of an empty pool",
        resources(1, G6),
        [("ResourceConfig.InstanceCount", f"the pool {G6} has 0 instances, not 1; {OF_ALL}")],
    ),
    (
        "a pool that does not exist",
        resources(1, "ml.x.large"),
        [("ResourceConfig.InstanceType", f"there is no pool ml.x.large; {OF_ALL}")],
    ),
    (
        "serverless where there is none",
        SERVERLESS,
        [
            (
                "ServerlessJobConfig",
                f"there is no pool serverless, so this queue runs no serverless jobs; {OF_ALL}",
            )
        ],
    ),
    (
        "groups of one pool have one error, those of others theirs",
        groups((P5, 1), ("ml.x.large", 1), (P5, 2), (G5, 8), (G6, 1)),
        [
            (
                "ResourceConfig.InstanceGroups[0].InstanceCount",
                f"the pool {P5} has 2 instances, not 3; {OF_ALL}",
            ),
            (
                "ResourceConfig.InstanceGroups[1].InstanceType",
                f"there is no pool ml.x.large; {OF_ALL}",
            ),
            (
                "ResourceConfig.InstanceGroups[4].InstanceCount",
                f"the pool {G6} has 0 instances, not 1; {OF_ALL}",
            ),
        ],
    ),
]


@pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_what_is_said_of_a_demand(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert told(errors(draft(CONFIGURATION, **changes))) == expected


def test_a_job_that_has_left_spot_demands_on_demand_instances() -> None:
    found = told(errors(draft(CONFIGURATION, left_spot=True, **resources(3), **SPOT)))
    assert found == [("ResourceConfig.InstanceCount", f"the pool {P5} has 2 instances, not 3; {OF_ALL}")]


def test_the_pool_of_serverless_jobs_is_not_offered_to_others() -> None:
    expected = ("ServerlessJobConfig", f"the pool serverless has 0 instances, not 1; {OF_ALL}")
    assert told(errors(draft(WITH_SERVERLESS, **SERVERLESS))) == [expected]


def test_no_pool_is_offered_if_all_are_empty() -> None:
    expected = ("ResourceConfig.InstanceCount", f"the pool {P5} has 0 instances, not 1; all pools are empty now")
    assert told(errors(draft(EMPTY, **resources(1)))) == [expected]
