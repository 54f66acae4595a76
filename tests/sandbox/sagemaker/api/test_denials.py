"""Policies that deny one job and no other, for as long as they are set."""

from __future__ import annotations

from typing import Any

import pytest

from headway_sandbox.errors import AwsError
from headway_sandbox.sagemaker.faults import Faults
from headway_sandbox.sagemaker.service import FakeSageMaker
from tests.sandbox.fleets import ROLE, on, request

KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234"
VPC = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
WITH_KEY = {"ResourceConfig": {**on("ml.p5.48xlarge"), "VolumeKmsKeyId": KEY}}
LONG = {"StoppingCondition": {"MaxRuntimeInSeconds": 86_401}}
PRINCIPAL = "User: arn:aws:sts::123456789012:assumed-role/SandboxCaller/session is not authorized to perform: "
ACTION = "sagemaker:CreateTrainingJob on resource: arn:aws:sagemaker:eu-west-1:123456789012:training-job/eve-1 "
NO_GRANT = "because no resource-based policy allows the kms:CreateGrant action"


def refusal(fleet: FakeSageMaker, **changes: Any) -> str:
    """Return the code and message of a refused request for `eve-1`; empty if it is accepted."""
    try:
        fleet.create(request("eve-1", **changes), now=0.0)
    except AwsError as error:
        return f"{error.code}: {error.message}"
    return ""


@pytest.mark.parametrize(
    ("denial", "denied", "allowed"),
    [
        ({"absent": "VpcConfig"}, {}, {"VpcConfig": VPC}),
        ({"present": "VpcConfig"}, {"VpcConfig": VPC}, {}),
        ({"absent": "EnableNetworkIsolation"}, {"EnableNetworkIsolation": False}, {"EnableNetworkIsolation": True}),
        ({"absent": "ResourceConfig.VolumeKmsKeyId"}, {}, WITH_KEY),
        ({"absent": "ResourceConfig.VolumeKmsKeyId"}, {"ResourceConfig": None}, WITH_KEY),
        ({"longer_s": 86_400}, LONG, {}),
        ({"longer_s": 86_400}, LONG, {"StoppingCondition": None}),
        ({"role": ROLE}, {}, {"RoleArn": f"{ROLE}2"}),
        ({"name_prefix": "eve-"}, {}, {"TrainingJobName": "adam-1"}),
        ({"name_prefix": "eve-", "present": "VpcConfig"}, {"VpcConfig": VPC}, {}),
        ({"policy": "kms"}, WITH_KEY, {}),
        ({"policy": "kms", "name_prefix": "eve-"}, WITH_KEY, {}),
    ],
)
def test_requests_that_meet_all_conditions_are_denied_for_as_long_as_the_policy_is_set(denial, denied, allowed):
    fleet = FakeSageMaker(faults=Faults(denials={"one": denial}))
    for _ in range(3):
        assert refusal(fleet, **denied).startswith("AccessDeniedException: ")
    assert refusal(fleet, **allowed) == ""
    fleet.faults = fleet.faults.with_changes({"denials": {}})
    assert "AccessDeniedException" not in refusal(fleet, **denied)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("scp", f"{PRINCIPAL}{ACTION}with an explicit deny in a service control policy"),
        ("boundary", f"{PRINCIPAL}{ACTION}with an explicit deny in a permissions boundary"),
        ("unnamed", f"{PRINCIPAL}{ACTION}with an explicit deny"),
        (
            "identity",
            f"{PRINCIPAL}{ACTION}because no identity-based policy allows the sagemaker:CreateTrainingJob action",
        ),
        (
            "kms",
            f"{PRINCIPAL}kms:CreateGrant on resource: {KEY} {NO_GRANT}",
        ),
    ],
)
def test_each_policy_denies_in_its_own_words(policy, told):
    fleet = FakeSageMaker(faults=Faults(denials={"one": {"name_prefix": "eve-", "policy": policy}}))
    assert refusal(fleet, **WITH_KEY) == f"AccessDeniedException: {told}"


def test_a_policy_is_evaluated_before_the_request_and_a_name_in_use():
    fleet = FakeSageMaker()
    fleet.create(request("eve-1"), now=0.0)
    fleet.faults = Faults(denials={"one": {"absent": "VpcConfig"}})
    assert refusal(fleet).startswith("AccessDeniedException")
    assert refusal(fleet, RoleArn="nobody").startswith("AccessDeniedException")
    assert fleet.describe("eve-1", now=0.0)["TrainingJobStatus"] == "InProgress", "only a create is denied"


def test_one_of_several_policies_is_enough():
    policies = {"isolation": {"absent": "EnableNetworkIsolation"}, "vpc": {"absent": "VpcConfig"}}
    fleet = FakeSageMaker(faults=Faults(denials=policies))
    assert refusal(fleet, VpcConfig=VPC)
    assert refusal(fleet, EnableNetworkIsolation=True)
    assert refusal(fleet, VpcConfig=VPC, EnableNetworkIsolation=True) == ""


@pytest.mark.parametrize("wrong", [{}, {"policy": "scp"}, {"policy": "law", "role": "r"}, {"name": "eve"}])
def test_a_policy_without_condition_or_with_an_unknown_one_is_no_switch(wrong):
    with pytest.raises(ValueError, match=r"denials\[one\]"):
        Faults(denials={"one": wrong})
