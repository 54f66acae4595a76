"""Requests as they are launched, where that is not as they were submitted."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.sagemaker_api.launch_request import MIN_PENDING_TIME_S, with_pending_limit
from tests.service.world import P5, on, request

RUNS = {"MaxRuntimeInSeconds": 60}
GROUPS = {
    "InstanceGroups": [
        {"InstanceGroupName": "a", "InstanceType": P5, "InstanceCount": 1},
        {"InstanceGroupName": "b", "InstanceType": "ml.c5.xlarge", "InstanceCount": 1},
    ]
}
CASES: list[tuple[str, dict[str, Any], int | None, int | None]] = [
    ("no limit", {}, None, None),
    ("a limit", {}, 7200, 7200),
    ("SageMaker's shortest", {}, MIN_PENDING_TIME_S, MIN_PENDING_TIME_S),
    ("a shorter one, which the queue keeps itself", {}, MIN_PENDING_TIME_S - 1, None),
    ("instances that it has no effect on", {"ResourceConfig": on(1, "ml.c5.xlarge")}, 7200, None),
    ("a group of such instances", {"ResourceConfig": GROUPS}, 7200, None),
    ("its own is longer", {"StoppingCondition": {**RUNS, "MaxPendingTimeInSeconds": 9000}}, 7200, 7200),
    ("its own without one", {"StoppingCondition": {**RUNS, "MaxPendingTimeInSeconds": 9000}}, None, 9000),
    ("no condition", {"StoppingCondition": None}, 7200, 7200),
]


@pytest.mark.parametrize(
    ("changes", "limit_s", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_limit_on_the_wait_for_instances(
    changes: dict[str, Any], limit_s: int | None, expected: int | None
) -> None:
    submitted = request("a", **changes)
    launched = with_pending_limit(submitted, limit_s)
    assert launched.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds") == expected
    rest = {"StoppingCondition": None}
    assert {**launched, **rest} == {**submitted, **rest}
    if "StoppingCondition" in submitted:
        assert (
            launched["StoppingCondition"]["MaxRuntimeInSeconds"]
            == submitted["StoppingCondition"]["MaxRuntimeInSeconds"]
        )
