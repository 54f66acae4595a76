"""Which requests SageMaker may launch in one warm pool."""

from __future__ import annotations

from typing import Any

import pytest

from headway_service.sagemaker_api.warm_pools import KEY_CHARS, warm_key
from tests.service.world import P5, on, request

VPC: dict[str, Any] = {"VpcConfig": {"SecurityGroupIds": ["sg-1", "sg-2"], "Subnets": ["subnet-1"]}}
SAME: list[dict[str, Any]] = [
    {"TrainingJobName": "b"},
    {"Environment": {"A": "1"}},
    {"ResourceConfig": {**on(1), "KeepAlivePeriodInSeconds": 60}},
    {"StoppingCondition": {"MaxRuntimeInSeconds": 60}},
    {"EnableNetworkIsolation": False},
]
OTHERS: list[dict[str, Any]] = [
    {"RoleArn": "arn:aws:iam::123456789012:role/Other"},
    {"ResourceConfig": on(2)},
    {"ResourceConfig": on(1, "ml.g5.xlarge")},
    {"ResourceConfig": {**on(1), "VolumeSizeInGB": 31}},
    {"ResourceConfig": {**on(1), "VolumeKmsKeyId": "key"}},
    VPC,
    {"EnableNetworkIsolation": True},
    {"EnableInterContainerTrafficEncryption": True},
]
NEVER: list[dict[str, Any]] = [
    {"EnableManagedSpotTraining": True},
    {"ResourceConfig": {"InstanceGroups": [{"InstanceType": P5, "InstanceCount": 1, "InstanceGroupName": "a"}]}},
    {"ResourceConfig": {**on(1), "TrainingPlanArn": "arn"}},
    {"ResourceConfig": {"InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1}]}},
    {"ResourceConfig": None, "ServerlessJobConfig": {"BaseModelArn": "arn"}},
    {"ResourceConfig": None},
]


def test_requests_match_if_all_is_the_same_that_sagemaker_compares() -> None:
    key = warm_key(request("a"))
    assert len(key) == KEY_CHARS
    assert {warm_key(request("a", **changes)) for changes in SAME} == {key}
    turned: dict[str, Any] = {"VpcConfig": {"SecurityGroupIds": ["sg-2", "sg-1"], "Subnets": ["subnet-1"]}}
    assert warm_key(request("a", **turned)) == warm_key(request("a", **VPC))


@pytest.mark.parametrize("changes", OTHERS, ids=str)
def test_requests_do_not_match_if_anything_of_it_differs(changes: dict[str, Any]) -> None:
    assert warm_key(request("a", **changes)) not in {"", warm_key(request("a"))}


@pytest.mark.parametrize("changes", NEVER, ids=str)
def test_some_requests_match_no_warm_pool(changes: dict[str, Any]) -> None:
    assert warm_key(request("a", **changes)) == ""
