"""All that is said of a warm pool that the queue does not keep."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.admission.checks.warm_pools import errors, key
from headway_service.config.document import Configuration, validate
from headway_service.sagemaker_api.training_request import TrainingRequest
from tests.service.admission.drafts import draft, tagged, told
from tests.service.world import P5, on, request

POOLS = {"pools": {P5: {"size": 4}}}
LEFT_OUT = validate(POOLS)
REFUSED = validate({**POOLS, "warmPools": "refuse"})
KEPT = validate({**POOLS, "warmPools": {"maxSeconds": 900}, "teams": {"red": {}, "blue": {}}})
SIX_HOURS = validate({**POOLS, "warmPools": {"maxSeconds": 21_600}})
OF_RED = validate({**POOLS, "warmPools": {"maxSeconds": 900, "teams": ["red"]}, "teams": {"red": {}, "blue": {}}})
RED, BLUE = tagged(("team", "red")), tagged(("team", "blue"))
SPOT = {"EnableManagedSpotTraining": True}
PLAN = "arn:aws:sagemaker:eu-west-1:123456789012:training-plan/spring"
GROUP = {"InstanceGroupName": "g", "InstanceType": P5, "InstanceCount": 1}


def warm(seconds: int, **more: Any) -> dict[str, Any]:
    return {"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": seconds, **more}}


TOO_LONG = "is 901; this queue keeps warm pools for at most 900 s (warmPools.maxSeconds)"
NOT_SPOT = "asks for a warm pool, which SageMaker keeps of no spot instances: remove it"
ONE_TYPE = "asks for a warm pool, which is kept of one instance type without a plan only: remove it"
ERRORS: list[tuple[str, Configuration, dict[str, Any], list[str]]] = [
    ("none is asked for, and none is allowed", REFUSED, {}, []),
    ("one for no time, and none is allowed", REFUSED, warm(0), []),
    ("one that is left out", LEFT_OUT, warm(21_600), []),
    ("one that is kept", KEPT, warm(900), []),
    ("one of six hours, which the document allows", SIX_HOURS, warm(21_600), []),
    ("one that is kept of the team", OF_RED, {**warm(900), **RED}, []),
    ("none of another team", OF_RED, BLUE, []),
    (
        "one of instance groups, which another check refuses",
        REFUSED,
        warm(60, InstanceGroups=[GROUP]),
        [],
    ),
    (
        "one that is not allowed",
        REFUSED,
        warm(60),
        ["asks for a warm pool, which would hold instances that others wait for (warmPools): remove it"],
    ),
    ("one for too long", KEPT, warm(901), [TOO_LONG]),
    (
        "one of another team",
        OF_RED,
        {**warm(60), **BLUE},
        ["asks for a warm pool, which jobs of the team blue may not keep (warmPools.teams): remove it"],
    ),
    (
        "one of no team",
        OF_RED,
        warm(60),
        ["asks for a warm pool, which jobs without a team may not keep (warmPools.teams): remove it"],
    ),
    ("one of spot instances, also with a plan", KEPT, {**warm(60, TrainingPlanArn=PLAN), **SPOT}, [NOT_SPOT]),
    ("one of a plan", KEPT, warm(60, TrainingPlanArn=PLAN), [ONE_TYPE]),
    (
        "one that is all of this",
        OF_RED,
        {**warm(901), **SPOT},
        [
            TOO_LONG,
            "asks for a warm pool, which jobs without a team may not keep (warmPools.teams): remove it",
            NOT_SPOT,
        ],
    ),
]


@pytest.mark.parametrize(
    ("configuration", "changes", "expected"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
def test_what_is_said_of_a_warm_pool(
    configuration: Configuration, changes: dict[str, Any], expected: list[str]
) -> None:
    found = told(errors(draft(configuration, **changes)))
    assert found == [("ResourceConfig.KeepAlivePeriodInSeconds", message) for message in expected]


def test_warm_pools_have_a_key_only_where_the_queue_keeps_some() -> None:
    parsed = TrainingRequest.parse(request("a"))
    assert [bool(key(parsed, each)) for each in (LEFT_OUT, REFUSED, KEPT)] == [False, False, True]
    assert key(TrainingRequest.parse(request("b")), KEPT) == key(parsed, KEPT)
    assert key(TrainingRequest.parse(request("a", ResourceConfig=on(2))), KEPT) != key(parsed, KEPT)
